"""The end of the previous conversation, as a part of an agent's context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from djinn_memory.memories.catalog.excerpts import TokenBudget
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.episodes.reading import EpisodeText
from djinn_memory.memories.sessions.history import previous_turns, spoken_lines
from djinn_memory.models import extended
from djinn_memory.runtime import Runtime

SHARE = 0.25
"""The maximum share of the budget for the previous conversation."""


def previous_conversation(
    runtime: Runtime,
    agent: str,
    session: str | None,
    room: TokenBudget,
    limit: int,
    domains: Sequence[str] = (),
) -> tuple[tuple[MemoryExcerpt, ...], str | None]:
    """The last turns of the agent's last session before `session`, oldest first, and its name.

    The newest turns that fit into the budget are taken, at most `limit`.
    """
    turns = previous_turns(runtime, agent, limit, session, domains) if limit else []
    taken = _fitting(map(_excerpt, reversed(turns)), room)
    return tuple(reversed(taken)), turns[0].memory.field("session") if taken else None


def _fitting(newest_first: Iterable[MemoryExcerpt], room: TokenBudget) -> list[MemoryExcerpt]:
    """The newest turns that fit into the share of the conversation, newest first."""
    kept_back = max(0, room.left - int(room.budget * SHARE))
    room.left -= kept_back
    taken: list[MemoryExcerpt] = []
    for turn in newest_first:
        # The title is the beginning of the text, and is not shown.
        shown = room.take(replace(turn, title=""), share=1 / 8)
        if shown is None or not shown.text:
            break
        taken.append(replace(shown, title=turn.title))
    room.left += kept_back
    return taken


def _excerpt(turn: EpisodeText) -> MemoryExcerpt:
    memory = turn.memory
    text = "\n".join(spoken_lines(turn.message, turn.response, memory.type))
    return extended(memory, MemoryExcerpt, written=memory.created or memory.date, text=text)
