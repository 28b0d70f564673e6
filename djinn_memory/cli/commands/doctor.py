"""djinn doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from djinn_memory.cli import options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import clean, dim, say
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.upkeep.requests import Diagnosis, DoctorFinding

_COLOURS = {"ok": "green", "hint": "blue", "warning": "yellow", "error": "red"}


@plain("Examples: `djinn doctor` · `djinn doctor --fix`")
def doctor(
    ctx: typer.Context,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Mend what is safe to mend; no note is ever written."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Check everything that djinn needs, and suggest repairs.

    Home, settings, vaults, ledger, index, models, permissions and disk. With `--fix` damaged
    databases are set aside and made anew, a damaged ledger is recovered as far as it can be read,
    and what dead processes left is removed. Ends with 1 while more than hints are left.
    """
    with output.progress_line(json) as progress:
        found = options.open_djinn(ctx, progress).doctor(fix=fix)
    if json:
        from djinn_memory.cli.schemas.doctor import Doctor

        output.print_json(Doctor(found.home, found.findings))
    else:
        _show(found)
    if not found.well:
        raise typer.Exit(1)


def _show(found: Diagnosis) -> None:
    width = max(len(one.part) for one in found.findings)
    for one in found.findings:
        mark = "mended" if one.fixed is not None else one.severity
        colour = _COLOURS["ok" if one.fixed is not None else one.severity]
        say(f"{typer.style(f'{mark:7}', fg=colour)}  {clean(one.part):{width}}  {clean(one.what)}")
        for line in _below(one):
            say(f"{'':{width + 11}}{dim(clean(line))}")
    left = [one for one in found.findings if one.fixed is None]
    counts = [
        count(number, word)
        for word in ("error", "warning", "hint")
        if (number := sum(one.severity == word for one in left))
    ]
    fixable = sum(one.fixable for one in left)
    more = f"; `djinn doctor --fix` mends {fixable} of them" if fixable else ""
    say(f"{', '.join(counts)}{more}" if counts else "all is well")


def _below(one: DoctorFinding) -> list[str]:
    if one.fixed is not None:
        return [one.fixed]
    return [one.remedy] if one.remedy else []
