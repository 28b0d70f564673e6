"""Requests of recalls and ratings. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from djinn_memory.memories.catalog.requests import MOST_BUDGET
from djinn_memory.operations.checks import RawName, RawText
from djinn_memory.search.narrowing import AgentName, Narrowing
from djinn_memory.search.query import Hops

MOST = 1_000
"""Maximum number of memories in one recall."""

LEAST_BUDGET = 50
"""In tokens: a smaller budget holds no memory."""

LONGEST_GAP = 2_000
"""Maximum characters of the description of a gap. A gap is a sentence or two."""

RankOrName = (
    Annotated[int, Meta(ge=1, le=MOST)] | Annotated[RawText, Meta(min_length=1, max_length=1000)]
)
"""The rank of a memory in a recall, or its name."""

Session = Annotated[RawName | None, Meta(description="The session. Default: the current session.")]
Sentence = Annotated[RawText, Meta(min_length=1, max_length=LONGEST_GAP)]
_Memories = Annotated[Sequence[RankOrName], Meta(max_length=1000)]


class RecallOptions(Narrowing, frozen=True):
    """Recall memories that help with a question, best first.

    A recall is a search whose scores are adjusted by the agent's uses and ratings and by fields of
    the notes. It is logged, so that it can be rated.
    """

    query: Annotated[RawText, Meta(max_length=20_000, description="A question or words.")]
    profile: Annotated[
        Annotated[str, Meta(max_length=64)] | None,
        Meta(
            description="The purpose of the recall: default, planning, incident, handoff, "
            "your own profile, or auto, which chooses by the question."
        ),
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=MOST)] | None,
        Meta(description="The maximum number of memories."),
    ] = None
    budget: Annotated[
        Annotated[int, Meta(ge=LEAST_BUDGET, le=MOST_BUDGET)] | None,
        Meta(description="The maximum number of tokens of text."),
    ] = None
    session: Session = None
    wide: Annotated[
        bool,
        Meta(
            description="Answer for a wide subject: with summaries of the communities of linked "
            "memories around the best ones."
        ),
    ] = False
    hops: Hops = None


class RatingRequest(Struct, frozen=True):
    """Rate the memories of a recall, so that later recalls improve.

    Memories that are not named are not judged. Negative ratings count from the third on. Rating the
    same recall again corrects the earlier rating.
    """

    target: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        Meta(
            description="`last`, or the request_id of a recall. Without it, ranks are those of "
            "the last recall, and names are those of any memory."
        ),
    ] = None
    useful: Annotated[
        _Memories, Meta(description="Ranks or names of the memories that helped.")
    ] = ()
    not_useful: Annotated[
        _Memories, Meta(description="Ranks or names of the memories that did not help.")
    ] = ()
    gap: Annotated[
        Sentence | None, Meta(description="What was missing, in one self-contained sentence.")
    ] = None
    gap_query: Annotated[
        Sentence | None,
        Meta(description="The query that found no answer. Default: the query of the recall."),
    ] = None
    agent: AgentName = None
    session: Session = None


class ShowScores(Struct, frozen=True):
    """Show how usage and ratings affect ranking."""

    name: Annotated[
        Annotated[RawText, Meta(min_length=1, max_length=1000)] | None,
        Meta(
            description="The memory: an id, `vault:path`, a path, a title or an alias; all that "
            "were used or rated if not given, the most recent first."
        ),
    ] = None
    agent: AgentName = None


class PreviewScores(Struct, frozen=True):
    """Show how other parameters of scoring would order the last recalls. Nothing is logged."""

    parameters: Annotated[
        Mapping[str, Any],
        Meta(description="Parameters of scoring by name. The others keep their values."),
    ] = {}
    limit: Annotated[int, Meta(ge=1, le=50, description="The maximum number of queries.")] = 5
    agent: AgentName = None


class ListRecalls(Struct, frozen=True):
    """List the last recalls of an agent, and how it rated them."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="The maximum number of recalls.")] = 20
    agent: AgentName = None


class LoggedRecall(Struct, frozen=True):
    """A recall that was logged."""

    request_id: str
    """The id of the recall."""
    at: str
    """Its time, as ISO 8601 in UTC."""
    query: str
    """The query."""
    memories: int
    """The number of memories in its answer."""
    useful: int
    """The number of those that were rated as useful."""
    not_useful: int
    """The number of those that were rated as not useful."""


class RecallLog(Struct, frozen=True):
    """The last recalls of an agent."""

    recalls: tuple[LoggedRecall, ...]
    """The recalls, the newest first."""
