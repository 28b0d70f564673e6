"""The narrative summary of what an agent knows, which `wake` puts first: one note per agent."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, NotFound, Refused, UsageError
from djinn_memory.memories.facts.queries import indexed_facts
from djinn_memory.memories.sessions.standing import MemoryExcerpt, StandingMemories
from djinn_memory.memories.sessions.summarize import summarize_by_model, told
from djinn_memory.memories.writing.remember import remember
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Filters, Problem
from djinn_memory.notes.note import parse
from djinn_memory.notes.slugs import fold
from djinn_memory.notes.vault import files as disk
from djinn_memory.runtime import Namespace
from djinn_memory.secrets import mask
from djinn_memory.store.recovery import recovers
from djinn_memory.store.sqlite import rows

if TYPE_CHECKING:
    pass

TYPE, TITLE = "summary", "Summary"

By = Literal["hand", "djinn", "model"]


class NarrativeSummary(Struct, frozen=True):
    """The summary as it is now."""

    id: str | None
    """`mem_` and 16 characters; null for a note that has none."""
    vault: str
    """The name of the vault it is in."""
    path: str
    """Its note, relative to the folder of the vault."""
    text: str
    """What it says."""
    by: By
    """Who wrote it: a person or an agent, `djinn summary build`, or that by a chat model."""


class SummaryChange(Struct, frozen=True):
    """What became of a summary that was set or built."""

    action: Literal["created", "revised", "unchanged"]
    """`revised`: the version before is kept."""
    summary: NarrativeSummary
    """As it is now."""
    previous: str | None = None
    """Where the version before lies, relative to the folder of the vault."""
    problems: list[Problem] = field(default_factory=list)
    """What went wrong beside."""


class Summaries(Namespace):
    """The summaries of a home's agents."""

    @recovers
    def show(self, *, agent: str | None = None) -> NarrativeSummary:
        """The summary; `NotFound` where there is none yet."""
        found = self._found(self._state.home.agent(agent), datetime.now(UTC))
        if found is None:
            raise NotFound("no summary yet; `djinn summary build` makes one")
        return found

    @recovers
    def set(
        self,
        text: str,
        *,
        agent: str | None = None,
        allow_secret: bool = False,
        now: datetime | None = None,
    ) -> SummaryChange:
        """Put a text in the place of the summary, whose version before is kept."""
        if not text.strip():
            raise UsageError("a summary says something; give a text")
        chosen = self._state.home.agent(agent)
        return self._write(chosen, text, {}, allow_secret, now or datetime.now(UTC))

    @recovers
    def build(
        self, *, agent: str | None = None, force: bool = False, now: datetime | None = None
    ) -> SummaryChange:
        """Make the summary from facts, preferences, active projects and open commitments.

        By the chat model of the settings where they name one, else without. `Refused` where it was
        written or changed by hand, without `force`. Secrets that were allowed stand masked in it.
        """
        now = now or datetime.now(UTC)
        chosen = self._state.home.agent(agent)
        before = self._found(chosen, now)
        if before and before.by == "hand" and not force:
            raise Refused(
                f"{before.vault}/{before.path} was written by hand; give --force to build another "
                "in its place (it is kept), or change it with `djinn summary set`"
            )
        vaults = self._state.home.scope(chosen)
        facts = [one for one in indexed_facts(self._state, vaults, now) if not one.expired]
        text = mask(told(facts, StandingMemories(self._state, chosen, now), now))
        if not text:
            raise NotFound("nothing to build a summary from; `djinn fact set` and `remember` first")
        problems: list[Problem] = []
        by: By = "djinn"
        config = self._state.home.config.llm
        if config.model:
            try:
                text, by = mask(summarize_by_model(config, text)), "model"
            except DjinnError as error:
                why = f"{error}; the summary was built without it"
                problems.append(Problem("llm", why))
        done = self._write(chosen, text, {"built": _mark(text), "built_by": by}, False, now)
        return replace(done, problems=[*done.problems, *problems])

    def _write(
        self, agent: str, text: str, fields: dict[str, str], allow_secret: bool, now: datetime
    ) -> SummaryChange:
        vault = self._state.home.personal(agent)
        before = self._found(agent, now)
        text = text.replace("\r\n", "\n").strip()
        if before and before.text == text:
            return SummaryChange("unchanged", before)
        for (path,) in rows(
            self._state.index,
            "select path from memory join note on note.id = note_id join vault on "
            "vault.id = vault_id where uuid = ? and title = ? and type is not ?",
            (vault.id, TITLE, TYPE),
        ):
            raise Refused(f"{vault.name}/{path} is called {TITLE!r} and is none; rename it first")
        wish = NewMemory(
            TYPE, TITLE, text,
            fields=fields, existing="revise", force=True, allow_secret=allow_secret, agent=agent,
        )  # fmt: skip
        done = remember(self._state, self._models, wish, now)
        made = self._found(agent, now)
        if made is None or made.path != done.path:
            made = NarrativeSummary(done.id, done.vault, done.path, text, _by(text, fields))
        action: Literal["created", "revised"] = "revised" if done.previous else "created"
        return SummaryChange(action, made, done.previous, list(done.problems))

    def _found(self, agent: str, now: datetime) -> NarrativeSummary | None:
        self._scope(agent, Filters())
        brief: MemoryExcerpt | None = StandingMemories(self._state, agent, now).summary()
        if brief is None:
            return None
        [vault] = self._state.home.named((brief.vault,))
        note = parse(brief.path, disk.read(vault, brief.path), vault.dialect)
        text = note.text[note.body :].strip()
        by = _by(text, dict(note.fields))
        return NarrativeSummary(note.id, brief.vault, brief.path, text, by)


def _by(text: str, fields: dict[str, str]) -> By:
    if fields.get("built") != _mark(text):
        return "hand"
    return "model" if fold(fields.get("built_by", "")) == "model" else "djinn"


def _mark(text: str) -> str:
    """By what a summary is known again that nobody has changed since it was built."""
    data = "\n".join(line.rstrip() for line in text.strip().splitlines()).encode("utf-8", "replace")
    return f"b{hashlib.blake2b(data, digest_size=8).hexdigest()}"
