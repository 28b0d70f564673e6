"""One run of ingest: its files, their outcomes, and its events in the ledger."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Literal

from msgspec import Struct, field

from djinn_memory.chunking.strategies import Plan
from djinn_memory.documents.office import EXTRA
from djinn_memory.documents.pdf.engines import find_ocrmypdf
from djinn_memory.documents.read import VERSION
from djinn_memory.documents.sources import Source
from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.memories.library.catalog import (
    StoredDocument,
    document_events,
    source_of,
    subject,
    text_of,
)
from djinn_memory.memories.library.requests import (
    AskPassword,
    FileOutcome,
    IngestCallback,
    IngestOptions,
    IngestReport,
)
from djinn_memory.models import Problem, Vault
from djinn_memory.store.ledger import Event, uuid7
from djinn_memory.store.state import State


class IngestFile(Struct, frozen=True):
    """A file to read, and the document that it replaces."""

    source: Source
    sha256: str
    size: int
    last_id: str | None
    """The id of the last document from this file, if any."""
    label: str
    """The name of its note if it becomes a new document."""
    replaces: StoredDocument | None = None
    duplicates: list[Source] = field(default_factory=list)
    """Files with identical content."""


class IngestRun(Struct, dict=True):
    """One run of ingest."""

    state: State
    models: ModelRegistry
    vault: Vault
    options: IngestOptions
    plan: Plan
    tell: IngestCallback
    ask: AskPassword
    id: str = field(default_factory=uuid7)
    began_ns: int = field(default_factory=time.time_ns)
    outcomes: list[FileOutcome] = field(default_factory=list)
    last_ids: dict[str, str] = field(default_factory=dict)
    """The id of the last document from a file, by the ledger's name for the file."""
    settled: set[str] = field(default_factory=set)
    """The ledger's names for the files that are recorded as documents."""
    failures: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The last failed `attempt` and its reason, by the ledger's name for a file."""

    def __post_init__(self) -> None:
        for _, event in document_events(self.state, [self.vault]):
            if document := text_of(event, "document"):
                self.last_ids[event.subject] = document
            if event.kind == "document.done":
                self.settled.add(event.subject)
            if event.kind == "document.failed":
                self.failures[event.subject] = text_of(event, "attempt"), text_of(event, "why")

    def attempt(self, file: IngestFile) -> str:
        """A key for the bytes of a file and the conditions under which it is read."""
        return hashlib.sha256(f"{file.sha256} {self._conditions}".encode()).hexdigest()[:16]

    @cached_property
    def domain(self) -> str | None:
        """The domain of new documents: that of the options, or else the default of the vault."""
        home = self.state.home
        return home.domain_to_write(self.vault, home.agent(self.options.agent), self.options.domain)

    @cached_property
    def _conditions(self) -> str:
        """The conditions, apart from the bytes of a file, that decide whether it can be read."""
        config, options = self.state.home.config, self.options
        missing = [find_spec(module) is None for module in EXTRA]
        conditions = (VERSION, options.ocr, options.allow_secret, options.title, config.documents)
        return repr((*conditions, config.secrets, find_ocrmypdf(), missing))

    def failed_before(self, file: IngestFile) -> str | None:
        """The reason why a file failed under the same conditions; None if it should be read."""
        attempt, why = self.failures.get(subject(self.vault, source_of(file.source)), ("", ""))
        if not attempt or self.options.retry or self.options.password:
            return None
        return why if attempt == self.attempt(file) else None

    @property
    def written(self) -> set[str | None]:
        """The paths of its documents."""
        return {outcome.path for outcome in self.outcomes if outcome.status == "ingested"}

    def settle(self, outcome: FileOutcome) -> None:
        """Report the outcome of a file."""
        self.outcomes.append(outcome)
        self.tell(outcome)

    def skip(self, source: Source, why: str, document: str | None = None) -> None:
        """Report a file that is already a document."""
        self.done(source, document)
        self.report_file(source, "skipped", why)

    def fail(self, source: Source, why: str, attempt: str = "") -> None:
        """Report a file that failed. It is not read again for the same `attempt`."""
        self.record("failed", [source], why=why, attempt=attempt)
        self.report_file(source, "failed", why)

    def report_file(self, source: Source, status: Literal["skipped", "failed"], why: str) -> None:
        """Report a file without a record in the ledger."""
        file = str(source.path) if source.lasting else source.name
        vault = self.vault.name if status == "skipped" else None
        self.settle(FileOutcome(file, source.name, status, why, vault=vault))

    def record(self, verb: str, sources: Sequence[Source], **data: str) -> None:
        """Record events for files in the ledger."""
        events = []
        for source in sources:
            name = source_of(source)
            key = subject(self.vault, name)
            self.settled.discard(key)
            fields = {"vault": self.vault.id, "run": self.id, "source": name, "name": source.name}
            if self.domain is not None:
                fields["domain"] = self.domain
            if key in self.last_ids:
                fields["document"] = self.last_ids[key]
            events.append(Event(f"document.{verb}", key, {**fields, **data}))
        self.state.ledger.append(events)

    def done(self, source: Source, document: str | None) -> None:
        """Record that a file is a document, unless the ledger already has this."""
        key = subject(self.vault, source_of(source))
        changed = bool(document) and self.last_ids.get(key) != document
        if document and changed:
            self.last_ids[key] = document
        if changed or key not in self.settled:
            self.record("done", [source])
            self.settled.add(key)

    def report(self, embedded: int, seconds: float, problems: Sequence[Problem]) -> IngestReport:
        """The outcome of all files."""
        counts = Counter(outcome.status for outcome in self.outcomes)
        return IngestReport(
            done=counts["ingested"],
            skipped=counts["skipped"],
            failed=counts["failed"],
            documents=tuple(self.outcomes),
            embedded=embedded,
            seconds=seconds,
            problems=tuple(problems),
        )
