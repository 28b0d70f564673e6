"""The verbs for documents: ingest files, list, show, remove, cut anew."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.documents.sources import Source
from djinn_memory.errors import DjinnError, NotFound, Refused, Unavailable, UsageError
from djinn_memory.memories.library import catalog
from djinn_memory.memories.library.catalog import DocumentEntry, StoredDocument
from djinn_memory.models import Filters, Problem, Strategy, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import moment
from djinn_memory.notes.note import parse
from djinn_memory.notes.pages import pages
from djinn_memory.notes.vault import files as disk
from djinn_memory.runtime import Namespace
from djinn_memory.secrets import guard
from djinn_memory.store.ledger import Event
from djinn_memory.store.recovery import recovers

if TYPE_CHECKING:
    from djinn_memory.memories.library.requests import Ask, IngestOptions, IngestReport, Tell

Entries: TypeAlias = list[DocumentEntry]
Paths: TypeAlias = list[Path]


class DocumentText(Struct, frozen=True):
    """A document and its text."""

    entry: DocumentEntry
    page: int | None
    """The page whose text it is; None for all of it."""
    text: str
    versions: tuple[str, ...]
    """Paths of earlier versions, and of their originals, in the vault."""


class ReprocessReport(Struct, frozen=True):
    """A document that was cut anew."""

    entry: DocumentEntry
    embedded: int
    problems: tuple[Problem, ...]


class Documents(Namespace):
    """The documents of a home."""

    @recovers
    def ingest(
        self,
        sources: Sequence[Source],
        wish: IngestOptions,
        *,
        missing: Sequence[tuple[str, DjinnError]] = (),
        agent: str | None = None,
        tell: Tell,
        ask: Ask,
    ) -> IngestReport:
        """Make documents of files; see `memories.ingest.ingest`."""
        from djinn_memory.memories.library.ingest import ingest

        chosen = self._state.home.agent(agent)
        return ingest(
            self._state, self._models, sources, wish, chosen,
            missing=missing, tell=tell, ask=ask, progress=self.runtime.progress,
        )  # fmt: skip

    @recovers
    def list(self, *, agent: str | None = None, vaults: Sequence[str] = ()) -> Entries:
        """The documents that `agent` sees, by file name, then the files that became none."""
        seen = self._scope(agent, Filters(vaults=tuple(vaults)))
        found = [self._entry(one) for one in catalog.filed(self._state.index, seen)]
        found.sort(key=lambda one: (one.filename.casefold(), one.vault, one.path or ""))
        return found + self._unfinished(seen)

    @recovers
    def show(self, name: str, *, page: int | None = None, agent: str | None = None) -> DocumentText:
        """A document, and its text or that of one page, as it stands on the disk now.

        `NotFound` for a page that it does not have.
        """
        found = self._document(name, agent)
        note = parse(found.path, disk.read(found.vault, found.path), found.vault.dialect)
        entry = self._entry(found)
        text = note.text[note.body :].strip("\n")
        if page is not None:
            there = {one.number: one for one in pages(note.text, note.body)}
            if page not in there:
                has = f"pages {min(there)} to {max(there)}" if there else "no pages"
                raise NotFound(f"no page {page} in {entry.filename}; it has {has}")
            text = note.text[there[page].start : there[page].end].strip("\n")
        return DocumentText(entry, page, text, tuple(catalog.history(found)))

    @recovers
    def find(self, name: str, *, agent: str | None = None) -> DocumentEntry:
        """The document that `name` means, or the file of that name that failed."""
        found = self._find(name, agent)
        return found if isinstance(found, DocumentEntry) else self._entry(found)

    @recovers
    def remove(
        self, name: str, *, agent: str | None = None, seen: DocumentEntry | None = None
    ) -> Paths:
        """Move a document, its original and its earlier versions to the vault's trash.

        A file that failed is forgotten. `Refused` when `name` means another document or version
        than the one that was `seen`. Returns where its files lie now.
        """
        from djinn_memory.indexing.refresh import read

        found = self._find(name, agent)
        if isinstance(found, DocumentEntry):
            [vault] = self._state.home.named((found.vault,))
            source = found.source or ""
            data = {"vault": vault.id, "name": found.filename, "source": source}
            event = Event("document.forgotten", catalog.subject(vault, source), data)
            self._state.ledger.append([event])
            return []
        if seen and (seen.document_id, seen.version) != (found.id, found.version):
            raise Refused(f"{seen.filename} has another version by now; look at it, then again")
        with self._state.vault_lock(found.vault):
            moved = catalog.remove(found)
        # It is gone, whether or not the index can be told now: a hit's file is looked for.
        with suppress(Unavailable):
            read(self._state, [found.vault], timeout=1)
        return moved

    @recovers
    def reprocess(
        self, name: str, wish: IngestOptions, *, agent: str | None = None
    ) -> ReprocessReport:
        """Cut a document as `wish` says, and index it; its text stays as it is in the note.

        `Refused` where that looks as if it held a secret, unless the wish allows it.
        """
        from djinn_memory.memories.library.ingest import index, plan_of
        from djinn_memory.memories.library.writer import plan_fields

        found = self._document(name, agent)
        if found.vault.read_only:
            raise Refused(f"vault {found.vault.name} is read-only; its notes are not changed")
        if wish.strategy is None:
            was = found.fields.get("chunk_strategy")
            wish = replace(wish, strategy=next((s for s in get_args(Strategy) if s == was), None))
        plan = plan_of(self._state.home, wish)

        def cut(data: bytes) -> bytes:
            note = parse(found.path, data, found.vault.dialect)
            guard(
                note.text,
                what=f"{found.vault.name}/{found.path}",
                settings=self._state.home.config.secrets,
                allow=wish.allow_secret,
            )
            fields = plan_fields(plan, note.text[note.body :], self._models.name)
            fields["processed_at"] = moment(datetime.now(UTC))
            for key, value in fields.items():
                if value is not None or key in found.fields:
                    data = frontmatter.edit(data, (key,), value)
            return data

        with self._state.vault_lock(found.vault):
            disk.edit(found.vault, found.path, cut)
        paths = {f"{found.vault.name}/{found.path}"}
        embedded, problems = index(
            self._state, self._models, found.vault, paths, self.runtime.progress
        )
        return ReprocessReport(self._entry(self._at(found)), embedded, tuple(problems))

    def _at(self, document: StoredDocument) -> StoredDocument:
        """The document as the index has it now."""
        for one in catalog.filed(self._state.index, [document.vault]):
            if one.path == document.path:
                return one
        raise NotFound(f"{document.vault.name}/{document.path} is gone")

    def _entry(self, document: StoredDocument) -> DocumentEntry:
        return catalog.entry(document, embeds=self._models.embedder is not None)

    def _find(self, name: str, agent: str | None) -> StoredDocument | DocumentEntry:
        seen = self._scope(agent, Filters())
        try:
            return catalog.find(catalog.filed(self._state.index, seen), name)
        except NotFound:
            failed = [
                one
                for one in self._unfinished(seen)
                if one.status == "failed" and name in (one.filename, one.source)
            ]
            if len(failed) > 1:
                places = ", ".join(f"{one.source} in {one.vault}" for one in failed)
                raise UsageError(
                    f"{name!r} could be any of: {places}; name one by its whole path"
                ) from None
            if failed:
                return failed[0]
            raise

    def _document(self, name: str, agent: str | None) -> StoredDocument:
        found = self._find(name, agent)
        if isinstance(found, DocumentEntry):
            raise NotFound(f"{name!r} is no document: it {found.reason}")
        return found

    def _unfinished(self, seen: Sequence[Vault]) -> Entries:
        ledger = self._state.ledger_if_any
        locks = self._state.home.state / "locks"
        return catalog.unfinished(ledger, locks, seen) if ledger else []
