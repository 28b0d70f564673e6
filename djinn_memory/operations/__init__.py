"""The list of operations: every verb that a front end can offer, by name.

An operation is a method of `Djinn` or of one of its namespaces. It takes one request struct and
returns one answer struct. Front ends and schemas are made from this list; listing it imports no
operation.
"""

from __future__ import annotations

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
    path: str
    """The import path of the method: `package.module:Class.method`."""
    writes: bool = False
    """Whether it writes into the memory."""
    removes: bool = False
    """Whether it can take away what was remembered."""
    rights: Literal["agent", "person"] = "agent"
    """Who may ask for it: `person` keeps it off servers that agents talk to."""
    result: str = ""
    """The import path of the answer's type; empty if the module of the method imports that."""

    def load(self) -> OperationMethod[..., Any, Any]:
        """Import the method."""
        method: OperationMethod[..., Any, Any] = _imported(self.path)
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

    def run(self, djinn: Djinn, request: Struct) -> Any:
        """Run it on an opened home; the answer is of type `answer`."""
        return attrgetter(self.name)(djinn)(request)


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return attrgetter(attribute)(import_module(module))


_DJINN = "djinn_memory.djinn:Djinn"
_REMEMBER = "djinn_memory.memories.writing.remember"
_RECALL = "djinn_memory.memories.recall"
_MEMORIES = "djinn_memory.memories.verbs:Memories"
_FACTS = "djinn_memory.memories.facts.verbs:Facts"
_WORKING = "djinn_memory.memories.working.verbs:WorkingMemory"
_DOCUMENTS = "djinn_memory.memories.library.verbs:Documents"
_SUMMARY = "djinn_memory.memories.sessions.summary:Summaries"
_GAPS = f"{_RECALL}.gaps:Gaps"

OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation(
            "remember", f"{_DJINN}.remember", writes=True, result=f"{_REMEMBER}:RememberResult"
        ),
        Operation("recall", f"{_DJINN}.recall", result=f"{_RECALL}.recall:RecallResult"),
        Operation("rate", f"{_DJINN}.rate", writes=True, result=f"{_RECALL}.rating:RatingResult"),
        Operation("search", f"{_DJINN}.search"),
        Operation("scores.show", f"{_RECALL}.scores:Scores.show"),
        Operation("memories.list", f"{_MEMORIES}.list"),
        Operation("memories.find", f"{_MEMORIES}.find"),
        Operation("memories.show", f"{_MEMORIES}.show"),
        Operation("memories.links", f"{_MEMORIES}.links"),
        Operation("memories.delete", f"{_MEMORIES}.delete", writes=True, removes=True),
        Operation(
            "memories.purge", f"{_MEMORIES}.purge", writes=True, removes=True, rights="person"
        ),
        Operation("memories.stats", f"{_MEMORIES}.stats"),
        Operation("memories.values", f"{_MEMORIES}.values"),
        Operation("facts.set", f"{_FACTS}.set", writes=True),
        Operation("facts.get", f"{_FACTS}.get"),
        Operation("facts.list", f"{_FACTS}.list"),
        Operation("facts.search", f"{_FACTS}.search"),
        Operation("facts.forget", f"{_FACTS}.forget", writes=True, removes=True),
        Operation("facts.verify", f"{_FACTS}.verify", writes=True),
        Operation("gaps.report", f"{_GAPS}.report", writes=True),
        Operation("gaps.list", f"{_GAPS}.list"),
        Operation("gaps.close", f"{_GAPS}.close", writes=True),
        Operation("gaps.suggest", f"{_GAPS}.suggest"),
        Operation("documents.ingest", f"{_DOCUMENTS}.ingest", writes=True, rights="person"),
        Operation("documents.list", f"{_DOCUMENTS}.list"),
        Operation("documents.show", f"{_DOCUMENTS}.show"),
        Operation("documents.find", f"{_DOCUMENTS}.find"),
        Operation("documents.remove", f"{_DOCUMENTS}.remove", writes=True, removes=True),
        Operation("documents.reprocess", f"{_DOCUMENTS}.reprocess", writes=True),
        Operation("wake", f"{_DJINN}.wake"),
        Operation(
            "checkpoint", f"{_DJINN}.checkpoint", writes=True, result=f"{_REMEMBER}:RememberResult"
        ),
        Operation("sleep", f"{_DJINN}.sleep", writes=True, result=f"{_REMEMBER}:RememberResult"),
        Operation("index", f"{_DJINN}.index"),
        Operation("status", f"{_DJINN}.status", result="djinn_memory.upkeep.status:HomeStatus"),
        Operation("maintain", f"{_DJINN}.maintain", writes=True),
        Operation("doctor", f"{_DJINN}.doctor"),
        Operation("summary.show", f"{_SUMMARY}.show"),
        Operation("summary.set", f"{_SUMMARY}.set", writes=True, removes=True),
        Operation("summary.build", f"{_SUMMARY}.build", writes=True, removes=True),
        Operation("working.set", f"{_WORKING}.set", writes=True),
        Operation("working.get", f"{_WORKING}.get"),
        Operation("working.list", f"{_WORKING}.list"),
        Operation("working.clear", f"{_WORKING}.clear", writes=True, removes=True),
        Operation("working.share", f"{_WORKING}.share", writes=True),
        Operation("working.step", f"{_WORKING}.step", writes=True),
        Operation("working.tasks", f"{_WORKING}.tasks"),
        Operation("working.resume", f"{_WORKING}.resume"),
    )
}
