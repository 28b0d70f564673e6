"""djinn init, index, status."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, say, sizes, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import NotFound
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.home.home import Home
    from djinn_memory.models import IndexReport
    from djinn_memory.upkeep.status import HomeStatus


class _InitHome(Struct, frozen=True):
    """Where and for which agents to create a home."""

    folder: Annotated[
        Path | None,
        Meta(description="The folder of the home. Default: --home, DJINN_HOME or ~/djinn."),
    ] = None
    agents: Annotated[
        tuple[str, ...],
        Meta(description="An agent that gets a personal vault; repeatable. Default: `me`."),
    ] = ()
    notes: Annotated[
        Path | None, Meta(description="A folder of notes to add as a vault, without moving it.")
    ] = None


class _CreatedHome(Struct, frozen=True):
    """The result of creating a home."""

    home: Path
    """The folder of the home."""
    made: Sequence[str]
    """The files and folders that were created, relative to the home."""
    added: str | None = None
    """The name of the vault that was added for the folder of notes; null when there is none."""
    aborted: bool = False
    """Whether the person at the terminal said no."""
    foreign: Sequence[str] = ()
    """The vaults whose notes are mostly not in English."""


def _run_init(call: Call) -> _CreatedHome:
    from djinn_memory.home import setup
    from djinn_memory.home.config import variable
    from djinn_memory.languages.vault_language import mostly_foreign
    from djinn_memory.system.files import expand

    request = call.request
    if request.notes and not expand(request.notes).is_dir():
        raise NotFound(f"the folder {request.notes} does not exist; check the path")
    named = request.folder or call.ctx.obj or variable("DJINN_HOME")
    place = Path(named or Path.home() / "djinn")
    # Without a folder the user may expect the home to be in this one.
    here = place if named or (place / ".djinn").is_dir() else Path.cwd() / "djinn"
    outer = setup.enclosing(here)
    if outer:
        about = f"{here if here == place else here.parent} is inside {outer}"
        if not call.confirmed(f"Create a home at {place}, inside {outer}?", about):
            return _CreatedHome(place, (), aborted=True)
    home, created = setup.init(place, request.agents)
    added = request.notes and _add_notes(home, request.notes)
    foreign = [vault.name for vault in home.vaults if mostly_foreign(vault.root)]
    return _CreatedHome(home.root, created, added, foreign=foreign)


def _add_notes(home: Home, folder: Path) -> str | None:
    """Add a folder under its own name. Returns the name, or None when it is already a vault."""
    from djinn_memory.home import setup
    from djinn_memory.notes.dialects.guess import guess
    from djinn_memory.notes.slugs import slug, unique
    from djinn_memory.system.files import expand

    root = expand(folder).resolve()
    if any(vault.root.resolve() == root for vault in home.vaults):
        return None
    names = {vault.name for vault in home.vaults}
    name = unique(slug(root.name, max_bytes=60), names.__contains__)
    return setup.add_vault(home, name, root, dialect=guess(root).dialect).name


@command(
    "init",
    request=_InitHome,
    arguments=["folder"],
    fields={
        "folder": Field("[DIR]"),
        "agents": Field("NAME", name="--agent"),
        "notes": Field("FOLDER"),
    },
    view=Confirm,
    run=_run_init,
)
def _init(call: Call, answer: _CreatedHome) -> None:
    """Create a home: settings, a shared vault, and a personal vault for each agent.

    A home is the folder of one memory. A vault is a folder of Markdown notes. Run the command again
    to complete a home or to add agents; existing files are not changed. Inside another home, or
    inside a vault, the command asks first. To search existing notes, pass `--notes`, or run
    `djinn vault add` later.

    Examples:
        djinn init --notes ~/Documents/notes
        djinn init ~/memory --agent finn --agent grace
    """
    if answer.aborted:
        talk("Aborted; nothing was created.")
        return
    root = clean(str(answer.home))
    say(f"{'created' if answer.made else 'nothing to create in'} {root}")
    for name in answer.made:
        say(f"  {name}")
    if answer.added:
        say(f"added vault {answer.added}")
        talk("Next: `djinn index`.")
    elif answer.made:
        talk(
            f"Next: put notes into {root}/vaults, or `djinn vault add notes FOLDER`; then "
            "`djinn index`."
        )
    if answer.foreign:
        talk(
            f"Most notes of {', '.join(answer.foreign)} are not in English: "
            "`djinn index --model multilingual` finds their meaning; it needs the extra "
            "`multilingual`."
        )


class _IndexView(Struct, frozen=True):
    """How to start an index run."""

    background: Annotated[
        bool, Meta(description="Run in the background. `djinn status` shows the progress.")
    ] = False


class _BackgroundIndex(Struct, frozen=True):
    """An index run in the background, as `djinn index --background` prints it."""

    process: int
    """The process id of the index run."""
    log: Path
    """The log file of the index run."""


def _run_index(call: Call) -> IndexReport | _BackgroundIndex:
    if not call.view.background:
        return call.djinn.index(call.request)
    from djinn_memory.system.detached import start_detached

    if call.request.model is not None:
        call.djinn.use_model(call.request.model)
    home = call.djinn.home
    options = [f"--vault={name}" for name in call.request.vaults]
    options += ["--rebuild"] * call.request.rebuild
    options += [f"--agent={call.request.agent}"] if call.request.agent else []
    log = home.state / "index.log"
    command = ["-m", "djinn_memory", "--home", str(home.root), "index"]
    call.schema = "index.background"
    return _BackgroundIndex(start_detached([*command, *options], log), log)


@command(
    "index",
    fields={"model": Field("MODEL")},
    view=_IndexView,
    progress=True,
    warns=False,
    run=_run_index,
    failed=lambda answer: bool(getattr(answer, "problems", ())),
    schemas={"index": "index", "index.background": _BackgroundIndex},
)
def _index(call: Call, answer: Any) -> None:
    """Update the index from the vaults: words first, then meaning.

    Only changed notes are read, and only new text is embedded. You can stop a run at any time; the
    next run continues it. After a change of model the old vectors answer until the new ones are
    complete. Switching back embeds no text again.

    Without `--agent` the report is about the notes of all agents, and problems name their files.

    Examples:
        djinn index --vault notes
        djinn index --model ollama:nomic-embed-text
    """
    if call.schema:
        log = clean(str(answer.log))
        say(f"Indexing in process {answer.process}. Its log is {log}.")
        return
    from djinn_memory.indexing.indexer import movements

    say(
        f"{count(answer.notes, 'note')}: {movements(answer) or 'nothing changed'}; "
        f"{count(answer.embedded, 'text')} embedded, {answer.reused:,} from the cache; "
        f"{answer.seconds:.1f} s"
    )


@command("status", warns=False)
def _status(call: Call, answer: HomeStatus) -> None:
    """Show the home: its vaults, the index, and pending work.

    Without `--agent` it shows the vaults, types and counts of all agents.

    Examples:
        djinn status --json
    """
    say(f"home      {clean(str(answer.home))}")
    say(f"agents    {', '.join(answer.agents)}")
    for number, vault in enumerate(answer.vaults):
        marks = [f"for {vault.agent}"] if vault.agent else []
        marks += ["read-only"] if vault.read_only else []
        marked = f" ({', '.join(marks)})" if marks else ""
        label = "" if number else "vaults"
        notes = count(vault.notes, "note")
        say(f"{label:9} {vault.name}: {notes}{marked}, {clean(str(vault.root))}")
    if answer.stats is None:
        say("index     none yet; run `djinn index`")
    else:
        stats = answer.stats
        disk = ""
        if answer.index_bytes is not None and answer.cache_bytes is not None:
            disk = f", {answer.index_bytes / 1e6:.1f} MB"
            disk += f"; vectors kept: {answer.cache_bytes / 1e6:.1f} MB"
        say(f"index     {sizes(stats)}, {count(stats.windows, 'window')}{disk}")
        say(f"links     {stats.links:,}, of which {stats.unresolved:,} unresolved")
        pending = [count(answer.stale, "changed note")] if answer.stale else []
        pending += [f"{count(stats.pending, 'window')} to embed"] if stats.pending else []
        say(f"waiting   {', '.join(pending) + '; run `djinn index`' if pending else 'nothing'}")
    _print_embedding(answer)
    if answer.watcher:
        say(f"watched   by process {answer.watcher}")


def _print_embedding(status: HomeStatus) -> None:
    model = f" {clean(status.model)}" if status.model else ""
    answers = "" if status.current else " answers"
    identity = f", {status.identity}{answers}" if status.identity else ""
    say(f"embedding {status.provider}{model}{identity}", hang=10)
    next_step = "now running" if status.indexing else "run `djinn index` to continue"
    if status.coming:
        done = f"{status.coming.embedded:,} of {count(status.coming.windows, 'window')}"
        say(f"{'':10}{status.coming.identity} takes over when it is complete: {done}; {next_step}")
    elif not status.current:
        say(f"{'':10}{status.provider}{model} takes over when it is complete; {next_step}")
    elif status.indexing:
        say(f"{'':10}another process is embedding")
