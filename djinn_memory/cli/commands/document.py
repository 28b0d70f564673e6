"""djinn ingest, and djinn document list, show, remove, reprocess."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import EVERY, Bars, clean, dim, place, say, shortened, talk, warn
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import UsageError
from djinn_memory.memories.library import requests
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.documents.pool import Event
    from djinn_memory.documents.sources import Source

WIDEST = 50
"""Maximum characters of a file name in a list: a long name would push other columns out of view."""

NAME = Field(complete=candidates.documents)


@command("documents.list")
def _list(call: Call, answer: requests.DocumentList) -> None:
    """List documents, and failed files with the reason.

    Examples:
        djinn document list --vault shared
    """
    documents = answer.documents
    output.columns(
        [
            [
                document.status,
                shortened(document.filename, WIDEST),
                document.total_pages or "-",
                document.total_chunks,
                document.document_type or "-",
                document.reason or f"{document.vault}/{document.path or ''}".rstrip("/"),
            ]
            for document in documents
        ],
        head="status file pages chunks type note",
        empty="No documents yet. Run `djinn ingest FILE` to add one.",
    )
    failures = sum(document.status == "failed" for document in documents)
    talk(dim(f"{count(len(documents) - failures, 'document')}, {failures:,} failed"))


@command("documents.show", fields={"name": NAME})
def _show(call: Call, answer: requests.DocumentText) -> None:
    """Show a document's details and its text.

    Examples:
        djinn document show technical-spec.pdf --page 12
    """
    document = answer.document
    parts = [
        document.filename,
        document.title if document.title != document.filename else "",
        count(document.total_pages, "page") if document.total_pages else "",
        count(document.total_chunks, "chunk"),
        document.document_type or "",
        f"version {document.version}" if document.version > 1 else "",
        place(document),
    ]
    talk(dim(clean("  ".join(filter(None, parts)))))
    say(output.clean_lines(answer.text))


def _run_remove(call: Call) -> Any:
    preview = call.run(dry_run=True)
    document = preview.document
    if call.declined("Move the document to the trash?", _about(document)):
        return preview
    return call.run(document_id=document.document_id, version=document.version)


@command(
    "documents.remove",
    without=["document_id", "version"],
    fields={"name": NAME},
    view=Confirm,
    run=_run_remove,
)
def _remove(call: Call, answer: requests.RemovedDocument) -> None:
    """Move a document with its original and its earlier versions to the trash.

    Examples:
        djinn document remove technical-spec.pdf --yes
    """
    about = clean(_about(answer.document))
    if call.request.dry_run:
        say(f"would remove {about}")
    elif answer.moved_to is None:
        talk("Aborted; nothing was removed.")
    else:
        say(f"removed {about}")
        for moved in answer.moved_to:
            say(f"  {clean(str(moved))}")


@command("documents.reprocess", fields={"name": NAME}, progress=True)
def _reprocess(call: Call, answer: requests.ReprocessedDocument) -> None:
    """Divide a document into chunks again, without changing its text.

    Examples:
        djinn document reprocess technical-spec.pdf --strategy semantic
    """
    document = answer.document
    chunks = count(document.total_chunks, "chunk")
    say(f"{clean(document.filename)}: {chunks}, {document.chunk_strategy}")


def _about(document: requests.DocumentEntry) -> str:
    return f"{document.filename}  ({place(document)})" if document.path else document.filename


PIPE = Path("-")


def _run_ingest(call: Call) -> requests.IngestReport:
    from tempfile import TemporaryDirectory

    title, paths = call.values["title"], call.values["paths"]
    call.values["paths"] = [path for path in paths if path != PIPE]
    # White space around a title is a slip of the shell.
    call.values["title"] = " ".join(title.split()) or None if title else None
    with TemporaryDirectory(prefix="djinn-") as folder, _FileLines(call.json) as lines:
        documents = call.djinn.documents
        piped = [_piped(Path(folder), title)] if PIPE in paths else []
        ask = lines.ask if sys.stdin.isatty() and not call.json else requests.no_password
        return documents.ingest_files(call.request, piped, tell=lines.tell, ask=ask)


@command(
    "documents.ingest",
    fields={
        "paths": Field("PATH...", optional=False, help="Files or folders. `-` reads from stdin."),
        "recursive": Field(short="-r"),
        "vault": Field("NAME", candidates.vaults),
        "password": Field(
            "TEXT", help="The password of encrypted files. Without it, djinn asks at a terminal."
        ),
    },
    progress=True,
    run=_run_ingest,
    failed=lambda report: bool(report.failed or report.problems),
    words="ingest",
)
def _ingest(call: Call, answer: requests.IngestReport) -> None:
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
    path = folder / "piped"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return Source(path, title or "text from stdin", lasting=False)


def _print_file(outcome: requests.FileOutcome) -> None:
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
        say(f"{name}: {pages}{chunks}{version} -> {place(outcome)}")
        for warning in outcome.warnings:
            warn(f"{name}: {clean(warning)}")


class _FileLines:
    """Shows the progress of files that workers read: live lines at a terminal, else a log."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bars = Bars()
        self._spoke: dict[str, float] = {}

    def __enter__(self) -> _FileLines:
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def tell(self, event: Event | requests.FileOutcome) -> None:
        """Show the start, the progress or the end of a file."""
        from djinn_memory.documents.pool import FileStarted, PagesRead

        if self._quiet:
            return
        if isinstance(event, requests.FileOutcome):
            self._bars.end(event.file)
            try:
                with self._bars.aside():
                    _print_file(event)
            except BrokenPipeError:
                # Who reads along, `head` say, has enough; the files are to be done all the same.
                self._quiet = True
        elif isinstance(event, FileStarted | PagesRead):
            path = str(event.request.path)
            done, total = (event.done, event.total) if isinstance(event, PagesRead) else (0, None)
            name = clean(event.request.name)
            if sys.stderr.isatty():
                pages = f"{done:,} of {count(total, 'page')}" if total else ""
                self._bars.show(path, name, done, total, pages)
            else:
                self._word(path, name, done, total)

    def ask(self, name: str, why: str) -> str | None:
        """Ask for a password at the terminal. None for an empty answer."""
        self._bars.stop()
        talk(f"{clean(name)} {clean(why.partition(';')[0])}")
        answer: str = typer.prompt(
            "Password (empty to skip it)", hide_input=True, default="", show_default=False, err=True
        )
        return answer or None

    def _word(self, path: str, name: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._spoke.setdefault(path, now) > EVERY:
            self._spoke[path] = now
            of = f"{done:,} of " if total else ""
            talk(f"{name}: {of}{count(total or done, 'page')} read")
