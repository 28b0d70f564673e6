"""The tools that record messages and observations."""

from __future__ import annotations

from djinn_memory.mcp.answers import Answer
from djinn_memory.mcp.tool import required_text, tool
from djinn_memory.memories.episodes.requests import MAX_TEXT, RecordedEpisode

_HINTS = {
    "channel": "",
    "context": "A JSON object.",
    "at": "Default: now.",
}


class EpisodeAnswer(Answer):
    """An episode that was recorded."""

    id: str
    vault: str
    path: str
    session: str
    importance: float
    masked: int
    """The number of secrets that were masked."""


def _present(episode: RecordedEpisode, _: object) -> EpisodeAnswer:
    return EpisodeAnswer(
        str(episode.id),
        episode.vault,
        episode.path,
        episode.session,
        episode.importance.total,
        episode.masked,
        problems=episode.problems,
    )


def _lines(answer: EpisodeAnswer) -> list[str]:
    masked = f", {answer.masked} masked" if answer.masked else ""
    return [f"Recorded [{answer.id}], importance {answer.importance}{masked}"]


@tool(
    "Record an interaction",
    "episodes.record_interaction",
    present=_present,
    without=frozenset({"domain"}),
    hints={"response": "Your answer.", **_HINTS},
    arguments={"message": required_text(MAX_TEXT, "What the user said.")},
)
def record_interaction(answer: EpisodeAnswer) -> list[str]:
    """Record a message and your answer as an episode in today's journal. Secrets are masked.

    Use it where conversations are kept and no hook records them. Not for what was learned from
    one: use `remember`.
    Example: {"message": "When do we ship?", "response": "On Friday."}
    """
    return _lines(answer)


@tool(
    "Record an observation",
    "episodes.record_observation",
    present=_present,
    without=frozenset({"domain"}),
    hints=_HINTS,
    arguments={"text": required_text(MAX_TEXT, "What happened.")},
)
def record_observation(answer: EpisodeAnswer) -> list[str]:
    """Record something that you saw happen as an episode in today's journal. Secrets are masked.

    Use it for events that may matter later. Not for conclusions: use `remember`.
    Example: {"text": "The build turned red after the upgrade."}
    """
    return _lines(answer)
