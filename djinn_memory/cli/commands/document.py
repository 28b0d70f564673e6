"""djinn document list, show, remove, reprocess."""

from __future__ import annotations

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, dim, say, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.library import requests
from djinn_memory.system.plural import count

WIDEST = 50
"""Maximum characters of a file name in a list: a long name would push other columns out of view."""

NAME = Field(complete=candidates.documents)


@command("documents.list", requests.ListDocuments)
def list_(call: Call, answer: requests.DocumentList) -> None:
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
                str(document.total_pages or "-"),
                str(document.total_chunks),
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


@command("documents.show", requests.ShowDocument, fields={"name": NAME})
def show(call: Call, answer: requests.DocumentText) -> None:
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
        f"{document.vault}/{document.path}",
    ]
    talk(dim(clean("  ".join(filter(None, parts)))))
    say(output.clean_lines(answer.text))


def _remove(call: Call) -> requests.RemovedDocument:
    documents, name, agent = call.djinn.documents, call.request.name, call.request.agent
    preview = documents.remove(name, agent=agent, dry_run=True)
    document = preview.document
    if call.request.dry_run or not call.confirmed(
        "Move the document to the trash?", _about(document)
    ):
        return preview
    return documents.remove(
        name, agent=agent, document_id=document.document_id, version=document.version
    )


@command(
    "documents.remove",
    requests.RemoveDocument,
    without=["document_id", "version"],
    fields={"name": NAME},
    view=Confirm,
    run=_remove,
)
def remove(call: Call, answer: requests.RemovedDocument) -> None:
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
        for place in answer.moved_to:
            say(f"  {clean(str(place))}")


@command("documents.reprocess", requests.ReprocessDocument, fields={"name": NAME}, progress=True)
def reprocess(call: Call, answer: requests.ReprocessedDocument) -> None:
    """Divide a document into chunks again, without changing its text.

    Examples:
        djinn document reprocess technical-spec.pdf --strategy semantic
    """
    document = answer.document
    chunks = count(document.total_chunks, "chunk")
    say(f"{clean(document.filename)}: {chunks}, {document.chunk_strategy}")


def _about(document: requests.DocumentEntry) -> str:
    if not document.path:
        return document.filename
    return f"{document.filename}  ({document.vault}/{document.path})"
