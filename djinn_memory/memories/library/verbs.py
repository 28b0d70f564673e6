"""Operations on documents: ingest, list, show, find, remove, reprocess."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from msgspec import ValidationError, convert
from msgspec.structs import replace

from djinn_memory.documents.document import Unreadable
from djinn_memory.documents.sources import Source, sources
from djinn_memory.errors import Busy, NotFound, Refused, Unavailable, UsageError
from djinn_memory.home.hidden_paths import HiddenPaths
from djinn_memory.memories.library import catalog, requests
from djinn_memory.memories.library.catalog import (
    StoredDocument,
    document_events,
    run_lock,
    stored_documents,
    text_of,
)
from djinn_memory.memories.writing.change_set import writing
from djinn_memory.models import Filters, Problem, Strategy, Vault, extended
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import moment
from djinn_memory.notes.note import parse
from djinn_memory.notes.pages import pages
from djinn_memory.operations.operation import Namespace, operation, recovers
from djinn_memory.secrets import guard
from djinn_memory.store.ledger import Event
from djinn_memory.store.state import State
from djinn_memory.system.locks import is_locked
from djinn_memory.system.plural import count

_RUN = re.compile(r"[0-9a-f-]{36}")
"""The id of a run. It becomes a file name, so an id in a foreign ledger must have this form."""

_TEXTS = (
    "content_type", "document_type", "chunk_strategy", "uploaded_at", "processed_at", "author",
    "subject", "embedding_model",
)  # fmt: skip
_NUMBERS = ("total_pages", "chunk_size", "file_size_bytes")
"""Numeric front matter of a document that a list shows."""


class Documents(Namespace, name="documents"):
    """The documents of a home."""

    @operation(
        requests.IngestOptions, recover=False, patient=True, writes=True, positional=("paths",)
    )
    def ingest(self, request: requests.IngestOptions) -> requests.IngestReport:
        """Turn files, and the files in folders, into documents."""
        return self.ingest_files(request)

    @recovers
    def ingest_files(
        self,
        request: requests.IngestOptions,
        piped: Sequence[Source] = (),
        *,
        tell: requests.IngestCallback = lambda _: None,
        ask: requests.AskPassword = requests.no_password,
    ) -> requests.IngestReport:
        """As `ingest`, for files under other names and with callbacks.

        If no path leads to a file, raises the error of the first path, such as `NotFound`.
        """
        from djinn_memory.memories.library.ingest import ingest

        paths = request.paths
        hides = HiddenPaths(self.runtime.home, request.agent)
        if request.title is not None and (
            len(paths) + len(piped) != 1
            or any(path not in hides and path.is_dir() for path in paths)
        ):
            raise UsageError("applies to one document; give one file", argument="title")
        files, missing = sources(paths, recursive=request.recursive, hides=hides)
        if missing and not files and not piped:
            path, error = missing[0]
            raise type(error)(f"{path}: {error}")
        with self.runtime.busy(patient=True):
            return ingest(
                self._state, self._models, request, [*files, *piped],
                missing=missing, tell=tell, ask=ask, progress=self.runtime.progress,
            )  # fmt: skip

    @operation(requests.ListDocuments)
    def list(self, request: requests.ListDocuments) -> requests.DocumentList:
        """List the documents that an agent sees, then the failed files."""
        vaults = self._scope(request.agent, Filters(vaults=tuple(request.vaults)))
        entries = [self._entry(document) for document in stored_documents(self._state, vaults)]
        entries.sort(key=lambda entry: (entry.filename.casefold(), entry.vault, entry.path or ""))
        return requests.DocumentList((*entries, *self._unfinished(vaults)))

    @operation(requests.ShowDocument, positional=("name",))
    def show(self, request: requests.ShowDocument) -> requests.DocumentText:
        """Show a document and its current text, or the text of one page.

        Raises `NotFound` for a page that it does not have.
        """
        document = self._document(request.name, request.agent)
        data = disk.read(document.vault, document.path)
        note = parse(document.path, data, document.vault.dialect)
        entry = self._entry(document)
        text, page = note.text[note.body :], request.page
        if page is not None:
            spans = {span.number: span for span in pages(note.text, note.body)}
            if page not in spans:
                has = f"pages {min(spans)} to {max(spans)}" if spans else "no pages"
                raise NotFound(f"no page {page} in {entry.filename}; it has {has}")
            text = note.text[spans[page].start : spans[page].end]
        return requests.DocumentText(
            entry, page, text.strip("\n"), tuple(catalog.history(document))
        )

    @operation(requests.DrawPage, positional=("name", "page"))
    def draw(self, request: requests.DrawPage) -> requests.PagePicture:
        """Draw a page of a PDF whose original was kept.

        Raises `NotFound` for other documents and for a page that it does not have.
        """
        from djinn_memory.documents.pdf.image import page_image

        document = self._document(request.name, request.agent)
        entry, original = self._entry(document), catalog.original_path(document)
        if original is None or entry.content_type != "application/pdf":
            raise NotFound(f"{entry.filename} is not a PDF whose original was kept")
        try:
            png = page_image(document.vault.root / original, request.page, request.width)
        except IndexError:
            pages = count(entry.total_pages or 0, "page")
            raise NotFound(f"no page {request.page} in {entry.filename}; it has {pages}") from None
        except Unreadable as error:
            raise Refused(f"{entry.filename} {error}") from None
        return requests.PagePicture(entry.document_id, request.page, png)

    @operation(requests.FindDocument)
    def find(self, request: requests.FindDocument) -> requests.DocumentEntry:
        """Find a document, or a file that failed, by name."""
        document = self._find(request.name, request.agent)
        return document if isinstance(document, requests.DocumentEntry) else self._entry(document)

    @operation(requests.RemoveDocument, writes=True, removes=True, positional=("name",))
    def remove(self, request: requests.RemoveDocument) -> requests.RemovedDocument:
        """Move a document, its original and its earlier versions to the trash of the vault.

        For a file that failed, only its record is removed. Raises `Refused` when the name means
        another document or another version than those given.
        """
        from djinn_memory.indexing.refresh import read

        document = self._find(request.name, request.agent)
        entry = document if isinstance(document, requests.DocumentEntry) else self._entry(document)
        expected = (request.document_id or entry.document_id, request.version or entry.version)
        if expected != (entry.document_id, entry.version):
            raise Refused(
                f"{entry.filename} has a newer version; check it, then run the command again"
            )
        if request.dry_run:
            return requests.RemovedDocument(entry, None)
        if isinstance(document, requests.DocumentEntry):
            [vault] = self._state.home.named((entry.vault,))
            source = entry.source or ""
            data = {"vault": vault.id, "name": entry.filename, "source": source}
            event = Event("document.forgotten", catalog.subject(vault, source), data)
            self._state.ledger.append([event])
            return requests.RemovedDocument(entry, ())
        with writing(self.runtime, document.vault, "document remove", request.agent) as writer:
            *others, note = writer.trash([*catalog.other_files(document), document.path])
        # It is removed even if the index cannot be told now: search looks for the file of a hit.
        with suppress(Unavailable):
            read(self._state, [document.vault], timeout=1)
        return requests.RemovedDocument(entry, (note, *others))

    @operation(requests.ReprocessDocument, patient=True, writes=True, positional=("name",))
    def reprocess(self, request: requests.ReprocessDocument) -> requests.ReprocessedDocument:
        """Divide a document into chunks again and index it. The text of its note is unchanged.

        Raises `Refused` when the text looks like a secret, unless the request allows it.
        """
        from djinn_memory.memories.library.ingest import index_documents, plan_of
        from djinn_memory.memories.library.writer import plan_fields

        document = self._document(request.name, request.agent)
        vault, path = document.vault, document.path
        if vault.read_only:
            raise Refused(f"vault {vault.name} is read-only, so its notes are not changed")
        if request.strategy is None:
            with suppress(ValidationError):
                last = convert(document.fields.get("chunk_strategy"), Strategy)
                request = replace(request, strategy=last)
        plan = plan_of(self._state.home, vault, request)
        place = f"{vault.name}/{path}"

        def cut(data: bytes) -> bytes:
            note = parse(path, data, vault.dialect)
            secrets = self._state.home.config.secrets
            guard(note.text, what=place, settings=secrets, allow=request.allow_secret)
            fields = plan_fields(plan, note.text[note.body :], self._models.name)
            fields["processed_at"] = moment(self.runtime.now())
            for key, value in fields.items():
                if value is not None or key in document.fields:
                    data = frontmatter.edit(data, (key,), value)
            return data

        with self._state.vault_lock(vault):
            disk.edit(vault, path, cut)
        embedded, problems = index_documents(
            self._state, self._models, vault, {place}, self.runtime.progress
        )
        for after in stored_documents(self._state, [vault]):
            if after.path == path:
                return requests.ReprocessedDocument(self._entry(after), embedded, tuple(problems))
        raise NotFound(f"{place} does not exist any more")

    def _entry(self, document: StoredDocument) -> requests.DocumentEntry:
        """A document as a list shows it."""
        # A model will embed the windows without vectors.
        waits = self._models.embedder is not None and document.size.waiting
        return extended(
            document,
            requests.DocumentEntry,
            status="pending" if waits else "indexed",
            reason=None,
            document_id=document.id,
            vault=document.vault.name,
            total_chunks=document.size.chunks,
            **{key: document.fields.get(key) for key in _TEXTS},
            **{key: document.number(key) for key in _NUMBERS},
        )

    def _find(self, name: str, agent: str | None) -> StoredDocument | requests.DocumentEntry:
        vaults = self._scope(agent, Filters())
        try:
            return catalog.find_document(stored_documents(self._state, vaults), name)
        except NotFound:
            failed = [
                entry
                for entry in self._unfinished(vaults)
                if entry.status == "failed" and name in (entry.filename, entry.source)
            ]
            if not failed:
                raise
        if len(failed) > 1:
            places = ", ".join(f"{entry.source} in {entry.vault}" for entry in failed)
            raise UsageError(f"{name!r} is ambiguous: {places}; give the absolute path")
        return failed[0]

    def _document(self, name: str, agent: str | None) -> StoredDocument:
        document = self._find(name, agent)
        if isinstance(document, requests.DocumentEntry):
            raise NotFound(f"{name!r} is not a document: it {document.reason}")
        return document

    def _unfinished(self, vaults: Sequence[Vault]) -> Sequence[requests.DocumentEntry]:
        try:
            return _unfinished_files(self._state, vaults)
        except Busy as error:
            why = f"{error}; failed files are not listed"
            self.runtime.problems.append(Problem("ledger", why))
            return []


def _unfinished_files(state: State, vaults: Sequence[Vault]) -> list[requests.DocumentEntry]:
    """The files of `vaults` that are waiting, being read or failed, oldest first.

    A file has failed if its run ended without reporting it, for example because it was killed.
    """
    locks = state.home.state / "locks"
    running: dict[str, bool] = {}
    entries = []
    for vault, event in document_events(state, vaults):
        verb, run = event.kind.partition(".")[2], text_of(event, "run")
        if verb not in ("pending", "processing", "failed"):
            continue
        status: requests.DocumentStatus = "failed"
        reason = text_of(event, "why") or None
        if verb != "failed":
            if run not in running:
                running[run] = bool(_RUN.fullmatch(run)) and is_locked(run_lock(locks, run))
            if running[run]:
                status = "pending" if verb == "pending" else "processing"
            else:
                reason = "was interrupted; ingest the file again"
        source = text_of(event, "source")
        name = text_of(event, "name") or PurePosixPath(source).name
        nothing: dict[str, Any] = dict.fromkeys(requests.DocumentEntry.__struct_fields__)
        known = {"filename": name, "title": name, "vault": vault.name, "source": source}
        known |= {"status": status, "uploaded_at": event.at}
        fields = {**nothing, **known, "reason": reason, "version": 1, "total_chunks": 0}
        fields["domain"] = text_of(event, "domain") or None
        entries.append(requests.DocumentEntry(**fields))
    return entries
