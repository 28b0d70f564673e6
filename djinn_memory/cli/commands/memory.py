"""djinn memory search, list, show, delete, purge, stats."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from djinn_memory.cli import candidates, options, output, render
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import say, talk
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.models import Memory


class ModeOption(StrEnum):
    """Which legs answer."""

    hybrid = "hybrid"
    words = "words"
    meaning = "meaning"


class ExpandOption(StrEnum):
    """What widens the question."""

    none = "none"
    prf = "prf"
    llm = "llm"


class FormatOption(StrEnum):
    """How hits are printed."""

    table = "table"
    md = "md"
    paths = "paths"
    csv = "csv"


Name = Annotated[
    str,
    typer.Argument(
        help="An id, a path, a title, an alias or a file name.", autocompletion=candidates.titles
    ),
]


@plain(
    'Examples: `djinn memory search "how do I link to a heading"` · '
    "`djinn memory search '\"exact words\" -draft tag:project/x'` · "
    "`djinn memory search pricing --type decision --since 90d --json`"
)
def search(
    ctx: typer.Context,
    query: Annotated[
        list[str],
        typer.Argument(
            help='A question or words. "a b" asks for the phrase, -word leaves out, '
            "tag:x type:x path:x filter. words: and meaning: begin text for one leg alone."
        ),
    ],
    limit: options.Limit = None,
    agent: options.Agent = None,
    vaults: options.Vaults = None,
    types: options.Types = None,
    tags: options.Tags = None,
    planes: options.Planes = None,
    since: options.Since = None,
    until: options.Until = None,
    where: options.Where = None,
    expired: options.Expired = False,
    mode: Annotated[
        ModeOption | None,
        typer.Option("--mode", help="Both legs, or one of them.", show_default=False),
    ] = None,
    rerank: Annotated[
        bool | None,
        typer.Option(
            "--rerank/--no-rerank",
            help="Let the cross-encoder of search.rerank read the best hits.",
            show_default=False,
        ),
    ] = None,
    expand: Annotated[
        ExpandOption | None,
        typer.Option(
            "--expand",
            help="Widen the question by words of the best notes, or by the model of llm.",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show what each leg and step said of each hit, as `--json` always does.",
        ),
    ] = False,
    json: options.Json = False,
    form: Annotated[
        FormatOption, typer.Option("--format", help="How to print.")
    ] = FormatOption.table,
) -> None:
    """Search by words and by meaning in all vaults that the agent sees.

    Nothing leaves this machine, unless you set a model that is behind a server. Notes that changed
    since the last `djinn index` are noticed.
    """
    asked = options.filters(
        vaults=vaults, types=types, tags=tags, planes=planes, since=since, until=until, where=where
    )
    result = options.open_djinn(ctx).search(
        " ".join(query),
        asked,
        agent=agent,
        mode=mode.value if mode else None,
        limit=limit,
        rerank=rerank,
        expand=expand.value if expand else None,
        expired=expired,
    )
    if json:
        render.search_json(result)
        return
    getattr(render, f"search_{form.value}")(result, explain)
    render.search_talk(result, quiet=form is FormatOption.table, explain=explain)


@plain(
    "Examples: `djinn memory list --type decision` · "
    "`djinn memory list --tag project/x --since 30d`"
)
def list_memories(
    ctx: typer.Context,
    limit: options.Limit = None,
    agent: options.Agent = None,
    vaults: options.Vaults = None,
    types: options.Types = None,
    tags: options.Tags = None,
    planes: options.Planes = None,
    since: options.Since = None,
    until: options.Until = None,
    where: options.Where = None,
    expired: options.Expired = False,
    json: options.Json = False,
) -> None:
    """List memories, the newest first."""
    asked = options.filters(
        vaults=vaults, types=types, tags=tags, planes=planes, since=since, until=until, where=where
    )
    djinn = options.open_djinn(ctx)
    entries = djinn.memories.list(
        agent=agent, limit=limit or 50, expired=expired, **options.narrowing(asked)
    ).memories
    if json:
        from djinn_memory.cli.schemas.memory import MemoryList

        output.print_json(MemoryList(entries, djinn.problems))
        return
    output.problems(djinn.problems)
    if not entries:
        talk("nothing found")
    output.columns(
        [[one.date[:10], one.type or "-", one.title, f"{one.vault}/{one.path}"] for one in entries],
        head=("date", "type", "title", "path"),
    )


@plain('Example: `djinn memory show "Project: Harbourlight"`')
def show(
    ctx: typer.Context, name: Name, agent: options.Agent = None, json: options.Json = False
) -> None:
    """Show a note, its links and its backlinks."""
    djinn = options.open_djinn(ctx)
    detail = djinn.memories.show(name, agent=agent)
    if json:
        render.show_json(detail, djinn.problems)
    else:
        output.problems(djinn.problems)
        render.show(detail)


@plain("Example: `djinn memory delete inbox/old-idea.md --yes`")
def delete(
    ctx: typer.Context,
    name: Name,
    agent: options.Agent = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Move a note to the `.trash/` of its vault."""
    djinn = options.open_djinn(ctx)
    memory = djinn.memories.find(name, agent=agent)
    place = f"{memory.vault}/{memory.path}"
    sure = dry_run or _confirmed(memory, yes)
    deletion = djinn.memories.delete(
        f"{memory.vault}:{memory.path}", agent=agent, digest=memory.digest,
        dry_run=dry_run or not sure,
    )  # fmt: skip
    moved = deletion.moved_to
    if json:
        from djinn_memory.cli.schemas.memory import MemoryDelete

        output.print_json(MemoryDelete(deletion.memory, moved, djinn.problems))
    elif dry_run:
        say(f"would move {output.clean(place)} to the trash")
    elif moved is None:
        talk("it stays where it is")
    else:
        say(f"moved {output.clean(place)} to {output.clean(str(moved))}")


@plain(
    "Examples: `djinn memory purge inbox/old-idea.md` · "
    "`djinn memory purge mem_7k2m9q4dxw30hv5t --dry-run`"
)
def purge(
    ctx: typer.Context,
    name: Name,
    agent: options.Agent = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Remove a memory for good, with its versions and its copies in the trash.

    Its words go out of the index, its vectors out of the cache, its title and text out of what the
    ledger quotes. What you keep elsewhere, in git or in a backup, is yours to clean.
    """
    djinn = options.open_djinn(ctx)
    found = djinn.memories.purge(name, agent=agent, dry_run=True)
    about = f"{found.title}: {', '.join(found.files)} in {found.vault}"
    done = not dry_run and options.confirmed("Remove it for good?", yes, about=about, doing="purge")
    if done:
        found = djinn.memories.purge(found.id or name, agent=agent, files=found.files)
    problems = [*djinn.problems, *found.problems]
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.memory import MemoryPurge

        output.print_json(MemoryPurge(**{**asdict(found), "problems": problems}))
    else:
        output.problems(problems)
        if not (done or dry_run):
            talk("it stays where it is")
        for path in found.files if done or dry_run else ():
            place = output.clean(f"{found.vault}/{path}")
            say(f"purged {place}" if done else f"would purge {place}")
        if done:
            gone = (found.vectors, "vector"), (found.events, "event"), (found.values, "value")
            say(f"  with {', '.join(count(*one) for one in gone)}")
    if found.problems:
        raise typer.Exit(1)


@plain("Example: `djinn memory stats --vault notes --json`")
def stats(
    ctx: typer.Context,
    agent: options.Agent = None,
    vaults: options.Vaults = None,
    json: options.Json = False,
) -> None:
    """Count notes by type, plane, tag and vault."""
    djinn = options.open_djinn(ctx)
    found = djinn.memories.stats(vaults=tuple(vaults or ()), agent=agent)
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.memory import MemoryStats

        output.print_json(MemoryStats(**asdict(found), problems=djinn.problems))
        return
    output.problems(djinn.problems)
    say(
        f"{count(found.notes, 'note')}, {count(found.chunks, 'chunk')}, "
        f"{count(found.links, 'link')} ({found.unresolved:,} unresolved)"
    )
    for label, group in (
        ("vaults", found.vaults), ("types", found.types), ("planes", found.planes),
        ("tags", dict(list(found.tags.items())[:20])),
    ):  # fmt: skip
        if group:
            listed = ", ".join(f"{name} {number:,}" for name, number in group.items())
            say(f"{label:7} {output.clean(listed)}")


def _confirmed(memory: Memory, yes: bool) -> bool:
    about = f"{memory.title}  ({memory.vault}/{memory.path})"
    return options.confirmed("Move it to the trash?", yes, about=about, doing="delete")
