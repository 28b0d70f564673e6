"""Checkpoints of hooked sessions, so that one that is killed can be resumed.

A checkpoint is written when a client compacts its context, and after every `hooks.checkpoint`
turns. It has what the client gave: its summary, or the last turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.memories.episodes.reading import EpisodeText
from djinn_memory.memories.hooks.payloads import SPOKEN
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.sessions.marks import checkpoint
from djinn_memory.memories.sessions.requests import Checkpoint
from djinn_memory.memories.sessions.verbs import last_turns, spoken_lines, turns_of
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import mask
from djinn_memory.store.index.records import Selection

COMPACTIONS = ("PreCompact", "PostCompact")

TURNS = 12
"""Turns in a checkpoint: about what an agent does for three prompts."""

MOST_TURN, MOST_SUMMARY = 600, 8_000
"""Characters of each part of a turn, and of the summary of a compaction."""


class Checkpoints:
    """The checkpoints that a batch of entries of one agent calls for.

    Create it before the turns of the entries are recorded, and `write` afterwards.
    """

    def __init__(
        self,
        runtime: Runtime,
        agent: str,
        entries: Sequence[dict[str, Any]],
        unanswered: Mapping[str, str],
    ) -> None:
        """`unanswered` has the prompts that wait for an answer, by session."""
        self._runtime = runtime
        self._agent = agent
        self._unanswered = unanswered
        called = [e for e in entries if e["event"] in (*SPOKEN, *COMPACTIONS)]
        # A compaction calls for more than a turn does, whichever was later.
        called.sort(key=lambda entry: entry["event"] in COMPACTIONS)
        self._entries = {entry["session"]: entry for entry in called}
        self._before = {session: self._count(session) for session in self._entries}

    def write(self) -> None:
        """Write a checkpoint for each session that is due, unless its last one says the same."""
        for session, entry in self._entries.items():
            if not self._is_due(session, entry):
                continue
            summary = mask(entry.get("compact_summary", "")).strip()
            turns = last_turns(self._runtime, self._agent, TURNS, mask(session))
            times = [] if summary else [turn.memory.created for turn in turns]
            since = datetime.fromisoformat(times[-1] or "") if any(times) else entry_time(entry)
            text = _cut(summary, MOST_SUMMARY) or self._state(session, turns)
            if text and not self._has_later(session, since):
                focus = mask(entry.get("custom_instructions", "")) or None
                # Its secrets are masked.
                request = Checkpoint(
                    text, focus, session=mask(session), allow_secret=True, agent=self._agent
                )
                checkpoint(self._runtime, request)

    def _is_due(self, session: str, entry: dict[str, Any]) -> bool:
        if entry["event"] in COMPACTIONS:
            return True
        every = self._runtime.home.config.hooks.checkpoint
        return bool(every) and self._count(session) // every > self._before[session] // every

    def _has_later(self, session: str, since: datetime) -> bool:
        """Whether a checkpoint was written since a time, such as one before a kill."""
        opened = session_log.open_sessions(self._runtime.state, self._agent, mask(session))
        return any(
            last.step == "checkpointed" and datetime.fromisoformat(last.at) >= since
            for last in opened
        )

    def _count(self, session: str) -> int:
        """The interactions of a session that are recorded."""
        vaults = self._runtime.home.personal_vaults(self._agent)
        turns = replace(turns_of(mask(session)), types=("interaction",))
        with suppress(DjinnError), self._runtime.index(vaults) as index:
            return index.count(Selection(turns))
        return 0

    def _state(self, session: str, turns: Sequence[EpisodeText]) -> str:
        """The last turns, newest first, because an excerpt shows the beginning; then the tools."""
        parts = []
        if prompt := mask(self._unanswered.get(session, "")):
            parts = [f"User (not answered yet): {_cut(prompt, MOST_TURN)}"]
        tools = []
        for turn in reversed(turns):
            message, response = (
                _cut(text or "", MOST_TURN) for text in (turn.message, turn.response)
            )
            if turn.memory.type == "interaction":
                parts += spoken_lines(message, response, turn.memory.type)
            else:
                tools.append(f"- {' '.join(message.split())}")
        return "\n\n".join(filter(None, [*parts, "\n".join(tools)]))


def entry_time(entry: dict[str, Any]) -> datetime:
    """The time of an entry of the spool."""
    return datetime.fromtimestamp(max(entry["at"], 0), UTC)


def _cut(text: str, limit: int) -> str:
    """The first words of a text whose secrets are masked."""
    return text if len(text) <= limit else f"{text[:limit].rsplit(None, 1)[0]} ..."
