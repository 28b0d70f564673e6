"""A kind of proposal, and what its module needs to make proposals and to carry them out."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct, field

from djinn_memory.errors import Refused
from djinn_memory.home import access
from djinn_memory.memories.changes.files import current
from djinn_memory.memories.writing import sharing
from djinn_memory.memories.writing.change_set import ChangeSet
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.note_file import content_hash
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import Event

_DAY = re.compile(r"\d{4}[-_.]?[01]\d[-_.]?[0-3]\d")


class Finding(Struct, frozen=True):
    """What a kind proposes."""

    subjects: tuple[tuple[str, str], ...]
    """What it is about: the name in the ledger and the state of each. The name of a memory is that
    of `ledger_name`, and its state is the hash of its text. The order does not matter for the id.
    """
    reason: str
    """Why, in one sentence. It names no note and quotes none, so that it stays after a purge."""
    evidence: tuple[str, ...] = ()
    """The figures behind the reason, such as `cosine 0.951`. The first is shown in lists."""
    vault: str | None = None
    """The id of the vault of its memories; None if they are in several."""
    agent: str | None = None
    """The agent who may see the proposal. None if it depends on what several agents know; then it
    is shown for the whole home only."""


class OtherSubject(Struct, frozen=True):
    """A subject that is no memory, such as a gap, as it is now."""

    title: str
    state: str


class Acceptance(Struct):
    """Carries out proposals. Their changes of notes form one change set."""

    runtime: Runtime
    index: Index
    """The notes of all vaults in which proposals may be carried out."""
    changes: ChangeSet
    agent: str | None
    """The agent who accepts; None for the user of the home."""
    events: list[Event] = field(default_factory=list)
    """Events to write into the ledger with the acceptance."""
    joined: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """The vault and path of each merged note, with those of the note that it was merged into."""
    problems: list[Problem] = field(default_factory=list)
    """What was left alone, and why."""

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


def vaults_of(runtime: Runtime, agent: str | None) -> list[Vault]:
    """The vaults that djinn manages and may change for one agent, or with None for all agents.

    What is proposed for a vault of one agent depends on nothing that this agent does not see. What
    is proposed for others depends on what several agents know, so it is for the user of the home.
    """
    return [
        vault
        for vault in runtime.home.visible(agent)
        if vault.agent == agent and access.is_own(vault) and not vault.read_only
    ]


def is_diary(memory: IndexedMemory) -> bool:
    """Whether a note tells of the day in its path."""
    return memory.type is None and bool(_DAY.search(memory.path))


def is_copy(memory: IndexedMemory) -> bool:
    """Whether a note is the copy of a learning that an agent shares, which follows its original."""
    return memory.field("rule") == sharing.RULE


def no_others(runtime: Runtime, names: Collection[str]) -> Mapping[str, OtherSubject]:
    """For kinds whose subjects are all memories."""
    return {}


class ProposalKind(Struct, frozen=True):
    """A kind of proposal."""

    name: str
    """The name, as `--kind` accepts it."""
    action: str
    """What acceptance does, in one sentence."""
    describe: Callable[[Sequence[str]], str]
    """What an acceptance did, in the past tense, from the titles of the subjects."""
    carry_out: Callable[[Acceptance, Sequence[IndexedMemory], Sequence[str]], None]
    """Adds the steps of a proposal to an acceptance, from its memories and the names of its other
    subjects. Raises `DjinnError` if it cannot be carried out; its steps are then dropped."""
    others: Callable[[Runtime, Collection[str]], Mapping[str, OtherSubject]] = no_others
    """Looks up subjects that are no memories, by name. Those that no longer exist are left out."""
