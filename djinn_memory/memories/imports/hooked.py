"""Finds exchanges of transcripts that hooks have recorded already.

A hook and a transcript name the session alike, but share no key of a prompt. The same prompt has
the same title in both, and nearly the same time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property

from djinn_memory.errors import DjinnError
from djinn_memory.memories.episodes.recorder import Turn, title_of
from djinn_memory.memories.hooks.spool import Spool
from djinn_memory.memories.imports.chat_log import CLAUDE_CODE, CODEX
from djinn_memory.models import Filters
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection
from djinn_memory.store.ledger import EPISODE_PURGED, reading

CLIENTS = {CLAUDE_CODE: "claude", CODEX: "codex"}
"""The name of a client in its hooks, by its name in transcripts."""

NEAR = timedelta(minutes=1)
"""Maximum time between a prompt in the transcript and the call of its hook, which takes less than a
second on a machine that is not busy."""

_Prompts = dict[str | None, list[datetime]]
"""The times of prompts, by title. A purged prompt has no title any more."""


class HookedPrompts:
    """The prompts of an agent that hooks recorded. Each stands for one exchange of a transcript."""

    def __init__(self, runtime: Runtime, agent: str) -> None:
        """Nothing is read yet."""
        self._runtime = runtime
        self._agent = agent
        self._read: dict[tuple[str, str], _Prompts] = {}
        """The prompts that no exchange was matched with, by client and session."""

    def take(self, turn: Turn) -> bool:
        """Whether a hook recorded the prompt of an exchange. Only one exchange gets it."""
        client = CLIENTS.get(turn.client or "")
        if client is None or turn.kind != "interaction":
            return False
        prompts = self._prompts(client, turn.session)
        for title in (_key(title_of(turn.message)), None) if prompts else ():
            times = prompts.get(title, [])
            nearest = min(times, key=lambda at: abs(at - turn.at), default=None)
            if nearest is not None and abs(nearest - turn.at) <= NEAR:
                times.remove(nearest)
                return True
        return False

    def _prompts(self, client: str, session: str) -> _Prompts:
        key = client, session
        if key not in self._read:
            # The spool first: a prompt that is taken in meanwhile is then in one of both.
            prompts = self._unrecorded.pop(key, {})
            if session.casefold() in self._sessions:
                self._add_recorded(prompts, client, session)
            self._read[key] = prompts
        return self._read[key]

    @cached_property
    def _unrecorded(self) -> dict[tuple[str, str], _Prompts]:
        """The prompts that are in the spool, and those that were purged."""
        prompts: dict[tuple[str, str], _Prompts] = defaultdict(dict)
        with suppress(OSError, RecursionError):
            for line in Spool(str(self._runtime.home.state)).read().values():
                # A damaged entry is for the intake to report.
                with suppress(LookupError, TypeError, ArithmeticError, ValueError, DjinnError):
                    entry = json.loads(line)
                    agent = self._runtime.home.agent(entry["agent"] or None)
                    if (agent, entry["event"]) == (self._agent, "UserPromptSubmit"):
                        at, title = (
                            datetime.fromtimestamp(entry["at"], UTC),
                            title_of(entry["prompt"]),
                        )
                        key = entry["client"], entry["session"]
                        prompts[key].setdefault(_key(title), []).append(at)
        ledger = self._runtime.state.ledger_if_any
        for event in reading.agent_events(ledger, (EPISODE_PURGED,), self._agent) if ledger else ():
            client, session, said = (event.data.get(key) for key in ("client", "session", "said"))
            if client and session and said:
                prompts[str(client), str(session)].setdefault(None, []).append(_time(str(said)))
        return prompts

    @cached_property
    def _sessions(self) -> set[str]:
        """The sessions of which hooks recorded something."""
        sessions: set[str] = set()
        with self._runtime.index([self._runtime.home.personal(self._agent)]) as index:
            for client in CLIENTS.values():
                groups = index.groups("session", Selection(_by(client)))
                sessions.update(group.value.casefold() for group in groups)
        return sessions

    def _add_recorded(self, prompts: _Prompts, client: str, session: str) -> None:
        selection = Selection(_by(client, session))
        vault = self._runtime.home.personal(self._agent)
        with self._runtime.index([vault]) as index:
            for memory in index.memories(selection, fields=()):
                at = _time(memory.created or memory.date)
                prompts.setdefault(_key(memory.title), []).append(at)


def _by(client: str, session: str | None = None) -> Filters:
    """The filters that select the interactions of a client."""
    where = {"client": client, "session": session}
    given = tuple((key, value) for key, value in where.items() if value)
    return Filters(types=("interaction",), paths=("journal/",), where=given)


def _key(title: str) -> str:
    """The letters and digits of a title, whose other characters a journal may escape."""
    return "".join(filter(str.isalnum, title))


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
