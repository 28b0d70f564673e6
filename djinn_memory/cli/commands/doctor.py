"""djinn doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, dim, say
from djinn_memory.system.plural import count
from djinn_memory.upkeep.requests import DoctorOptions

if TYPE_CHECKING:
    from djinn_memory.upkeep.requests import Diagnosis

_COLOURS = {"ok": "green", "hint": "blue", "warning": "yellow", "error": "red"}


@command(
    "doctor", DoctorOptions, progress=True, warns=False, failed=lambda diagnosis: not diagnosis.well
)
def doctor(call: Call, answer: Diagnosis) -> None:
    """Check the installation and suggest fixes.

    It checks the home, its settings, vaults, ledger, index, models, permissions and disk. With
    `--fix`, damaged databases are set aside and rebuilt, a damaged ledger is recovered as far as it
    can be read, and leftovers of killed processes are removed. The exit code is 1 if warnings or
    errors remain. The report covers the whole home: it names vaults and files of all agents.

    Examples:
        djinn doctor
        djinn doctor --fix
    """
    width = max(len(finding.part) for finding in answer.findings)
    for finding in answer.findings:
        mark = "mended" if finding.fixed is not None else finding.severity
        colour = _COLOURS["ok" if finding.fixed is not None else finding.severity]
        label = typer.style(f"{mark:7}", fg=colour)
        say(f"{label}  {clean(finding.part):{width}}  {clean(finding.what)}")
        below = finding.remedy if finding.fixed is None else finding.fixed
        if below:
            say(f"{'':{width + 11}}{dim(clean(below))}")
    left = [finding for finding in answer.findings if finding.fixed is None]
    counts = [
        count(number, severity)
        for severity in ("error", "warning", "hint")
        if (number := sum(finding.severity == severity for finding in left))
    ]
    fixable = sum(finding.fixable for finding in left)
    fix = f"; `djinn doctor --fix` can fix {fixable} of them" if fixable else ""
    say(f"{', '.join(counts)}{fix}" if counts else "No problems found.")
