"""djinn init, index, status."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from djinn_memory.cli import options, output, parsing
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import say, talk
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.models import IndexReport
    from djinn_memory.upkeep.status import HomeStatus


@plain("Example: `djinn init ~/memory --agent finn --agent grace`")
def init(
    ctx: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", parser=parsing.path,
                       help="Where; else --home, DJINN_HOME or ~/djinn."),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", help="A name with a personal vault; repeatable. `me` if none.",
                     metavar="NAME"),
    ] = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Create a home: settings, a shared vault, and a personal vault for each agent.

    Run it again to complete a home or to add agents; it changes nothing that is there.
    """
    from djinn_memory.home import setup
    from djinn_memory.home.config import home_from_environment

    place = folder or ctx.obj or home_from_environment() or Path.home() / "djinn"
    home, made = setup.init(Path(place), tuple(agents or ()))
    if json:
        from djinn_memory.cli.schemas.home import Init

        output.print_json(Init(home.root, made))
        return
    say(f"{'made' if made else 'nothing to do in'} {output.clean(str(home.root))}")
    for name in made:
        say(f"  {name}")
    if made:
        talk(
            f"Next: put notes into {output.clean(str(home.root))}/vaults, or "
            "`djinn vault add notes FOLDER`; then `djinn index`."
        )


@plain("Examples: `djinn index --vault notes` · `djinn index --model ollama:nomic-embed-text`")
def index(
    ctx: typer.Context,
    vaults: options.Vaults = None,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Read every note again; vectors are not computed again."),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="Embed by this model from now on: local, ollama:NAME, openai:NAME, or the name or "
            "folder, as in ./mine, of a sentence-transformers model.",
        ),
    ] = None,
    background: Annotated[
        bool,
        typer.Option("--background", help="Return at once; `djinn status` tells how far."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Update the index from the vaults: words first, then meaning.

    Only what changed is read, and only new text is embedded. Stop it at any time; the next run
    goes on. After a change of model the old vectors answer until the new ones are whole, and going
    back embeds nothing again.
    """
    if model is not None:
        options.open_djinn(ctx).use_model(model)
    if background:
        _in_background(ctx, vaults or (), rebuild=rebuild, json=json)
        return
    with output.progress_line(json) as progress:
        report = options.open_djinn(ctx, progress).index(vaults or (), rebuild=rebuild)
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.home import Index

        output.print_json(Index(**asdict(report)))
    else:
        output.problems(report.problems)
        _say_report(report)
    if report.problems:
        raise typer.Exit(1)


def _say_report(report: IndexReport) -> None:
    from djinn_memory.indexing.indexer import movements

    say(
        f"{count(report.notes, 'note')}: {movements(report) or 'nothing changed'}; "
        f"{count(report.embedded, 'text')} embedded, {report.reused:,} from the cache; "
        f"{report.seconds:.1f} s"
    )


def _in_background(ctx: typer.Context, vaults: Sequence[str], *, rebuild: bool, json: bool) -> None:
    import subprocess
    import sys

    home = options.open_djinn(ctx).home
    arguments = [f"--vault={name}" for name in vaults] + ["--rebuild"] * rebuild
    log = home.state / "index.log"
    home.state.mkdir(parents=True, exist_ok=True)
    # Neither a link that was cloned with the home leads the log elsewhere, nor does `-P` let a
    # module that lies in the current folder stand in for djinn's.
    log.unlink(missing_ok=True)
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "djinn_memory", "--home", str(home.root), "index",
             *arguments],
            stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
        )  # fmt: skip
    if json:
        from djinn_memory.cli.schemas.home import IndexBackground

        output.print_json(IndexBackground(process.pid, log))
    else:
        say(f"indexing as process {process.pid}; its messages go to {output.clean(str(log))}")


@plain("Example: `djinn status --json`")
def status(ctx: typer.Context, json: options.Json = False) -> None:
    """Show the home: its vaults, the index, and what is pending."""
    djinn = options.open_djinn(ctx)
    found = djinn.status()
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.home import Status

        output.print_json(Status(**asdict(found)))
        return
    say(f"home      {output.clean(str(found.home))}")
    say(f"agents    {', '.join(found.agents)}")
    for number, vault in enumerate(found.vaults):
        marks = [f"for {vault.agent}"] if vault.agent else []
        marks += ["read-only"] if vault.read_only else []
        extra = f" ({', '.join(marks)})" if marks else ""
        label = "vaults    " if number == 0 else "          "
        notes = count(vault.notes, "note")
        say(f"{label}{vault.name}: {notes}{extra}, {output.clean(str(vault.root))}")
    if found.stats is None:
        say("index     none yet; run `djinn index`")
    else:
        stats = found.stats
        say(
            f"index     {count(stats.notes, 'note')}, {count(stats.chunks, 'chunk')}, "
            f"{count(stats.windows, 'window')}, {found.index_bytes / 1e6:.1f} MB; "
            f"vectors kept: {found.cache_bytes / 1e6:.1f} MB"
        )
        say(f"links     {stats.links:,}, of which {stats.unresolved:,} unresolved")
        waiting = [f"{count(found.stale, 'changed note')}"] if found.stale else []
        waiting += [f"{count(stats.pending, 'window')} to embed"] if stats.pending else []
        say(f"waiting   {', '.join(waiting) + '; run `djinn index`' if waiting else 'nothing'}")
    _say_embedding(found)
    if found.watcher:
        say(f"watched   by process {found.watcher}")
    output.problems(found.problems)


def _say_embedding(found: HomeStatus) -> None:
    model = f" {output.clean(found.model)}" if found.model else ""
    answers = f", {found.identity}{'' if found.current else ' answers'}" if found.identity else ""
    say(f"embedding {found.provider}{model}{answers}")
    go_on = "at work now" if found.indexing else "run `djinn index` to go on"
    if found.coming:
        done = f"{found.coming.embedded:,} of {count(found.coming.windows, 'window')}"
        say(f"          {found.coming.identity} takes over when it is whole: {done}; {go_on}")
    elif not found.current:
        say(f"          {found.provider}{model} takes over when it is whole; {go_on}")
    elif found.indexing:
        say("          another process embeds now")
