"""Turns the entries of a spool into episodes, and records them in batches."""

from __future__ import annotations

import json
import math
import shlex
import time
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from djinn_memory.errors import Busy, DjinnError, NotFound, Remedy, UsageError
from djinn_memory.memories.episodes.recorder import Turn, masked_value, record_turns
from djinn_memory.memories.episodes.requests import EpisodeType
from djinn_memory.memories.hooks.checkpoints import Checkpoints, entry_time
from djinn_memory.memories.hooks.payloads import KEPT, NAMES, NEEDED, TEXTS
from djinn_memory.memories.hooks.spool import Spool, unanswered
from djinn_memory.memories.recall import session_log
from djinn_memory.models import Problem
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import mask
from djinn_memory.system.locks import lock
from djinn_memory.system.plural import count

BATCH, MOST_BATCH = 25, 400
"""Turns that are recorded at once. The first batch takes a third of a second. Each further batch is
twice as large, because each rewrites the journal of the day."""

SUBJECTS = (
    "command", "cmd", "file_path", "notebook_path", "path", "pattern", "query", "url",
    "description", "prompt", "skill", "input",
)  # fmt: skip
"""Arguments of tools that say what a call was about, most telling first."""

MOST_SUBJECT = 200
"""Characters of such an argument in the message of an observation."""


class _Step(Struct):
    """The content of one or two entries of the spool: a turn, or an event of a session."""

    agent: str
    entry: dict[str, Any]
    """The entry that comes first."""
    files: tuple[str, ...]
    """The paths of the entries."""
    turn: Turn | None = None


class _Plan(Struct):
    """The entries of a spool that can be recorded now."""

    steps: list[_Step] = field(default_factory=list)
    """The complete turns and events, in order."""
    broken: list[str] = field(default_factory=list)
    """The paths of files that are not entries."""
    waiting: dict[tuple[str, str, str], tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """The last prompt without an answer, with its path, by agent, client and session."""


def record_spool(runtime: Runtime, spool: Spool, seconds: float) -> Problem | None:
    """Record the entries of a spool in batches, until `seconds` are over. Returns a failure.

    Does nothing while another process does it.
    """
    try:
        with lock(Path(spool.intake_lock), timeout=0, pulse=None):
            _Intake(runtime, spool, seconds).run()
    except Busy:
        # The next command takes it in.
        return None
    except (DjinnError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        return Problem("hooks", f"what hooks recorded is not taken in yet: {why}")
    return None


def losses(spool: Spool) -> Problem | None:
    """A problem for entries that were lost since the last time that this was said."""
    lost, reason = spool.counts().unsaid, spool.loss()["reason"]
    if not lost:
        return None
    try:
        spool.say()
    except OSError:
        return None
    what = count(lost, "event") + " of hooks could not be recorded"
    why = f" ({reason})" if reason else ""
    return Problem("hooks", f"{what}{why}; {Remedy('hooks.status', purpose='see the counts')}")


class _Intake:
    """One run over a spool. The caller holds the lock."""

    def __init__(self, runtime: Runtime, spool: Spool, seconds: float) -> None:
        self._runtime = runtime
        self._spool = spool
        self._end = time.monotonic() + seconds
        spool.begin()
        self._lines = spool.read()
        """The entries by their paths."""
        self._unanswered: dict[str, str] = {}
        """The prompts that wait for an answer, by session."""

    def run(self) -> None:
        plan = _plan(self._lines, time.time())
        if plan.broken:
            self._reject(plan.broken, "an entry of the spool is torn or damaged")
        self._give_up(plan)
        self._mask(plan)
        waiting = plan.waiting.values()
        self._unanswered = {entry["session"]: entry["prompt"] for _, entry in waiting}
        # A prompt is complete only with its answer, and comes before the tools that it used.
        steps, size = sorted(plan.steps, key=lambda step: float(step.entry["at"])), BATCH
        while steps:
            batch, steps = steps[:size], steps[size:]
            size = min(2 * size, MOST_BATCH)
            self._record(batch)
            self._spool.remove(path for step in batch for path in step.files)
            if time.monotonic() > self._end:
                return

    def _give_up(self, plan: _Plan) -> None:
        """Mark prompts as unanswered that waited for long.

        The mark is in the spool before the prompt is recorded alone. Otherwise an answer that comes
        at this moment could be taken for recorded with the prompt.
        """
        for key, (path, entry) in [*plan.waiting.items()]:
            if unanswered(entry["at"]):
                entry["alone"] = True
                self._spool.rewrite(path, entry)
                del plan.waiting[key]
                plan.steps.append(_turn(entry, path))

    def _mask(self, plan: _Plan) -> None:
        """Mask the secrets of prompts that go on waiting, perhaps for a day."""
        for path, entry in plan.waiting.values():
            self._spool.keep_waiting(path, _masked(entry))

    def _record(self, steps: Sequence[_Step]) -> None:
        for agent, group in groupby(steps, key=lambda step: step.agent):
            own = [*group]
            try:
                name = self._runtime.home.agent(agent or None)
            except NotFound as error:
                self._reject([path for step in own for path in step.files], str(error))
            else:
                self._record_of(name, own)

    def _record_of(self, name: str, steps: Sequence[_Step]) -> None:
        turns = [step.turn for step in steps if step.turn]
        entries = [step.entry for step in steps]
        checkpoints = Checkpoints(self._runtime, name, entries, self._unanswered)
        try:
            record_turns(self._runtime, name, turns)
        except UsageError:
            for step in filter(lambda step: step.turn, steps):
                assert step.turn
                try:
                    record_turns(self._runtime, name, [step.turn])
                except UsageError as error:
                    self._reject(step.files, str(error))
        for step in steps:
            if not step.turn:
                self._note(name, step.entry)
        try:
            checkpoints.write()
        except DjinnError as error:
            self._spool.fail(f"checkpoint: {error}")

    def _note(self, agent: str, entry: dict[str, Any]) -> None:
        """Record the start or the end of a session, unless it is known."""
        state, session = self._runtime.state, mask(entry["session"])
        opened = session_log.open_sessions(state, agent, session)
        if entry["event"] == "SessionStart" and not opened:
            session_log.start(state, agent, session, entry_time(entry))
        elif entry["event"] == "SessionEnd":
            for last in opened:
                # The session may have been resumed since.
                if datetime.fromisoformat(last.at) <= entry_time(entry):
                    session_log.end(state, agent, last)

    def _reject(self, paths: Sequence[str], reason: str) -> None:
        masked = [_masked_line(self._lines[path]) for path in paths]
        self._spool.reject([*filter(None, masked)], len(masked), reason)
        self._spool.remove(paths)


def _plan(lines: dict[str, bytes], now: float) -> _Plan:
    """The turns and events in the entries of a spool.

    They depend only on the order of the entries: after some are recorded, the others give the same.
    """
    plan = _Plan()
    for path, line in lines.items():
        entry = _entry(line)
        if entry is None:
            plan.broken.append(path)
            continue
        entry["at"] = min(entry["at"], now)
        event = entry["event"]
        key = (entry["agent"], entry["client"], entry["session"])
        if event in ("UserPromptSubmit", "SessionEnd", "Stop") and key in plan.waiting:
            asked, prompt = plan.waiting.pop(key)
            if event == "Stop":
                plan.steps.append(_turn(prompt, asked, entry, path))
                continue
            plan.steps.append(_turn(prompt, asked))
        if event == "UserPromptSubmit" and not entry.get("alone"):
            plan.waiting[key] = (path, entry)
        elif event in ("SessionStart", "SessionEnd"):
            plan.steps.append(_Step(entry["agent"], entry, (path,)))
        else:
            plan.steps.append(_turn(entry, path))
    return plan


def _entry(line: bytes) -> dict[str, Any] | None:
    """The entry in a file; None if it is torn, or not as a hook writes it."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not line.endswith(b"\n") or not isinstance(entry, dict):
        return None
    if not all(isinstance(entry.get(name), str) for name in NAMES) or entry["event"] not in KEPT:
        return None
    if NEEDED.get(entry["event"], "event") not in entry:
        return None
    if not all(isinstance(entry.get(name, ""), str) for name in (*TEXTS, "tool_name")):
        return None
    at = entry.get("at")
    return entry if isinstance(at, int | float) and abs(at) < math.inf else None


def _masked_line(line: bytes) -> bytes:
    """An entry of the spool with its secrets masked.

    Empty for a torn line: a part of a secret does not look like one.
    """
    try:
        return json.dumps(_masked(json.loads(line))).encode("ascii")
    except (ValueError, RecursionError):
        return b""


def _masked(entry: Any) -> Any:
    """An entry with its secrets masked. The fields that identify its turn stay."""
    if not isinstance(entry, dict):
        return masked_value(entry, ())
    identifying = {name: value for name, value in entry.items() if name in NAMES}
    return {**masked_value(entry, ()), **identifying}


def _turn(
    entry: dict[str, Any],
    path: str,
    answer: dict[str, Any] | None = None,
    answered: str | None = None,
) -> _Step:
    """The turn that an entry is, with the answer to it."""
    kind: EpisodeType = "observation"
    message, response, context = "", "", {}
    if entry["event"] == "UserPromptSubmit":
        kind, message = "interaction", entry["prompt"]
        response = (answer or {}).get("last_assistant_message", "")
    elif entry["event"] == "PostToolUse":
        message = describe(entry["tool_name"], entry.get("tool_input"))
        names = ("tool_name", "tool_input", "tool_response", "agent_type")
        context = {name: entry[name] for name in names if name in entry}
    else:
        message = entry.get("last_assistant_message") or entry.get("compact_summary", "")
    if "cwd" in entry:
        context["cwd"] = entry["cwd"]
    files = (path,) if answered is None else (path, answered)
    turn = Turn(
        kind=kind,
        message=message,
        response=response,
        at=entry_time(entry),
        session=entry["session"],
        channel="cli",
        context=_finite(context) or None,
        client=entry["client"],
        source=f"hook {entry['client']} {entry['id']}",
    )
    return _Step(entry["agent"], entry, files, turn if message.strip() else None)


def describe(tool: str, value: object) -> str:
    """A line that says what a tool was called for, such as `Bash: make test`.

    Of arguments without a telling name only the names are given.
    """
    subject: object = value
    if isinstance(value, dict):
        named = next((value[name] for name in SUBJECTS if value.get(name)), None)
        subject = named or ", ".join(value)
    if isinstance(subject, list) and all(isinstance(word, str) for word in subject):
        subject = shlex.join(subject)
    if subject in (None, ""):
        return tool
    text = subject if isinstance(subject, str) else json.dumps(subject, ensure_ascii=False)
    # Masked before it is cut, because a part of a secret does not look like one.
    text = mask(" ".join(text.split()))
    return f"{tool}: {text if len(text) <= MOST_SUBJECT else text[:MOST_SUBJECT] + ' ...'}"


def _finite(value: Any) -> Any:
    """A JSON value without NaN and infinity, which JSON does not have, and lone surrogates."""
    if isinstance(value, float) and value - value != 0:
        return str(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    if isinstance(value, dict):
        return {_finite(key): _finite(inner) for key, inner in value.items()}
    return value
