"""The spool: whole lines, bounds, and counts that survive kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.hooks import payloads, run, spool
from djinn_memory.memories.hooks.payloads import UnusableInputError, entry_of, parse
from djinn_memory.memories.hooks.spool import Spool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def entry(number: int, **more: Any) -> dict[str, Any]:
    return {"event": "Stop", "at": 5.0, "number": number, **more}


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["number"] for line in Spool(str(path)).read().values()]


def test_entries_are_files_with_a_line(tmp_path: Path) -> None:
    for number in range(3):
        assert Spool(str(tmp_path)).append(entry(number, text="a\nb\ud800"))
    assert numbers(tmp_path) == [0, 1, 2]
    folder = tmp_path / "hooks"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 6
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert all(path.read_bytes().count(b"\n") == 1 for path in (folder / "spool").iterdir())
    assert {path.stat().st_mode & 0o777 for path in (folder, folder / "spool")} == {0o700}


def test_entries_stay_in_order_when_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Spool(str(tmp_path))
    for number, at in enumerate((9 * 10**18, 10**18, 10**18, 10**17)):
        monkeypatch.setattr("time.time_ns", lambda at=at: at)
        assert made.append(entry(number))
    assert numbers(tmp_path) == [0, 1, 2, 3]


def test_a_full_spool_refuses_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MOST_ENTRIES", 3)
    made = Spool(str(tmp_path))
    assert [made.append(entry(number)) for number in range(5)] == [True] * 3 + [False] * 2
    assert (made.counts().refused, made.counts().full) == (2, True)
    assert numbers(tmp_path) == [0, 1, 2]
    monkeypatch.setattr(spool, "MOST_ENTRIES", 1000)
    monkeypatch.setattr(spool, "MOST_BYTES", made.size() + 30)
    assert not made.append(entry(5, text="x" * 50))
    assert made.counts().refused == 3


def test_what_a_hook_still_writes_is_no_entry_until_it_is_old(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    made.append(entry(0))
    torn = Path(made.path, "5.new")
    torn.write_bytes(b'{"event":')
    made.append(entry(1))
    assert numbers(tmp_path) == [0, 1]
    os.utime(torn, (5, 5))
    assert sorted(len(line) > 20 for line in made.read().values()) == [False, True, True]
    assert len(made.files()) == 3


@pytest.mark.parametrize("name", ["counts", "last.json", "loss.json", "taken"])
@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b'{"at": "many"}', b'{"lost": 5}', b"[" * 2048, b"\0" * 1024],
)
def test_damaged_counts_and_notes_stop_nothing(tmp_path: Path, name: str, damage: bytes) -> None:
    made = Spool(str(tmp_path))
    for number in range(4):
        made.append(entry(number))
    Path(made.folder, name).write_bytes(damage)
    assert (made.counts().refused, made.last()["at"]) in ((0, 0.0), (0, 5.0))
    before = made.counts().skipped
    made.begin()
    made.append(entry(4))
    made.skip("bad")
    assert numbers(tmp_path) == [0, 1, 2, 3, 4]
    assert (made.last()["at"], made.loss()["reason"]) == (5.0, "bad")
    assert made.counts().skipped == before + 1


def test_what_is_added_meanwhile_stays(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    for number in range(4):
        made.append(entry(number))
    read = [*made.read()]
    made.append(entry(4))
    made.remove([read[0], read[1], read[3]])
    assert numbers(tmp_path) == [2, 4]
    first, second = made.files()
    made.keep_waiting(first, entry(2, event="UserPromptSubmit"))
    assert numbers(tmp_path) == [2, 4] and made.is_due()
    made.remove([second])
    assert numbers(tmp_path) == [2] and not made.is_due()
    made.remove(made.files())
    assert (made.size(), made.files()) == (0, {})


def test_a_removal_that_was_interrupted_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Spool(str(tmp_path))
    for number in range(4):
        made.append(entry(number))
    paths = [*made.files()]
    with monkeypatch.context() as patch:
        patch.setattr(Spool, "_unlink_taken", lambda self: None)
        made.remove(paths[:3])
    Path(paths[1]).unlink()
    Path(made.folder).rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    (tmp_path / "moved").rename(tmp_path / "other" / "hooks")
    Spool(str(tmp_path / "other")).begin()
    assert numbers(tmp_path / "other") == [3]


def test_what_an_earlier_version_recorded_is_taken_over_once(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    made.append(entry(2))
    lines = [json.dumps(entry(number)) for number in range(2)]
    Path(made.former_path).write_text("\n".join([*lines, '{"event":']))
    os.utime(made.former_path, (5, 5))
    counts = {"refused": 3, "skipped": 4, "cut": 5, "told": 7, "entries": 3, "size": 99}
    notes = {"last": 6.0, "event": "Stop", "reason": "full", "lost_at": 7.0, "full": 1}
    Path(made.folder, "meter").write_text(json.dumps({**counts, **notes}).ljust(2047) + "\n")
    Path(made.folder, "blocked").write_bytes(b"..")
    assert made.is_due()
    made.begin()
    assert [line[:9] for line in made.read().values()] == [b'{"event":'] * 4
    assert numbers_of([*made.read().values()]) == [0, 1, None, 2]
    now = made.counts()
    assert (now.refused, now.skipped, now.cut, now.unsaid, now.full) == (3, 6, 5, 2, True)
    assert (made.last(), made.loss()) == (
        {"at": 6.0, "event": "Stop"},
        {"reason": "full", "lost_at": 7.0},
    )
    names = {path.name for path in Path(made.folder).iterdir()}
    assert names == {"spool", "counts", "last.json", "loss.json"}
    made.begin()
    assert len(made.files()) == 4


def test_the_rest_of_an_earlier_version_is_not_overwritten_by_more_of_it(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    Path(made.folder).mkdir()
    for start in (0, 3):
        lines = [json.dumps(entry(number)) + "\n" for number in range(start, start + 3)]
        Path(made.former_path).write_text("".join(lines))
        os.utime(made.former_path, (start + 1, start + 1))
        made.begin()
    assert numbers(tmp_path) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("call", ["replace", "unlink"])
def test_a_takeover_that_was_killed_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    made = Spool(str(tmp_path))
    Path(made.folder).mkdir()
    Path(made.former_path).write_text("".join(json.dumps(entry(n)) + "\n" for n in range(3)))
    Path(made.folder, "meter").write_text(json.dumps({"last": 6.0, "skipped": 2, "told": 2}))
    known = getattr(os, call)
    for step in range(1, 9):
        left = [step]

        def count(*arguments: Any, left: list[int] = left) -> Any:
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt
            return known(*arguments)

        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(os, call, count)
            made.begin()
            break
        assert made.is_due()
    assert numbers(tmp_path) == [0, 1, 2]
    assert (made.last()["at"], made.counts().skipped, made.counts().unsaid) == (6.0, 2, 0)
    names = {path.name for path in Path(made.folder).iterdir()}
    assert names == {"spool", "counts", "last.json", "loss.json"}


def test_a_spool_of_an_earlier_version_that_has_room_is_not_full(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    Path(made.folder).mkdir()
    Path(made.former_path).write_text(json.dumps(entry(0)) + "\n")
    Path(made.folder, "meter").write_text(json.dumps({"refused": 3, "told": 3, "full": 0}))
    made.begin()
    assert (made.counts().refused, made.counts().full, made.counts().unsaid) == (3, False, 0)


@pytest.mark.parametrize("linked", ["hooks", "hooks/spool"])
def test_files_that_a_link_leads_to_stay(tmp_path: Path, linked: str) -> None:
    made = Spool(str(tmp_path / "state"))
    other = tmp_path / "other"
    letter = other / Path(made.path).relative_to(tmp_path / "state" / linked) / "letter"
    letter.parent.mkdir(parents=True)
    letter.write_text("Dear Ada")
    link = tmp_path / "state" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(other)
    assert (made.files(), made.read(), made.is_due()) == ({}, {}, False)
    with pytest.raises(OSError):
        made.append(entry(0))
    made.remove([str(letter)])
    made.edit(lambda _: {})
    assert letter.read_text() == "Dear Ada"
    assert [*letter.parent.iterdir()] == [letter]
    assert made.strange_files() == [str(link)]


def test_a_prompt_that_begins_to_wait_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Spool(str(tmp_path))
    made.append(entry(0))
    listed = made.files()
    [path] = listed
    made.keep_waiting(path, entry(0))
    monkeypatch.setattr(Spool, "files", lambda self: listed)
    assert numbers(tmp_path) == [0]


def test_a_folder_whose_files_cannot_be_looked_at_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Spool(str(tmp_path))
    made.append(entry(0))

    def refused(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "lstat", refused)
    assert (made.files(), made.is_due()) == ({}, False)


def test_a_purge_leaves_no_text_of_a_killed_process(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    made.append(entry(0))
    scratch = Path(made.folder, "scratch")
    scratch.write_text("a secret")
    made.edit(lambda known: known)
    assert not scratch.exists()


def numbers_of(lines: list[bytes]) -> list[int | None]:
    return [json.loads(line)["number"] if line.endswith(b"}\n") else None for line in lines]


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
    assert len(Spool(str(tmp_path)).files()) == 200


@pytest.mark.skipif(os.name != "posix", reason="kills")
@pytest.mark.parametrize("call", ["listdir", "lstat", "open", "urandom", "replace", "fstat"])
def test_a_kill_at_each_step(tmp_path: Path, call: str) -> None:
    """Kill the append at each call of the system: the entry is whole, or not there."""
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
    for step in range(1, 20):
        before = numbers(tmp_path)
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path), str(step)], check=False)
        after = numbers(tmp_path)
        assert after in (before, [*before, step])
        if done.returncode != -signal.SIGKILL:
            assert after == [*before, step]
            break
        assert made.append(entry(0))
        assert numbers(tmp_path) == [*after, 0]
        # Each entry is looked at, so that more entries would be more steps.
        made.remove([*made.files()][:-1])
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


def test_notes_have_one_size(tmp_path: Path) -> None:
    made = Spool(str(tmp_path))
    made.skip("x" * 5000)
    assert Path(made.loss_path).stat().st_size == spool.NOTE_BYTES
    made.fail("\u4e2d\udfff" * 150)
    assert Path(made.loss_path).stat().st_size == spool.NOTE_BYTES
    assert made.loss()["reason"] == "\u4e2d?" * 100 and made.loss()["lost_at"] > 0
    made.append({"event": "SessionStart", "at": 1e10})
    assert Path(made.last_path).stat().st_size == spool.NOTE_BYTES
    assert made.last() == {"event": "SessionStart", "at": 1e10}
    Path(made.last_path).write_text('{"event": 5, "unknown": 1, "at": 2.0}')
    assert made.last() == {"event": "", "at": 2.0}


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
