"""djinn document list, show, remove, reprocess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from djinn_memory.cli import candidates, options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.commands.ingest import (
    ChunkOverlap,
    ChunkSize,
    ModelContext,
    StrategyName,
    chosen_strategy,
)
from djinn_memory.cli.output import clean, dim, say, talk
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.library.requests import DocumentEntry

WIDEST = 50
"""Characters of a file's name in a list: one long name would push all columns out of sight."""

Name = Annotated[
    str,
    typer.Argument(
        help="The file's name, an id, a path or a title.", autocompletion=candidates.documents
    ),
]


@plain("Example: `djinn document list --vault shared`")
def list_documents(
    ctx: typer.Context,
    agent: options.Agent = None,
    vaults: options.Vaults = None,
    json: options.Json = False,
) -> None:
    """List documents, and failed files with the reason."""
    djinn = options.open_djinn(ctx)
    found = djinn.documents.list(agent=agent, vaults=tuple(vaults or ())).documents
    if json:
        from djinn_memory.cli.schemas.document import DocumentList

        output.print_json(DocumentList(found, djinn.problems))
        return
    output.problems(djinn.problems)
    if not found:
        talk("no documents yet; `djinn ingest FILE` makes one")
    output.columns(
        [
            [
                one.status,
                one.filename if len(one.filename) <= WIDEST else f"{one.filename[: WIDEST - 1]}…",
                str(one.total_pages or "-"),
                str(one.total_chunks),
                one.document_type or "-",
                one.reason or f"{one.vault}/{one.path}" if one.path or one.reason else one.vault,
            ]
            for one in found
        ],
        head=("status", "file", "pages", "chunks", "type", "note"),
    )
    failed = sum(one.status == "failed" for one in found)
    talk(dim(f"{count(len(found) - failed, 'document')}, {failed:,} failed"))


@plain("Example: `djinn document show technical-spec.pdf --page 12`")
def show(
    ctx: typer.Context,
    name: Name,
    page: Annotated[
        int | None, typer.Option("--page", min=1, metavar="N", help="Only this page.")
    ] = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Show a document's details and its text."""
    djinn = options.open_djinn(ctx)
    found = djinn.documents.show(name, page=page, agent=agent)
    if json:
        from djinn_memory.cli.schemas.document import DocumentShow

        output.print_json(
            DocumentShow(found.document, found.page, found.text, found.versions, djinn.problems)
        )
        return
    output.problems(djinn.problems)
    talk(dim(clean(_about(found.document))))
    say(output.clean_lines(found.text))


def _about(one: DocumentEntry) -> str:
    parts = [
        one.filename,
        one.title if one.title != one.filename else "",
        count(one.total_pages, "page") if one.total_pages else "",
        count(one.total_chunks, "chunk"),
        one.document_type or "",
        f"version {one.version}" if one.version > 1 else "",
        f"{one.vault}/{one.path}",
    ]
    return "  ".join(part for part in parts if part)


@plain("Example: `djinn document remove technical-spec.pdf --yes`")
def remove(
    ctx: typer.Context,
    name: Name,
    agent: options.Agent = None,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Move a document, its original and its earlier versions to the `.trash/` of its vault."""
    djinn = options.open_djinn(ctx)
    entry = djinn.documents.remove(name, agent=agent, dry_run=True).document
    about = f"{entry.filename}  ({entry.vault}/{entry.path})" if entry.path else entry.filename
    moved = None
    if not dry_run and options.confirmed("Remove it?", yes, about=about, doing="remove"):
        moved = djinn.documents.remove(
            name, agent=agent, document_id=entry.document_id, version=entry.version
        ).moved_to
    if json:
        from djinn_memory.cli.schemas.document import DocumentRemove

        output.print_json(DocumentRemove(entry, moved, djinn.problems))
    elif dry_run:
        say(f"would remove {clean(about)}")
    elif moved is None:
        talk("it stays where it is")
    else:
        say(f"removed {clean(about)}")
        for place in moved:
            say(f"  {clean(str(place))}")


@plain("Example: `djinn document reprocess technical-spec.pdf --strategy semantic`")
def reprocess(
    ctx: typer.Context,
    name: Name,
    strategy: StrategyName = None,
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
    model_context: ModelContext = None,
    agent: options.Agent = None,
    allow_secret: options.AllowSecret = False,
    json: options.Json = False,
) -> None:
    """Cut a document into chunks again; the text of its note stays."""
    from djinn_memory.memories.library.requests import ReprocessDocument

    request = ReprocessDocument(
        name,
        agent=agent,
        strategy=chosen_strategy(strategy),
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        model_context=model_context,
        allow_secret=allow_secret,
    )
    with output.progress_line(json) as progress:
        djinn = options.open_djinn(ctx, progress)
        done = djinn.documents.reprocess(request)
    problems = [*djinn.problems, *done.problems]
    if json:
        from djinn_memory.cli.schemas.document import DocumentReprocess

        output.print_json(DocumentReprocess(done.document, done.embedded, problems))
    else:
        output.problems(problems)
        one = done.document
        say(f"{clean(one.filename)}: {count(one.total_chunks, 'chunk')}, {one.chunk_strategy}")
    if done.problems:
        raise typer.Exit(1)
