"""A kind of proposal, and the data that its module needs to find and carry out proposals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, Refused
from djinn_memory.home import access
from djinn_memory.memories.changes.files import current
from djinn_memory.memories.proposals.log import Finding, RecordedProposal
from djinn_memory.memories.proposals.requests import Keep, ProposalStatus
from djinn_memory.memories.writing.change_set import ChangeSet
from djinn_memory.memories.writing.provenance import LEARNINGS_RULE
from djinn_memory.models import Filters, Problem, Vault
from djinn_memory.notes.note_file import content_hash
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.ledger import Event


class OtherSubject(Struct, frozen=True):
    """A subject that is no memory, such as a gap, as it is now."""

    title: str
    state: str


LiveSubject = IndexedMemory | OtherSubject | None


class LiveProposal(Struct, frozen=True):
    """A proposal with its subjects as they are now."""

    record: RecordedProposal
    subjects: tuple[LiveSubject, ...]
    """In the order of the record; None for a subject that no longer exists."""
    accepted: bool
    """Whether it was accepted, and the acceptance was not taken back."""

    @property
    def status(self) -> ProposalStatus:
        """The status: open only while the subjects are as they were when it was made.

        An acceptance that was taken back restores them, so the proposal is open again. It is
        withdrawn if they change later.
        """
        record = self.record
        states = tuple(map(_state, self.subjects))
        if record.dismissed in ((), states):
            return "dismissed"
        if states and states == record.states:
            return "open" if record.agents else "withdrawn"
        return "accepted" if self.accepted else "withdrawn"

    @property
    def memories(self) -> list[IndexedMemory]:
        """The subjects that are memories."""
        return [each for each in self.subjects if isinstance(each, IndexedMemory)]


def _state(subject: LiveSubject) -> str | None:
    if subject is None:
        return None
    return subject.hash if isinstance(subject, IndexedMemory) else subject.state


class Acceptance(Struct):
    """Carries out or dismisses proposals. Their changes of notes form one change set."""

    runtime: Runtime
    index: Index
    """The notes of all vaults in which proposals may be carried out."""
    changes: ChangeSet
    agent: str | None
    """The agent who decides; None for the user of the home."""
    keep: Keep | None = None
    """The side of a contradiction that holds."""
    done: list[LiveProposal] = field(default_factory=list)
    failed: list[tuple[LiveProposal, DjinnError | OSError]] = field(default_factory=list)
    """The proposals that cannot be carried out."""
    events: list[Event] = field(default_factory=list)
    """Events to write into the ledger with the acceptance."""
    joined: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """The vault and path of each merged note, with those of the note that it was merged into."""
    problems: list[Problem] = field(default_factory=list)
    """The notes that were left alone, and why; after the change also problems with indexing."""

    def vault(self, memory: IndexedMemory) -> Vault:
        """The vault of a memory."""
        return next(vault for vault in self.index.vaults if vault.name == memory.vault)

    def check(self, memory: IndexedMemory) -> bytes:
        """The bytes of a note, after the changes so far.

        Raises `Refused` if the note on the disk is not the one that the proposal is about.
        """
        vault = self.vault(memory)
        indexed = self.index.lookup([memory.memory_id], fields=()).get(memory.memory_id)
        same = indexed and (indexed.place, indexed.hash) == (memory.place, memory.hash)
        data = current(vault, memory.path) if same else None
        if data is None or content_hash(data).hex() != memory.hash:
            raise Refused(f"{vault.name}/{memory.path} was changed or removed since")
        content = self.changes.content(vault, memory.path)
        if content is None:
            raise Refused(f"{vault.name}/{memory.path} was removed by another proposal")
        return content


def notes_of(
    runtime: Runtime, agent: str | None, filters: Filters, now: datetime | None = None
) -> Selection | None:
    """The notes in vaults that djinn manages and may change for one agent, or with None for all.

    A proposal for a vault of one agent depends on nothing that this agent does not see. Proposals
    for other vaults depend on the notes of several agents, so they are for the user of the home.
    None if there is no such vault.
    """
    names = tuple(
        vault.name
        for vault in runtime.home.visible(agent)
        if vault.agent == agent and access.is_own(vault) and not vault.read_only
    )
    return Selection(replace(filters, vaults=names), now, whole_files=True) if names else None


def is_copy(memory: IndexedMemory) -> bool:
    """Whether a note is the copy of a learning that an agent shares, which follows its original."""
    return memory.field("rule") == LEARNINGS_RULE


class ProposalKind(Struct, frozen=True):
    """A kind of proposal."""

    name: str
    """The name, as `--kind` accepts it."""
    action: str
    """The effect of acceptance, in one sentence."""
    describe: Callable[[Sequence[str]], str]
    """The effect of an acceptance, in the past tense, from the titles of the subjects."""
    find: Callable[[Runtime, str | None], Sequence[Finding]]
    """Finds the proposals for one agent or, with None, for several agents: all current ones."""
    carry_out: Callable[[Acceptance, LiveProposal], None]
    """Adds the steps of an open proposal to an acceptance. Raises `DjinnError` if it cannot be
    carried out; its steps are then dropped."""
    clean_up: Callable[[Acceptance, LiveProposal], None] | None = None
    """Adds the steps of a dismissal, as `carry_out` does. By default it changes no note."""
    others: Callable[[Runtime, Collection[str]], Mapping[str, OtherSubject]] | None = None
    """Looks up subjects that are no memories, by name. Those that no longer exist are left out."""
