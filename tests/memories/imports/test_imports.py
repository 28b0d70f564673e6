"""Exports become episodes, each once, whatever happens in between."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, NotFound, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.requests import MAX_TEXT
from djinn_memory.memories.imports import importer
from djinn_memory.memories.imports.calendar import read_calendar
from djinn_memory.memories.imports.messages import Message
from djinn_memory.memories.imports.occurrences import ImportPeriod
from djinn_memory.memories.imports.records import Gate
from djinn_memory.memories.imports.requests import ImportReport
from djinn_memory.system.locks import lock
from tests.growth import assert_linear
from tests.memories.imports.exports import (
    BOAT,
    DAY,
    LOG,
    SECRET,
    chatgpt,
    claude,
    claude_message,
    lines,
    node,
    said,
    slack,
    slack_message,
    trip,
    write_exports,
    zipped,
)


def counts(report: ImportReport) -> tuple[int, int]:
    return report.recorded, report.known


def texts(djinn: Djinn, session: str) -> list[tuple[str, str | None]]:
    """The messages and the responses of a session, oldest first."""
    listed = djinn.episodes.list(session=session, limit=1000).episodes
    details = [djinn.episodes.show(episode.id or "") for episode in reversed(listed)]
    return [(detail.message, detail.response) for detail in details]


def test_each_format_is_recorded_once(djinn: Djinn, tmp_path: Path) -> None:
    folder = write_exports(tmp_path / "exports")
    first = djinn.import_history([folder])
    assert counts(first) == (13, 0) and first.masked == 1 and first.problems == ()
    assert sorted(file.format for file in first.files) == [
        "calendar", "chatgpt", "claude", "jsonl", "slack",
    ]  # fmt: skip
    again = djinn.import_history([folder])
    assert counts(again) == (0, 13)
    djinn.close()
    djinn.home.index_path.unlink()
    assert counts(djinn.import_history([folder])) == (0, 13)
    assert djinn.episodes.stats().total == 13
    journals = "".join(
        path.read_text(encoding="utf-8")
        for path in (djinn.home.root / "vaults" / "me" / "journal").iterdir()
    )
    assert SECRET not in journals


def test_a_dry_run_writes_nothing(djinn: Djinn, tmp_path: Path) -> None:
    folder = write_exports(tmp_path / "exports")
    report = djinn.import_history([folder, folder / "log.jsonl"], dry_run=True)
    assert counts(report) == (13, 2) and report.dry_run
    assert not (djinn.home.root / "vaults" / "me" / "journal").exists()


def test_an_archive_is_what_its_folder_is(djinn: Djinn, tmp_path: Path) -> None:
    folder = slack(tmp_path / "export")
    assert counts(djinn.import_history([folder], person="Anna")) == (3, 0)
    archive = shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path, "export")
    assert counts(djinn.import_history([Path(archive)], person="anna")) == (0, 3)
    assert texts(djinn, "harbour/1767600001.000100") == [
        ("@Ben Fjord, see docs (https://x.org) & the #harbour", "Ben Fjord: Seen.")
    ]
    assert texts(djinn, "harbour") == [("Ben Fjord: The crane is down.", None)]


def test_a_newer_export_adds_what_is_new(djinn: Djinn, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"

    def imported(*messages: dict[str, object]) -> tuple[int, int]:
        file.write_text(json.dumps([claude(*messages)]), encoding="utf-8")
        return counts(djinn.import_history([file]))

    question = claude_message(1, "human", "Name a boat.")
    answers = [claude_message(number, "assistant", f"Name {number}.") for number in (2, 3, 4)]
    more = claude_message(5, "human", "Thanks.")
    assert imported(question) == (1, 0)
    assert imported(question, answers[0]) == (1, 0)
    assert imported(question) == (0, 1)
    assert imported(question, *answers) == (1, 0)
    assert imported(question, *answers, more) == (1, 1)
    assert imported(question, *answers[:2]) == (0, 1)
    assert imported(question, *answers, more) == (0, 2)
    assert texts(djinn, "boat") == [
        ("Name a boat.", None), ("Name 2.", None), ("Name 3.\n\nName 4.", None), ("Thanks.", None),
    ]  # fmt: skip


def test_what_was_purged_does_not_come_back(djinn: Djinn, tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", LOG)
    djinn.import_history([log])
    [episode] = djinn.episodes.list(session="trip").episodes
    djinn.memories.purge(episode.address)
    assert counts(djinn.import_history([log])) == (0, 2)
    djinn.close()
    djinn.home.index_path.unlink()
    assert counts(djinn.import_history([log])) == (0, 2)
    assert djinn.episodes.list(session="trip").total == 0


def test_the_path_of_a_chatgpt_conversation(djinn: Djinn, tmp_path: Path) -> None:
    picture = {"content_type": "multimodal_text",
               "parts": [{"content_type": "image_asset_pointer"}, "What is this?"]}  # fmt: skip
    hidden = {"is_visually_hidden_from_conversation": True}
    conversation = chatgpt(
        [
            node("s", "root", "system", "", None, metadata=hidden),
            node("q", "s", "user", "", 1_769_000_001.0, content=picture),
            node("t", "q", "assistant", "search(boats)", None, recipient="web"),
            node("r", "t", "tool", "A list of boats", None),
            node("a", "r", "assistant", "A boat.", 1_769_000_009.0),
        ],
        "a",
    )
    file = zipped(tmp_path / "export.zip", conversations=[conversation, {"mapping": 3}, trip()])
    report = djinn.import_history([file])
    assert counts(report) == (2, 0)
    [problem] = report.problems
    assert "element 2" in problem.what
    [episode] = [
        djinn.episodes.show(each.id or "")
        for each in djinn.episodes.list(session="67f0-trip").episodes
        if "image" in each.title
    ]
    assert (episode.message, episode.response) == ("[image]\n\nWhat is this?", "A boat.")
    assert episode.context == {
        "conversation": "Trip", "tools": ["web: search(boats)", "result: A list of boats"],
    }  # fmt: skip


def test_occurrences_until_now(home: Home, tmp_path: Path) -> None:
    folder = write_exports(tmp_path / "exports")
    with Djinn(home, clock=lambda: datetime(2026, 3, 20, tzinfo=UTC)) as djinn:
        report = djinn.import_history([folder / "work.ics"])
        assert counts(report) == (2, 0)
        assert report.files[0].left_out == {"events that are still to come": 3}
        titles = [text.split("\n")[:2] for text, _ in texts(djinn, "Work")]
        assert titles == [
            ["Standup", "2026-03-02 09:30 to 09:45 Europe/Berlin"],
            ["Standup, later", "2026-03-16 11:00 to 11:15 Europe/Berlin"],
        ]
    with Djinn(home, clock=lambda: datetime(2026, 6, 1, tzinfo=UTC)) as djinn:
        assert counts(djinn.import_history([folder / "work.ics"])) == (2, 2)
        assert [text.split("\n")[1] for text, _ in texts(djinn, "Work")][-1] == (
            "2026-05-01 to 2026-05-02, all day"
        )


FOREVER = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
UID:a
SUMMARY:Bin day
DTSTART:20260101T070000
RRULE:FREQ=DAILY
END:VEVENT
BEGIN:VEVENT
UID:b
SUMMARY:Tick
DTSTART:20260101T070000Z
RRULE:FREQ=SECONDLY
END:VEVENT
BEGIN:VEVENT
UID:c
SUMMARY:No start
END:VEVENT
END:VCALENDAR
"""


def test_events_without_an_end_and_broken_ones(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "forever.ics"
    file.write_text(FOREVER)
    with Djinn(home, clock=lambda: datetime(2026, 1, 11, tzinfo=UTC)) as djinn:
        report = djinn.import_history([file])
    assert report.recorded == 10
    assert [problem.what.rpartition(": ")[2] for problem in report.problems] == ["Tick", "No start"]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["DTSTART:yesterday"], "DTSTART of the event cannot be read"),
        (["DTSTART:20250101T100000Z", "RRULE:FREQ=OFTEN"], "RRULE of the event cannot be read"),
        (["DTSTART:20250101T100000Z", "RRULE:COUNT=2"], "the rule or a date of the event cannot"),
        (["DTSTART:20250101T100000Z", "RRULE:FREQ=SECONDLY"], "occurs more than 48 times a day"),
    ],
)
def test_an_event_that_cannot_be_read_is_named(
    djinn: Djinn, tmp_path: Path, lines: list[str], why: str
) -> None:
    events = [["UID:a", "SUMMARY:Team", *lines], ["UID:b", "DTSTART:20250101T100000Z"]]
    file = tmp_path / "a.ics"
    file.write_text(calendar_of(*events))
    report = djinn.import_history([file])
    assert report.recorded == 1
    [problem] = report.problems
    assert problem.what == f"{file}: Team"
    assert why in problem.why and "Error" not in problem.why and "Broken" not in problem.why
    assert problem.why.endswith("; correct it in the calendar, then export it again")


def test_a_calendar_that_is_cut_off_or_none(djinn: Djinn, tmp_path: Path) -> None:
    whole = calendar_of(["UID:a", "DTSTART:20250101T100000Z"])
    file = tmp_path / "a.ics"
    file.write_text(whole + calendar_of(["UID:b", "DTSTART:20250101T100000Z"])[:60])
    report = djinn.import_history([file])
    assert (report.recorded, [problem.what for problem in report.problems]) == (1, [str(file)])
    assert "END:VCALENDAR is missing" in report.problems[0].why
    file.write_text("BEGIN:VCALENDAR\r\nnonsense\r\nEND:VCALENDAR\r\n")
    [problem] = djinn.import_history([file]).problems
    assert problem.why == "is not a calendar file that can be read; export the calendar again"


@pytest.mark.parametrize("rule", ["", "RRULE:FREQ=DAILY;UNTIL=19710103T100000Z"])
def test_events_before_1971_are_left_out(home: Home, tmp_path: Path, rule: str) -> None:
    home.edit((("import", "calendar_past"), "99y"))
    djinn = Djinn(Home(home.root))
    file = tmp_path / "a.ics"
    file.write_text(calendar_of(["UID:a", "DTSTART:19691230T100000Z", *filter(None, [rule])]))
    report = djinn.import_history([file])
    assert (report.recorded, report.problems) == (3 if rule else 0, ())
    assert report.files[0].left_out == {"events before 1971": 1}


def calendar_of(*events: list[str]) -> str:
    """A calendar with events that have these lines."""
    inner = [line for event in events for line in ("BEGIN:VEVENT", *event, "END:VEVENT")]
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *inner, "END:VCALENDAR", ""])


def test_messages_without_a_time(djinn: Djinn, tmp_path: Path) -> None:
    log = [said("user", "First"), said("assistant", "ok"), said("user", "ok"), said("user", "ok"),
           said("assistant", "Last", "2026-03-01T10:00:00Z")]  # fmt: skip
    report = djinn.import_history([lines(tmp_path / "log.jsonl", log)])
    assert counts(report) == (3, 0)
    assert {each.created for each in djinn.episodes.list(session="log").episodes} == {
        "2026-03-01T10:00:00Z"
    }
    # A longer copy under another name has the same messages.
    longer = lines(tmp_path / "copy.jsonl", [*log, said("user", "ok")])
    assert counts(djinn.import_history([longer])) == (1, 3)


@pytest.mark.parametrize("time", [1e400, -1e400, float("nan"), "9" * 59, 10**300])
def test_times_that_are_no_times(djinn: Djinn, tmp_path: Path, time: object) -> None:
    log = [said("user", "Hi", time), said("assistant", "ok", time)]
    assert counts(djinn.import_history([lines(tmp_path / "log.jsonl", log)])) == (1, 0)


@pytest.mark.parametrize(
    "text",
    [
        '{"role": "user", "content":' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"mapping": ' + '{"a": 1, "b": ' * 50_000,
        "[" * 50_000,
        '{"role": "user", "content": "Hi", "timestamp": ' + "1" * 10_000 + "}",
        '[{"role": "user", "content": "Hi", "timestamp": ' + "1" * 10_000 + "}]",
    ],
)
def test_json_that_the_parser_cannot_bear(djinn: Djinn, tmp_path: Path, text: str) -> None:
    file = tmp_path / "log.json"
    file.write_text(f'{text}\n{{"role": "user", "content": "Behind it"}}\n')
    try:
        report = djinn.import_history([file])
    except UsageError as error:
        assert "has no known format" in str(error)
    else:
        assert counts(report) == (1, 0)
        assert len(report.problems) == 1


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 100_000])
def test_a_gate_counts_no_brackets_in_strings(size: int) -> None:
    inner = json.dumps('[{"\\' * 300 + '\\"' + "9" * 3_000)
    value = f'{{"a": [{inner}, {{"b": {inner}}}]}}'.encode()
    gate = Gate(BytesIO(value * 20))
    while gate.read(size):
        pass
    gate = Gate(BytesIO(value * 20 + b"[" * 501))
    with pytest.raises(ValueError, match="nested too deep"):
        while gate.read(size):
            pass


def test_a_gate_reads_quotes_in_linear_time() -> None:
    def read(size: int) -> None:
        gate = Gate(BytesIO(b'"' + b'\\"' * size))
        while gate.read(65_536):
            pass

    assert_linear(read, 400_000)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=HOURLY;BYMINUTE=0,1,2,3,4,5",
        "FREQ=DAILY;BYHOUR=0,1,2,3,4,5,6,7;BYMINUTE=0,10,20,30,40,50;BYSECOND=0,30",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=31",
    ],
)
def test_rules_that_would_take_for_ever(djinn: Djinn, tmp_path: Path, rule: str) -> None:
    lines = ["BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:a", "SUMMARY:Never", f"RRULE:{rule}",
             "DTSTART:20250101T100000Z", "END:VEVENT", "BEGIN:VEVENT", "UID:b", "SUMMARY:Once",
             "DTSTART:20250101T100000Z", "END:VEVENT", "END:VCALENDAR", ""]  # fmt: skip
    file = tmp_path / "a.ics"
    file.write_text("\r\n".join(lines))
    report = djinn.import_history([file])
    assert report.recorded <= 2
    assert len(report.problems) + report.recorded == 2


def test_a_daily_event_is_read_in_linear_time() -> None:
    text = (
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\nSUMMARY:Stand-up\r\nRRULE:FREQ=DAILY\r\n"
        "DTSTART:20000101T100000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )

    def read(days: int) -> None:
        now = datetime(2000, 1, 1, 12, tzinfo=UTC) + timedelta(days=days)
        period = ImportPeriod(datetime(2000, 1, 1, tzinfo=UTC), now)
        found = read_calendar(BytesIO(text.encode()), now, period, lambda _: None)
        messages = [each for each in found if isinstance(each, Message)]
        assert len({message.at for message in messages}) == len(messages) == days + 1

    assert_linear(read, 4_000)


def test_a_long_message_is_kept_in_parts(djinn: Djinn, tmp_path: Path) -> None:
    text = "boat " * (MAX_TEXT // 5 + 10)
    log = [said("user", text, 1_772_359_300, id="m"), said("assistant", text, 1_772_359_301)]
    file = lines(tmp_path / "log.jsonl", log)
    djinn.import_history([file])
    kept = texts(djinn, "log")
    assert "".join(message for message, _ in kept).count("boat") + (kept[0][1] or "").count(
        "boat"
    ) == 2 * text.count("boat")
    assert counts(djinn.import_history([file])) == (0, 1)


TRANSCRIPTS = [
    {"type": "summary", "summary": "Boats", "leafUuid": "u1"},
    {"type": "user", "sessionId": "cc", "uuid": "u1", "timestamp": "2026-03-01T10:00:00Z",
     "cwd": "/boat", "message": {"role": "user", "content": "Fix the pump."}},
    {"type": "assistant", "sessionId": "cc", "uuid": "u2", "timestamp": "2026-03-01T10:00:02Z",
     "message": {"role": "assistant", "content": [
         {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I read the manual."},
         {"type": "tool_use", "name": "Read", "input": {"file": "pump.md"}}]}},
    {"type": "user", "sessionId": "cc", "uuid": "u3", "timestamp": "2026-03-01T10:00:03Z",
     "message": {"role": "user", "content": [{"type": "tool_result", "content": "Turn left"}]}},
    {"type": "assistant", "sessionId": "cc", "uuid": "u4", "timestamp": "2026-03-01T10:00:09Z",
     "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}},
    {"type": "assistant", "sessionId": "cc", "uuid": "u5", "isSidechain": True,
     "message": {"role": "assistant", "content": "aside"}},
]  # fmt: skip


def test_a_transcript_of_claude_code(djinn: Djinn, tmp_path: Path) -> None:
    djinn.import_history([lines(tmp_path / "cc.jsonl", TRANSCRIPTS)])
    [episode] = djinn.episodes.list(session="cc", channel="claude-code").episodes
    shown = djinn.episodes.show(episode.id or "")
    assert (shown.message, shown.response) == ("Fix the pump.", "I read the manual.\n\nDone.")
    assert shown.context == {
        "folder": "/boat", "tools": ["Read: file=pump.md", "result: Turn left"],
    }  # fmt: skip


def test_a_transcript_of_codex(djinn: Djinn, tmp_path: Path) -> None:
    def item(role: str, text: str) -> dict[str, object]:
        kind = "input_text" if role == "user" else "output_text"
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"timestamp": "2026-03-01T10:00:00Z", "type": "response_item", "payload": payload}

    meta = {"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": {"id": "cx"}}
    records = [
        meta,
        item("user", "<environment_context>x</environment_context>"),
        item("user", "Sum up."),
        item("assistant", "All is well."),
    ]
    djinn.import_history([lines(tmp_path / "rollout.jsonl", records)])
    assert texts(djinn, "cx") == [("Sum up.", "All is well.")]


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [said("user", "Why?"), said("assistant", "So.")]},
        {"prompt": "Why?", "completion": "So."},
        {"instruction": "Why?", "output": "So."},
        {"conversations": [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "So."}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]},
                      {"role": "assistant", "content": [{"type": "text", "text": "So."}]}]},
    ],
)  # fmt: skip
def test_forms_of_chat_logs(djinn: Djinn, tmp_path: Path, record: dict[str, object]) -> None:
    file = lines(tmp_path / "log.jsonl", [record])
    assert counts(djinn.import_history([file])) == (1, 0)
    [episode] = djinn.episodes.list().episodes
    shown = djinn.episodes.show(episode.id or "")
    assert (shown.message, shown.response) == ("Why?", "So.")
    whole = tmp_path / "array.json"
    whole.write_text(json.dumps([record], indent=2))
    assert counts(djinn.import_history([whole])) == (0, 1)


def test_names_instead_of_roles(djinn: Djinn, tmp_path: Path) -> None:
    log = [{"author": "anna", "text": "Ahoy", "date": "2026-03-01T10:00:00Z"},
           {"author": "ben", "text": "Aye", "date": "2026-03-01T10:01:00Z"}]  # fmt: skip
    file = lines(tmp_path / "log.jsonl", log)
    djinn.import_history([file], person="Anna")
    assert texts(djinn, "log") == [("Ahoy", "ben: Aye")]


def test_roles_count_beside_the_name_of_the_user(djinn: Djinn, tmp_path: Path) -> None:
    log = [said("user", "Which pier?", "2026-03-01T10:00:00Z"),
           said("assistant", "Pier 4.", "2026-03-01T10:00:01Z")]  # fmt: skip
    djinn.import_history([lines(tmp_path / "log.jsonl", log)], person="Anna")
    assert texts(djinn, "log") == [("Which pier?", "Pier 4.")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_encodings(djinn: Djinn, tmp_path: Path, encoding: str) -> None:
    text = json.dumps(
        [said("user", "Grüße aus Ålesund", "2026-03-01T10:00:00Z")], ensure_ascii=False
    )
    file = tmp_path / "log.json"
    file.write_bytes(text.encode(encoding))
    assert counts(djinn.import_history([file])) == (1, 0)
    assert texts(djinn, "log")[0][0] == "Grüße aus Ålesund"


def test_what_is_broken_is_named_and_the_rest_recorded(djinn: Djinn, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    good = json.dumps(LOG[0]).encode()
    (folder / "log.jsonl").write_bytes(good + b"\n{broken\n[1]\n" + b'{"a":' * 3000 + b"\n")
    whole = json.dumps([BOAT, trip()])
    (folder / "cut.json").write_text(whole[: len(whole) // 2])
    (folder / "empty.json").write_bytes(b"")
    (folder / "bad.zip").write_bytes(b"PK\3\4 and no more")
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.json", json.dumps([BOAT]))
        archive.writestr("zeros.json", b"[" + b" " * 60_000_000)
    report = djinn.import_history([folder])
    assert report.recorded == 3
    what = {Path(problem.what.partition(",")[0]).name for problem in report.problems}
    assert {"log.jsonl", "cut.json", "bad.zip", "zeros.json"} <= what
    [bomb] = [problem.why for problem in report.problems if "zeros.json" in problem.what]
    assert "would unpack 60,000,001 bytes from" in bomb and "as a zip bomb does" in bomb
    assert not (tmp_path.parent / "evil.json").exists()


def test_paths_without_anything_to_import(djinn: Djinn, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("Nothing.\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match=r"note\.txt: has no known format"):
        djinn.import_history([note])
    with pytest.raises(UsageError, match="no known format"):
        djinn.import_history([empty])
    with pytest.raises(NotFound, match="no such file"):
        djinn.import_history([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="at least one path"):
        djinn.import_history([])


def test_two_imports_at_once(djinn: Djinn, tmp_path: Path) -> None:
    file = lines(tmp_path / "log.jsonl", LOG)
    vault = djinn.home.personal("me")
    place = djinn.home.state / "locks" / f"import-{vault.id.replace('/', '-')}.lock"
    with lock(place), pytest.raises(DjinnError, match="another process imports"):
        djinn.import_history([file])
    assert counts(djinn.import_history([file])) == (2, 0)


def test_a_killed_import_continues(home: Home, tmp_path: Path) -> None:
    file = lines(
        tmp_path / "log.jsonl",
        (said("user", f"Message {number} of the log", 1_772_000_000 + 400 * number, id=str(number))
         for number in range(600)),
    )  # fmt: skip
    program = (
        "import sys; from pathlib import Path; from djinn_memory.djinn import Djinn\n"
        "from djinn_memory.memories.imports import importer\n"
        "importer.BATCH = 20\n"
        "Djinn.open(sys.argv[1]).import_history([Path(sys.argv[2])])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(home.root), str(file)])
    journal = home.root / "vaults" / "me" / "journal"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any(
        path.stat().st_size > 10_000 for path in journal.glob("*.md")
    ):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Djinn(home) as djinn:
        report = djinn.import_history([file])
        assert report.known > 0 and report.recorded + report.known == 600
        assert djinn.episodes.stats().total == 600


def test_batches_are_one_import(
    djinn: Djinn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "BATCH", 3)
    log = [said("user", f"Ahoy {number}", 1_772_000_000 + number) for number in range(20)]
    file = lines(tmp_path / "log.jsonl", [*log, *log[:5]])
    report = djinn.import_history([file])
    assert counts(report) == (20, 5) and report.embedded == 20
    found = djinn.search("Ahoy 7", mode="meaning").hits
    assert found[0].title == "Ahoy 7"


def test_slack_users_are_found_by_any_of_their_names(djinn: Djinn, tmp_path: Path) -> None:
    folder = slack(tmp_path / "export")
    bot = slack_message("", "1767600095.000100", "Deployed", username="Deploy bot",
                        subtype="bot_message")  # fmt: skip
    day = folder / "harbour" / "2026-01-05.json"
    day.write_text(json.dumps([*DAY, bot, {"type": "message"}]))
    report = djinn.import_history([folder], person="Ben Fjord")
    assert report.recorded == 5
    assert [problem.why for problem in report.problems] == ["it has no ts; it was left out"]
    assert texts(djinn, "harbour") == [
        ("The crane is down.", None), ("Deploy bot: Deployed", None),
    ]  # fmt: skip


def test_ids_that_two_logs_share(djinn: Djinn, tmp_path: Path) -> None:
    for name in ("one", "two"):
        records = [said("user", f"Hello {name}", id=1), said("assistant", "Hi", id=2)]
        report = djinn.import_history([lines(tmp_path / f"{name}.jsonl", records)])
        assert counts(report) == (1, 0)


def test_secrets_are_masked_wherever_they_are(djinn: Djinn, tmp_path: Path) -> None:
    message = claude_message(1, "human", f"I use {SECRET}", files=[{"file_name": f"{SECRET}.txt"}])
    message["uuid"] = f"m-{SECRET}"
    exports = [
        zipped(tmp_path / "c.zip", conversations=[claude(message, name=SECRET, uuid=SECRET)]),
        lines(tmp_path / "l.jsonl", [said("user", "Hello", thread=SECRET, title=SECRET)]),
    ]
    assert counts(djinn.import_history(exports)) == (2, 0)
    assert counts(djinn.import_history(exports)) == (0, 2)
    for path in (djinn.home.root / "vaults").rglob("*.md"):
        assert SECRET not in path.read_text(encoding="utf-8")
    assert SECRET.encode() not in djinn.home.index_path.read_bytes()


PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "imports.md"


def test_the_examples_of_the_page_are_recorded(djinn: Djinn, tmp_path: Path) -> None:
    blocks = re.findall(r"```(jsonl|json|ics)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 5
    for number, (kind, text) in enumerate(blocks):
        file = tmp_path / f"{number}.{kind}"
        file.write_text(text, encoding="utf-8")
        report = djinn.import_history([file])
        assert report.problems == () and report.recorded


@pytest.mark.skipif(os.name != "posix", reason="has no limits")
def test_a_disk_that_is_full(home: Home, tmp_path: Path) -> None:
    file = lines(
        tmp_path / "log.jsonl",
        (
            said("user", f"Message {number} of the log", 1_772_000_000 + number)
            for number in range(99)
        ),
    )
    program = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from djinn_memory.djinn import Djinn\n"
        "djinn = Djinn.open(sys.argv[1])\n"
        "djinn.index()\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    djinn.import_history([Path(sys.argv[2])])\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(home.root), str(file)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.startswith("Unavailable ") and done.stdout.count("\n") == 1
    with Djinn(home) as djinn:
        report = djinn.import_history([file])
        assert report.recorded + report.known == 99
        assert djinn.episodes.stats().total == 99


def zip_of(path: Path, name: str, data: bytes, *, encrypted: bool = False) -> Path:
    """A zip archive with one file; as if encrypted, by the mark that an archive has then."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, data)
    if encrypted:
        marked = bytearray(path.read_bytes())
        marked[6] |= 1
        marked[marked.rindex(b"PK\1\2") + 8] |= 1
        path.write_bytes(marked)
    return path


def test_archives_that_must_be_unpacked_first(djinn: Djinn, tmp_path: Path) -> None:
    chat = json.dumps(said("user", "Hello")).encode()
    locked = zip_of(tmp_path / "a.zip", "chat.jsonl", chat, encrypted=True)
    with pytest.raises(
        DjinnError, match=r"a\.zip/chat\.jsonl: cannot be read: it is encrypted; unp"
    ):
        djinn.import_history([locked])
    inner = zip_of(tmp_path / "in.zip", "chat.jsonl", chat)
    outer = zip_of(tmp_path / "outer.zip", "in.zip", inner.read_bytes())
    with pytest.raises(UsageError, match=r"outer\.zip: has only archives; unpack it"):
        djinn.import_history([outer])
    inner.unlink()
    outer.unlink()
    zip_of(tmp_path / "b.zip", "chat.jsonl", chat)
    report = djinn.import_history([tmp_path])
    assert report.recorded == 1
    assert [problem.what for problem in report.problems] == [f"{locked}/chat.jsonl"]


def test_paths_are_shown_without_detours(
    djinn: Djinn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    lines(tmp_path / "chat.jsonl", [said("user", "Hello")])
    for path, shown in (("sub/../chat.jsonl", ""), (".", ""), ("../" + tmp_path.name, "../*/")):
        [file] = djinn.import_history([Path(path)]).files
        assert file.file == shown.replace("*", tmp_path.name) + "chat.jsonl"
    (tmp_path / "chat.jsonl").write_text("nothing")
    with pytest.raises(UsageError, match=r"^chat\.jsonl: has no known format"):
        djinn.import_history([Path("sub/../chat.jsonl")])
