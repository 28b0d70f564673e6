"""djinn document list, show, remove, reprocess."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command, failed
from djinn_memory.cli.output import clean, dim, say, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.library.requests import (
    ListDocuments,
    RemoveDocument,
    ReprocessDocument,
    ShowDocument,
)
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.library.requests import (
        DocumentEntry,
        DocumentList,
        DocumentText,
        RemovedDocument,
        ReprocessedDocument,
    )

WIDEST = 50
"""Characters of a file's name in a list: one long name would push all columns out of sight."""

NAME = Field(complete=candidates.documents)


@command("documents.list", ListDocuments, examples=["djinn document list --vault shared"])
def list_documents(call: Call, answer: DocumentList) -> None:
    """List documents, and failed files with the reason."""
    documents = answer.documents
    if not documents:
        talk("no documents yet; `djinn ingest FILE` creates one")
    output.columns(
        [
            [
                document.status,
                shortened(document.filename, WIDEST),
                str(document.total_pages or "-"),
                str(document.total_chunks),
                document.document_type or "-",
                document.reason or f"{document.vault}/{document.path or ''}".rstrip("/"),
            ]
            for document in documents
        ],
        head=("status", "file", "pages", "chunks", "type", "note"),
    )
    failures = sum(document.status == "failed" for document in documents)
    talk(dim(f"{count(len(documents) - failures, 'document')}, {failures:,} failed"))


@command(
    "documents.show",
    ShowDocument,
    fields={"name": NAME, "page": Field("N")},
    examples=["djinn document show technical-spec.pdf --page 12"],
)
def show(call: Call, answer: DocumentText) -> None:
    """Show a document's details and its text."""
    document = answer.document
    parts = [
        document.filename,
        document.title if document.title != document.filename else "",
        count(document.total_pages, "page") if document.total_pages else "",
        count(document.total_chunks, "chunk"),
        document.document_type or "",
        f"version {document.version}" if document.version > 1 else "",
        f"{document.vault}/{document.path}",
    ]
    talk(dim(clean("  ".join(filter(None, parts)))))
    say(output.clean_lines(answer.text))


def _remove(call: Call) -> RemovedDocument:
    documents, name, agent = call.djinn.documents, call.request.name, call.request.agent
    preview = documents.remove(name, agent=agent, dry_run=True)
    document = preview.document
    if call.request.dry_run or not call.confirmed("Remove it?", _about(document), "remove"):
        return preview
    return documents.remove(
        name, agent=agent, document_id=document.document_id, version=document.version
    )


@command(
    "documents.remove",
    RemoveDocument,
    without=["document_id", "version"],
    fields={"name": NAME},
    view=Confirm,
    run=_remove,
    examples=["djinn document remove technical-spec.pdf --yes"],
)
def remove(call: Call, answer: RemovedDocument) -> None:
    """Move a document, its original and its earlier versions to the `.trash/` of its vault."""
    about = clean(_about(answer.document))
    if call.request.dry_run:
        say(f"would remove {about}")
    elif answer.moved_to is None:
        talk("nothing was removed")
    else:
        say(f"removed {about}")
        for place in answer.moved_to:
            say(f"  {clean(str(place))}")


@command(
    "documents.reprocess",
    ReprocessDocument,
    fields={"name": NAME},
    progress=True,
    failed=failed,
    examples=["djinn document reprocess technical-spec.pdf --strategy semantic"],
)
def reprocess(call: Call, answer: ReprocessedDocument) -> None:
    """Cut a document into chunks again; the text of its note stays."""
    document = answer.document
    chunks = count(document.total_chunks, "chunk")
    say(f"{clean(document.filename)}: {chunks}, {document.chunk_strategy}")


def _about(document: DocumentEntry) -> str:
    if not document.path:
        return document.filename
    return f"{document.filename}  ({document.vault}/{document.path})"
