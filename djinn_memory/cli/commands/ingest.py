"""djinn ingest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, say, talk, warn
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import UsageError
from djinn_memory.memories.library.requests import IngestOptions
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.documents.sources import Source
    from djinn_memory.memories.library.requests import FileOutcome, IngestReport

PIPE = Path("-")


def _ingest(call: Call) -> IngestReport:
    from tempfile import TemporaryDirectory

    from djinn_memory.cli.text.ingest_progress import FileLines

    title, paths = call.values["title"], call.values["paths"]
    call.values["paths"] = [path for path in paths if path != PIPE]
    # White space around a title is a slip of the shell.
    call.values["title"] = " ".join(title.split()) or None if title else None
    with TemporaryDirectory(prefix="djinn-") as folder, FileLines(call.json, _print_file) as lines:
        documents = call.djinn.documents
        piped = [_piped(Path(folder), title)] if PIPE in paths else []
        ask = lines.no_answer if call.json or not sys.stdin.isatty() else lines.ask
        return documents.ingest_files(call.request, piped, tell=lines.tell, ask=ask)


@command(
    "documents.ingest",
    IngestOptions,
    fields={
        "paths": Field("PATH...", optional=False, help="Files or folders. `-` reads from stdin."),
        "recursive": Field(short="-r"),
        "vault": Field("NAME", candidates.vaults),
        "password": Field(
            "TEXT", help="The password of encrypted files. Without it, djinn asks at a terminal."
        ),
    },
    progress=True,
    run=_ingest,
    failed=lambda report: bool(report.failed or report.problems),
    words="ingest",
)
def ingest(call: Call, answer: IngestReport) -> None:
    """Turn files into documents that searches cite by page.

    Reads PDF, text, Markdown and CSV; with the extra `documents` also DOCX, PPTX, EPUB and
    HTML. The format is detected from the content of a file. Files that are already documents are
    skipped. A file with a known name and new content becomes the next version of its document.

    Examples:
        djinn ingest report.pdf --doc-type technical
        djinn ingest ~/papers --recursive --strategy page_based --vault shared
        cat notes.txt | djinn ingest - --title "Minutes"
    """
    if not answer.documents:
        talk("No files found. Hidden files are skipped; subfolders are read only with -r.")
    say(f"done {answer.done:,}, skipped {answer.skipped:,}, failed {answer.failed:,}")


def _piped(folder: Path, title: str | None) -> Source:
    """The piped input as a file."""
    import shutil

    from djinn_memory.documents.sources import Source

    if sys.stdin.isatty():
        raise UsageError("`-` reads from stdin; write `djinn ingest - < FILE`")
    place = folder / "piped"
    with place.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return Source(place, title or "text from stdin", lasting=False)


def _print_file(outcome: FileOutcome) -> None:
    """Print the outcome of a file on one line."""
    name = clean(outcome.file if outcome.status == "failed" else outcome.filename)
    if outcome.status == "failed":
        talk(f"{typer.style('failed', fg='red')}: {name}: {clean(outcome.why or '')}")
    elif outcome.status == "skipped":
        say(f"{name}: skipped, {clean(outcome.why or '')}")
    else:
        pages = f"{count(outcome.total_pages, 'page')}, " if outcome.total_pages else ""
        version = f", version {outcome.version}" if outcome.version > 1 else ""
        version += " (the previous version is in documents/.history)" if version else ""
        chunks = count(outcome.chunks_created, "chunk")
        place = clean(f"{outcome.vault}/{outcome.path}")
        say(f"{name}: {pages}{chunks}{version} -> {place}")
        for warning in outcome.warnings:
            warn(f"{name}: {clean(warning)}")
