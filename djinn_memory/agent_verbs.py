"""What an agent does with its memory, from `wake` to `sleep`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from djinn_memory.models import Filters, Problem
from djinn_memory.runtime import Namespace
from djinn_memory.store.recovery import recovers

if TYPE_CHECKING:
    from djinn_memory.memories.catalog.catalog import MemoryEntry
    from djinn_memory.memories.facts.verbs import Facts
    from djinn_memory.memories.recall.audit import ToolCall
    from djinn_memory.memories.recall.gaps import Gaps
    from djinn_memory.memories.recall.rating import RatingResult
    from djinn_memory.memories.recall.recall import RecallResult
    from djinn_memory.memories.recall.scores import MemoryScore
    from djinn_memory.memories.sessions.summary import Summaries
    from djinn_memory.memories.sessions.wake import WakeContext
    from djinn_memory.memories.working.verbs import WorkingMemory
    from djinn_memory.memories.writing.drafts import Existing
    from djinn_memory.memories.writing.remember import RememberResult


class AgentVerbs(Namespace):
    """The verbs of an agent, over one home."""

    @recovers
    def remember(
        self,
        type: str,
        title: str,
        text: str = "",
        *,
        agent: str | None = None,
        shared: bool = False,
        tags: Sequence[str] = (),
        links: Sequence[str] = (),
        importance: float | None = None,
        confidence: float | None = None,
        source: str | None = None,
        expires: str | None = None,
        due: str | None = None,
        supersedes: str | None = None,
        fields: Mapping[str, object] | None = None,
        existing: Existing = "refuse",
        force: bool = False,
        allow_secret: bool = False,
    ) -> RememberResult:
        """Write a memory as a note, which the next search finds.

        Into the vault of `agent`, or the `shared` one. `Refused` where its title is there and
        `existing` does not say what to do; without `force` where what `agent` sees says nearly
        the same; without `allow_secret` where it looks like a secret.
        """
        from djinn_memory.memories.writing.drafts import NewMemory
        from djinn_memory.memories.writing.remember import remember

        name = self.runtime.home.agent(agent)
        vault = self.runtime.home.shared if shared else self.runtime.home.personal(name)
        wish = NewMemory(
            type, title, text, tags, links, importance, confidence, source, expires, due,
            supersedes, fields or {}, existing, force, allow_secret,
        )  # fmt: skip
        return remember(self._state, self._models, vault, self.runtime.home.scope(name), wish)

    @recovers
    def recall(
        self,
        query: str,
        filters: Filters | None = None,
        *,
        agent: str | None = None,
        profile: str | None = None,
        limit: int | None = None,
        budget: int | None = None,
        session: str | None = None,
        source: str = "recall",
    ) -> RecallResult:
        """Whole memories that answer `query`, up to `budget` tokens; logged, so they can be rated.

        A search, weighed by what the agent used and rated, by what notes say of themselves and by
        the `profile`. `source` names the verb that asks. Where the ledger cannot be written it
        answers all the same, with a problem. `UsageError` for a profile that is not there.
        """
        from djinn_memory.memories.recall.recall import RecallOptions, recall

        wish = RecallOptions(profile, limit, budget, session, source=source)
        chosen = self.runtime.home.agent(agent)
        return recall(self._state, self._models, query, filters or Filters(), chosen, wish)

    @recovers
    def rate(
        self,
        target: str | None = None,
        *,
        useful: Sequence[int | str] = (),
        not_useful: Sequence[int | str] = (),
        gap: str | None = None,
        gap_query: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> RatingResult:
        """Say what of a recall was useful, by rank or name, and what was missing.

        `target` is `last` or a request's id; without one and without ranks, memories are rated by
        themselves. What is not named is not judged; who rates again corrects. `UsageError` for a
        rank or memory that was not in the recall, with those that were.
        """
        from djinn_memory.memories.catalog.catalog import find
        from djinn_memory.memories.recall.rating import RatingRequest, rate

        def named(name: str) -> MemoryEntry:
            return find(self.runtime.connection, name, self._scope(chosen, Filters()))

        chosen = self.runtime.home.agent(agent)
        wish = RatingRequest(target, useful, not_useful, gap, gap_query, session)
        return rate(self._state, named, chosen, wish)

    @recovers
    def score(self, name: str | None = None, *, agent: str | None = None) -> Sequence[MemoryScore]:
        """The score of a memory with every number behind it; without a name, all that are scored.

        Those are the memories that the agent used or rated, the last first.
        """
        from djinn_memory.memories.catalog.catalog import entry_of, find
        from djinn_memory.memories.recall.scores import rated, scored

        chosen = self.runtime.home.agent(agent)
        vaults = self._scope(chosen, Filters())
        if name is not None:
            return scored(self._state, [find(self.runtime.connection, name, vaults)], chosen)
        notes = rated(self._state, vaults, chosen)
        return scored(
            self._state, [entry_of(self.runtime.connection, one, vaults) for one in notes], chosen
        )

    @cached_property
    def gaps(self) -> Gaps:
        """What agents looked for in vain."""
        from djinn_memory.memories.recall.gaps import Gaps

        return Gaps(self.runtime)

    @cached_property
    def facts(self) -> Facts:
        """What is known under a category and a key."""
        from djinn_memory.memories.facts.verbs import Facts

        return Facts(self.runtime)

    @cached_property
    def summary(self) -> Summaries:
        """What is told first when an agent wakes."""
        from djinn_memory.memories.sessions.summary import Summaries

        return Summaries(self.runtime)

    @cached_property
    def working(self) -> WorkingMemory:
        """Values that expire, and tasks."""
        from djinn_memory.memories.working.verbs import WorkingMemory

        return WorkingMemory(self.runtime)

    @recovers
    def wake(
        self,
        *,
        agent: str | None = None,
        task: str | None = None,
        budget: int = 2000,
        session: str | None = None,
    ) -> WakeContext:
        """The context for `agent` to start with, in `budget` tokens as Markdown; opens a session.

        What the `task` recalls is logged, so that it can be rated. Where the ledger cannot be
        written it answers all the same, with a problem.
        """
        from datetime import UTC, datetime

        from djinn_memory.memories.sessions.context_markdown import fit_to_budget
        from djinn_memory.memories.sessions.wake import wake

        name = self.runtime.home.agent(agent)
        if not task:
            # What the task recalls looks around by itself.
            self._scope(name, Filters())
        awake = wake(
            self._state, self._models, name, task=task, budget=budget, session=session,
            now=datetime.now(UTC),
        )  # fmt: skip
        return fit_to_budget(awake, budget)

    def checkpoint(
        self,
        text: str,
        *,
        agent: str | None = None,
        focus: str | None = None,
        decisions: Sequence[str] = (),
        session: str | None = None,
        allow_secret: bool = False,
    ) -> RememberResult:
        """Write down where the work stands, in a note of its own."""
        parts = {"Focus": [focus] if focus else [], "Decisions": decisions}
        return self._mark("checkpoint", text, parts, agent, session, allow_secret)

    def sleep(
        self,
        summary: str,
        *,
        agent: str | None = None,
        following: Sequence[str] = (),
        blocked: Sequence[str] = (),
        session: str | None = None,
        allow_secret: bool = False,
    ) -> RememberResult:
        """End a session with a handoff for the next one, in a note of its own."""
        parts = {"Next": following, "Blocked": blocked}
        return self._mark("handoff", summary, parts, agent, session, allow_secret)

    @recovers
    def _mark(
        self,
        kind: Literal["checkpoint", "handoff"],
        text: str,
        parts: Mapping[str, Sequence[str]],
        agent: str | None,
        session: str | None,
        allow_secret: bool,
    ) -> RememberResult:
        from datetime import UTC, datetime

        from djinn_memory.memories.recall.session_log import mark

        return mark(
            self._state, self._models, self.runtime.home.agent(agent), kind, text, parts,
            session=session, allow_secret=allow_secret, now=datetime.now(UTC),
        )  # fmt: skip

    def audit(self, call: ToolCall) -> Problem | None:
        """Write down what a client asked of a server; what keeps it from that is no failure."""
        from djinn_memory.memories.recall.audit import record

        return record(self._state, call)
