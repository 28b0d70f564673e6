"""One run of `djinn ingest`: what it works on, and what the ledger is told of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct, field

from djinn_memory.chunking.strategies import Plan
from djinn_memory.documents.sources import Source
from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.memories.library.catalog import StoredDocument, said, source_of, subject
from djinn_memory.memories.library.requests import Ask, FileOutcome, IngestOptions, Tell
from djinn_memory.memories.library.versions import File
from djinn_memory.models import Vault
from djinn_memory.store.ledger import Event, uuid7
from djinn_memory.store.state import State


class FileJob(Struct, frozen=True):
    """A file to be read, and what it will be."""

    file: File
    replaces: StoredDocument | None
    twins: list[Source] = field(default_factory=list)
    """Files with the same bytes."""

    @property
    def source(self) -> Source:
        """The file."""
        return self.file.source


class IngestRun(Struct):
    """One run of ingest."""

    state: State
    models: ModelRegistry
    vault: Vault
    wish: IngestOptions
    plan: Plan
    tell: Tell
    ask: Ask
    id: str = field(default_factory=uuid7)
    began_ns: int = field(default_factory=time.time_ns)
    outcomes: list[FileOutcome] = field(default_factory=list)
    was: dict[str, str] = field(default_factory=dict)
    """By what the ledger calls a file: the id of the document that it last was."""
    settled: set[str] = field(default_factory=set)
    """What the ledger calls the files of which it knows that already."""

    def __post_init__(self) -> None:
        for event in self.state.ledger.latest("document"):
            if said(event, "vault") != self.vault.id:
                continue
            if said(event, "document"):
                self.was[event.subject] = said(event, "document")
            if event.kind == "document.done":
                self.settled.add(event.subject)

    @property
    def written(self) -> set[str | None]:
        """The paths of its documents."""
        return {one.path for one in self.outcomes if one.status == "ingested"}

    def settle(self, outcome: FileOutcome) -> None:
        """Say what became of a file."""
        self.outcomes.append(outcome)
        self.tell(outcome)

    def note(self, verb: str, sources: Sequence[Source], **data: str) -> None:
        """Write into the ledger what happens to files."""
        events = []
        for one in sources:
            source = source_of(one)
            told = {"source": source, "name": one.name, **data}
            key = subject(self.vault, source)
            if key in self.was:
                told.setdefault("document", self.was[key])
            self.settled.discard(key)
            common = {"vault": self.vault.id, "run": self.id}
            events.append(Event(f"document.{verb}", key, {**common, **told}))
        self.state.ledger.append(events)

    def done(self, source: Source, document: str | None) -> None:
        """Note that a file is a document, if that is news."""
        key = subject(self.vault, source_of(source))
        news = key not in self.settled
        if document and self.was.get(key) != document:
            self.was[key] = document
            news = True
        if news:
            self.note("done", [source])
            self.settled.add(key)
