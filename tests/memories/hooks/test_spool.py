"""The spool: whole lines, bounds, and counts that survive kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.hooks import payloads, run, spool
from djinn_memory.memories.hooks.payloads import UnusableInputError, entry_of, parse
from djinn_memory.memories.hooks.spool import Meter, Spool, SpoolBusyError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def entry(number: int, **more: Any) -> dict[str, Any]:
    return {"event": "Stop", "at": 5.0, "number": number, **more}


def numbers(path: Path) -> list[int]:
    lines = (path / "hooks" / "spool.jsonl").read_bytes().splitlines()
    return [json.loads(line)["number"] for line in lines if line]


def test_entries_are_lines(tmp_path: Path) -> None:
    for number in range(3):
        assert Spool(str(tmp_path)).append(entry(number, text="a\nb\ud800"))
    assert numbers(tmp_path) == [0, 1, 2]
    folder = tmp_path / "hooks"
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_full_spool_refuses_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MOST_ENTRIES", 3)
    made = Spool(str(tmp_path))
    assert [made.append(entry(number)) for number in range(5)] == [True] * 3 + [False] * 2
    assert (made.meter().refused, made.meter().full) == (2, 1)
    assert numbers(tmp_path) == [0, 1, 2]
    monkeypatch.setattr(spool, "MOST_ENTRIES", 1000)
    monkeypatch.setattr(spool, "MOST_BYTES", made.size() + 30)
    assert not made.append(entry(5, text="x" * 50))
    assert made.meter().refused == 3


def test_a_torn_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    made.append(entry(0))
    with Path(made.path).open("ab") as file:
        file.write(b'{"event":')
    made.append(entry(1))
    lines = made.read().splitlines()
    assert [len(line) > 20 for line in lines] == [True, False, True]
    assert made.meter().entries == 3
    assert made.meter().size == made.size()


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b'{"entries": "many"}', b'{"lost": 5}', b"[" * 2048, b"\0" * 1024],
)
def test_a_damaged_meter_is_counted_anew(tmp_path: Path, damage: bytes) -> None:
    made = Spool(str(tmp_path))
    for number in range(4):
        made.append(entry(number))
    Path(made.meter_path).write_bytes(damage)
    made.append(entry(4))
    assert made.meter().entries == 5


def test_what_is_appended_meanwhile_stays(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    for number in range(4):
        made.append(entry(number))
    data = made.read()
    made.append(entry(4))
    lines = data.splitlines(keepends=True)
    made.replace(len(data), lines[2], due=9.0)
    assert numbers(tmp_path) == [2, 4]
    assert (made.meter().entries, made.meter().settled) == (2, -1)
    kept = made.read()
    made.replace(len(kept), kept, due=9.0)
    assert (made.meter().settled, made.meter().due) == (made.size(), 9.0)
    made.replace(len(kept), b"")
    assert (made.size(), made.meter().entries) == (0, 0)


def test_a_held_lock_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "LOCK_SECONDS", 0.01)
    made = Spool(str(tmp_path))
    made.append(entry(0))
    with spool._Held(made), pytest.raises(SpoolBusyError):
        made.append(entry(1))
    with spool._Held(made):
        made.skip("bad")
    assert made.blocked() == 1
    assert made.append(entry(2))


def test_many_at_once(tmp_path: Path) -> None:
    def work(start: int) -> None:
        for number in range(start, start + 25):
            assert Spool(str(tmp_path)).append(entry(number, text="x" * 3000))

    threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(numbers(tmp_path))) == 200
    assert Spool(str(tmp_path)).meter().entries == 200


@pytest.mark.skipif(os.name != "posix", reason="kills")
@pytest.mark.parametrize("call", ["write", "lseek", "open", "close", "fstat"])
def test_a_kill_at_each_step(tmp_path: Path, call: str) -> None:
    """Kill the append at each call of the system: the line is whole, or not there."""
    code = f"""
import os, sys
from djinn_memory.memories.hooks.spool import Spool
left = int(sys.argv[2])
known = os.{call}
def count(*arguments, **more):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), 9)
    return known(*arguments, **more)
made = Spool(sys.argv[1])
os.{call} = count
made.append({{"event": "Stop", "at": 5.0, "number": left}})
"""
    made = Spool(str(tmp_path))
    for step in range(1, 10):
        before = numbers(tmp_path) if made.size() else []
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path), str(step)], check=False)
        after = numbers(tmp_path) if made.size() else []
        assert after in (before, [*before, step])
        if done.returncode != -signal.SIGKILL:
            assert after == [*before, step]
            break
        assert made.append(entry(0))
        assert made.meter().entries == len(numbers(tmp_path))
    else:
        pytest.fail("the append never ended")


@given(st.dictionaries(st.sampled_from(["hook_event_name", "session_id", "prompt", "cwd"]), JSON))
def test_any_object_is_an_entry_or_unusable(payload: dict[str, Any]) -> None:
    with_event = {"hook_event_name": "UserPromptSubmit", **payload}
    try:
        made, _ = entry_of(with_event, "claude", "me")
    except UnusableInputError:
        return
    json.dumps(made)


@given(JSON, JSON)
def test_values_of_tools_are_bounded(value: Any, response: Any) -> None:
    payload = {
        "hook_event_name": "PostToolUse",
        "tool_name": "T",
        "tool_input": [value] * 50,
        "tool_response": {"r": response},
    }
    made, _ = entry_of(payload, "codex", "")
    assert len(json.dumps(made.get("tool_input"))) <= 6 * payloads.MOST_VALUE


def test_a_cut_ends_before_a_word() -> None:
    text = "word " * 100_000
    made, cut = entry_of({"hook_event_name": "UserPromptSubmit", "prompt": text}, "claude", "")
    assert cut
    assert made["prompt"].endswith("word ...")
    assert len(made["prompt"]) <= payloads.MOST_TEXT
    deep: Any = "x"
    for _ in range(100):
        deep = {"k" * 200: [deep, "y" * 2000]}
    payload = {"hook_event_name": "PostToolUse", "tool_name": "T", "tool_input": deep}
    made, cut = entry_of(payload, "claude", "")
    assert cut
    assert len(json.dumps(made)) < 10_000


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_unusable(data: bytes) -> None:
    try:
        assert isinstance(parse(data), dict)
    except UnusableInputError as error:
        assert str(error).startswith("the input is not")


def test_the_meter_has_one_size(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    made.skip("x" * 5000)
    made.update(reason="\u4e2d" * 150, event="SessionStart", last=1e10, size=10**9)
    assert Path(made.meter_path).stat().st_size == spool.METER_BYTES
    assert made.meter().size == 10**9
    assert Meter(entries="5", unknown=1, last=2.0).last == 2.0


@pytest.mark.parametrize(
    ("text", "recalls"),
    [
        ("", False),
        ("recall:\n  limit: 5\n", False),
        ("hooks:\n  # recall: true\n", False),
        ("hooks:\n\nrecall:\n  limit: 5\n", False),
        ("hooks:\n  recall: true\n", True),
        ("hooks: {recall: true}\n", True),
        ('"hooks":\n  recall: true\n', True),
        ("agents: [me]\nhooks:\n\n  recall: yes\nsearch:\n  limit: 5\n", True),
    ],
)
def test_a_setting_is_seen_without_a_parser(text: str, recalls: bool) -> None:
    assert run._mentions_recall(_lines(text)) == recalls


def _lines(text: str) -> list[str]:
    lines = text.splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
