"""djinn ingest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from djinn_memory.cli import candidates, options, output, parsing
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.models import DocumentType, Strategy
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.documents.sources import Source
    from djinn_memory.memories.library.requests import FileOutcome, IngestOptions

PIPE = Path("-")
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
DOCUMENT_TYPES: tuple[DocumentType, ...] = get_args(DocumentType)

StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy", metavar="STRATEGY", autocompletion=lambda: list(STRATEGIES),
        help=f"How the text is cut: {', '.join(STRATEGIES)}.",
    ),
]  # fmt: skip
ChunkSize = Annotated[
    int | None,
    typer.Option("--chunk-size", metavar="N",
                 help="The most tokens of a chunk; characters for --strategy words."),
]  # fmt: skip
ChunkOverlap = Annotated[
    int | None,
    typer.Option("--chunk-overlap", metavar="N", help="What neighbouring chunks share at most."),
]
ModelContext = Annotated[
    str | None,
    typer.Option(
        "--model-context", metavar="MODEL",
        autocompletion=candidates.models,
        help="The model that will read the chunks, or its context window in tokens: adaptive, "
        "page_based and recursive chunks are 5 % of it.",
    ),
]  # fmt: skip


@plain(
    "Examples: `djinn ingest report.pdf --doc-type technical` · "
    "`djinn ingest ~/papers --recursive --strategy page_based --vault shared` · "
    '`cat notes.txt | djinn ingest - --title "Minutes"`'
)
def ingest(
    ctx: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", parser=parsing.path,
                       help="Files, folders of files, or - for what is piped."),
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="The folders in a folder too.")
    ] = False,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="What to call it.")
    ] = None,
    document_type: Annotated[
        str | None,
        typer.Option(
            "--doc-type", metavar="TYPE", autocompletion=lambda: list(DOCUMENT_TYPES),
            help=f"What kind of document: {', '.join(DOCUMENT_TYPES)}; general if not given.",
        ),
    ] = None,
    strategy: StrategyName = None,
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
    model_context: ModelContext = None,
    vault: Annotated[
        str | None,
        typer.Option("--vault", metavar="NAME", autocompletion=candidates.vaults,
                     help="Where the notes go; the agent's own vault if not given."),
    ] = None,
    agent: options.Agent = None,
    password: Annotated[
        str | None,
        typer.Option("--password", metavar="TEXT",
                     help="Opens encrypted files; asked for at a terminal if not given."),
    ] = None,
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Let ocrmypdf read pages that are pictures.")
    ] = False,
    allow_secret: options.AllowSecret = False,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Turn files into documents that searches cite by page.

    PDF, text, Markdown and CSV; with the extra `djinn-memory[documents]` also DOCX, PPTX, EPUB and
    HTML. The file's content says what it is. Files that are documents already are skipped, and
    one with a known name and new content becomes that document's next version.
    """
    from tempfile import TemporaryDirectory

    from djinn_memory.cli.ingest_progress import FileLines

    with TemporaryDirectory(prefix="djinn-") as folder, output.progress_line(json) as progress:
        djinn = options.open_djinn(ctx, progress)
        piped = [_piped(Path(folder), title)] if PIPE in paths else []
        request = _request(
            tuple(path for path in paths if path != PIPE), recursive, agent, vault, title,
            document_type, strategy, chunk_size, chunk_overlap, model_context,
            password, ocr, allow_secret,
        )  # fmt: skip
        with FileLines(json, _line) as lines:
            report = djinn.documents.ingest_files(
                request, piped, tell=lines.tell,
                ask=lines.no_answer if json or not sys.stdin.isatty() else lines.ask,
            )  # fmt: skip
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.document import Ingest

        fields = asdict(report)
        fields["problems"] = [*djinn.problems, *report.problems]
        output.print_json(Ingest(**fields))
    else:
        output.problems([*djinn.problems, *report.problems])
        if not report.documents:
            talk("no files there; hidden ones are left out, and folders in a folder without -r")
        say(f"done {report.done:,}, skipped {report.skipped:,}, failed {report.failed:,}")
    if report.failed or report.problems:
        raise typer.Exit(1)


def _request(
    paths: tuple[Path, ...],
    recursive: bool,
    agent: str | None,
    vault: str | None,
    title: str | None,
    document_type: str | None,
    strategy: str | None,
    chunk_size: int | None,
    chunk_overlap: int | None,
    model_context: str | None,
    password: str | None,
    ocr: bool,
    allow_secret: bool,
) -> IngestOptions:
    from djinn_memory.memories.library.requests import IngestOptions

    kind = next((one for one in DOCUMENT_TYPES if one == document_type), None)
    if document_type is not None and kind is None:
        _usage(f"--doc-type {document_type}: no such type; allowed: {', '.join(DOCUMENT_TYPES)}")
    return IngestOptions(
        paths=paths,
        recursive=recursive,
        agent=agent,
        vault=vault,
        title=" ".join(title.split()) or None if title else None,
        document_type=kind,
        strategy=chosen_strategy(strategy),
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        model_context=model_context,
        password=password,
        ocr=ocr,
        allow_secret=allow_secret,
    )


def chosen_strategy(text: str | None) -> Strategy | None:
    """The strategy of this name; `UsageError` lists those there are."""
    found = next((one for one in STRATEGIES if one == text), None)
    if text is not None and found is None:
        _usage(f"--strategy {text}: no such strategy; allowed: {', '.join(STRATEGIES)}")
    return found


def _usage(why: str) -> None:
    from djinn_memory.errors import UsageError

    raise UsageError(why)


def _piped(folder: Path, title: str | None) -> Source:
    """What comes through the pipe, as a file."""
    import shutil

    from djinn_memory.documents.sources import Source

    if sys.stdin.isatty():
        _usage("- reads what is piped; write `djinn ingest - < FILE`")
    place = folder / "piped"
    with place.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return Source(place, title or "piped text", lasting=False)


def _line(outcome: FileOutcome) -> None:
    """What became of a file, in a line."""
    name = clean(outcome.file if outcome.status == "failed" else outcome.filename)
    if outcome.status == "failed":
        talk(f"{typer.style('failed', fg='red')}: {name}: {clean(outcome.why or '')}")
    elif outcome.status == "skipped":
        say(f"{name}: skipped, {clean(outcome.why or '')}")
    else:
        pages = f"{count(outcome.total_pages, 'page')}, " if outcome.total_pages else ""
        version = f", version {outcome.version}" if outcome.version > 1 else ""
        version += " (the one before is in documents/.history)" if version else ""
        say(
            f"{name}: {pages}{count(outcome.chunks_created, 'chunk')}{version} -> "
            f"{clean(f'{outcome.vault}/{outcome.path}')}"
        )
        for warning in outcome.warnings:
            talk(f"{typer.style('warning', fg='yellow')}: {name}: {clean(warning)}")
