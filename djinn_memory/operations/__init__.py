"""The list of operations: every operation that a front end can offer, by name.

An operation is a method of `Djinn` or of one of its namespaces. It takes one request struct and
returns one answer struct. Front ends and schemas are made from this list. Listing imports no
operation.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from msgspec import Struct

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn
    from djinn_memory.runtime import OperationMethod


class Operation(Struct, frozen=True):
    """One operation and its flags."""

    name: str
    """The attribute path on `Djinn`, such as `gaps.close`."""
    writes: bool = False
    """Whether the operation writes to the memory."""
    logs: bool = False
    """Whether it records uses of memories or values, which affect later answers."""
    removes: bool = False
    """Whether the operation can remove memories."""
    rights: Literal["agent", "person"] = "agent"
    """Who may call the operation. `person` excludes it from servers for agents."""
    result: str = ""
    """The import path of the answer's type; empty if the method's module imports the type."""

    def load(self) -> OperationMethod[..., Any, Any]:
        """Import the method of the operation."""
        namespace, _, verb = self.name.rpartition(".")
        method: OperationMethod[..., Any, Any] = _imported(f"{_NAMESPACES[namespace]}.{verb}")
        return method

    @property
    def request(self) -> type[Struct]:
        """The type of the request."""
        kind: type[Struct] = self.load().request
        return kind

    @property
    def answer(self) -> type[Struct]:
        """The type of the answer."""
        kind: type[Struct] = (
            _imported(self.result) if self.result else get_type_hints(self.load().method)["return"]
        )
        return kind

    def bind(self, djinn: Djinn) -> Callable[[Struct], Any]:
        """The operation on an opened home: it takes a request and returns an `answer`."""
        bound: Callable[[Struct], Any] = attrgetter(self.name)(djinn)
        return bound


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return attrgetter(attribute)(import_module(module))


_MEMORIES = "djinn_memory.memories"
_NAMESPACES = {
    "": "djinn_memory.djinn:Djinn",
    "scores": f"{_MEMORIES}.recall.scores:Scores",
    "memories": f"{_MEMORIES}.verbs:Memories",
    "facts": f"{_MEMORIES}.facts.verbs:Facts",
    "contradictions": f"{_MEMORIES}.contradictions.verbs:Contradictions",
    "gaps": f"{_MEMORIES}.recall.gaps:Gaps",
    "documents": f"{_MEMORIES}.library.verbs:Documents",
    "summary": f"{_MEMORIES}.sessions.summary:Summaries",
    "sessions": f"{_MEMORIES}.sessions.verbs:Sessions",
    "entities": f"{_MEMORIES}.entities.verbs:Entities",
    "episodes": f"{_MEMORIES}.episodes.verbs:Episodes",
    "patterns": f"{_MEMORIES}.patterns.verbs:Patterns",
    "outcomes": f"{_MEMORIES}.patterns.outcomes:Outcomes",
    "working": f"{_MEMORIES}.working.verbs:WorkingMemory",
    "proposals": f"{_MEMORIES}.proposals.verbs:Proposals",
    "changes": f"{_MEMORIES}.changes.verbs:Changes",
    "agents": f"{_MEMORIES}.agents.verbs:Agents",
    "backups": "djinn_memory.upkeep.backup.verbs:Backups",
    "sync": "djinn_memory.sync.verbs:Sync",
}
"""The classes of operations, by the part of their names before the last dot."""

_REMEMBERED = f"{_MEMORIES}.writing.remember:RememberResult"

_LINTED = "djinn_memory.upkeep.lint:LintReport"

OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("remember", writes=True, result=_REMEMBERED),
        Operation("recall", logs=True, result=f"{_MEMORIES}.recall.recall:RecallResult"),
        Operation("context", logs=True),
        Operation("rate", writes=True, result=f"{_MEMORIES}.recall.rating:RatingResult"),
        Operation("search"),
        Operation("scores.show"),
        Operation("memories.list"),
        Operation("memories.find"),
        Operation("memories.show", logs=True),
        Operation("memories.links"),
        Operation("memories.delete", writes=True, removes=True),
        Operation("memories.restore", writes=True),
        Operation("memories.purge", writes=True, removes=True, rights="person"),
        Operation("memories.stats"),
        Operation("memories.values"),
        Operation("facts.set", writes=True),
        Operation("facts.get"),
        Operation("facts.list"),
        Operation("facts.search"),
        Operation("facts.forget", writes=True, removes=True),
        Operation("facts.verify", writes=True),
        Operation("entities.add", writes=True),
        Operation("entities.list"),
        Operation("entities.show"),
        Operation("entities.resolve"),
        Operation("entities.set", writes=True),
        Operation("entities.alias", writes=True),
        Operation("entities.merge", writes=True),
        Operation("entities.split", writes=True),
        Operation("entities.remove", writes=True, removes=True),
        Operation("agents.profile"),
        Operation("agents.set", writes=True),
        Operation("agents.unset", writes=True),
        Operation("contradictions.list"),
        Operation("contradictions.settle", writes=True),
        Operation("gaps.report", writes=True),
        Operation("gaps.list"),
        Operation("gaps.close", writes=True),
        Operation("gaps.reopen", writes=True),
        Operation("gaps.suggest"),
        Operation("documents.ingest", writes=True),
        Operation("documents.list"),
        Operation("documents.show"),
        Operation("documents.find"),
        Operation("documents.remove", writes=True, removes=True),
        Operation("documents.reprocess", writes=True),
        Operation("wake", logs=True),
        Operation("checkpoint", writes=True, result=_REMEMBERED),
        Operation("sleep", writes=True, result=_REMEMBERED),
        Operation("sessions.start", logs=True),
        Operation("sessions.end", logs=True),
        Operation("sessions.list"),
        Operation("sessions.history"),
        Operation("sessions.extract", writes=True),
        Operation("index", rights="person"),
        Operation("status", rights="person", result="djinn_memory.upkeep.status:HomeStatus"),
        Operation("maintain", writes=True, rights="person"),
        Operation("doctor", rights="person"),
        Operation("lint", writes=True, rights="person", result=_LINTED),
        Operation("proposals.list", rights="person"),
        Operation("proposals.show", rights="person"),
        Operation("proposals.accept", writes=True, rights="person"),
        Operation("proposals.dismiss", writes=True, rights="person"),
        Operation("changes.list"),
        Operation("changes.undo", writes=True),
        Operation("backups.create", rights="person"),
        Operation("sync.init", rights="person"),
        Operation("sync.migrate", rights="person"),
        Operation("sync.status", rights="person"),
        Operation("sync.forget", removes=True, rights="person"),
        Operation("sync.run", writes=True, removes=True, rights="person"),
        Operation("sync.pull", writes=True, removes=True, rights="person"),
        Operation("sync.push", rights="person"),
        Operation("sync.conflicts", rights="person"),
        Operation("sync.verify", rights="person"),
        Operation("sync.backfill", rights="person"),
        Operation("sync.stats", rights="person"),
        Operation("sync.facts", rights="person"),
        Operation("summary.show"),
        Operation("summary.set", writes=True, removes=True),
        Operation("summary.build", writes=True, removes=True),
        Operation("episodes.record_interaction", writes=True),
        Operation("episodes.record_observation", writes=True),
        Operation("episodes.mark", logs=True),
        Operation("episodes.list"),
        Operation("episodes.show"),
        Operation("episodes.stats"),
        Operation("patterns.consolidate", writes=True),
        Operation("patterns.list"),
        Operation("patterns.show"),
        Operation("patterns.correlations"),
        Operation("outcomes.record", writes=True),
        Operation("outcomes.list"),
        Operation("import_history", writes=True, rights="person"),
        Operation("working.set", writes=True),
        Operation("working.get", logs=True),
        Operation("working.list"),
        Operation("working.clear", writes=True, removes=True),
        Operation("working.share", writes=True),
        Operation("working.step", writes=True),
        Operation("working.tasks"),
        Operation("working.resume"),
    )
}
