"""The import of large calendars beside the parser of their library, and its memory.

Run: `python benchmarks/calendars.py [--events 100000]`. 100,000 events take five minutes.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from common import PROGRAM, home_with, machine, peak_mb, table

EVENTS = 100_000
YEARS = 15
"""The years before now over which the events are spread."""

WORDS = [
    "ferry", "harbour", "lamp", "budget", "meeting", "report", "server", "deploy", "release",
    "customer", "invoice", "Anna", "Berg", "Oslo", "Berlin", "review", "code",
]  # fmt: skip

PARSE = "import sys; from pathlib import Path; from icalendar import Calendar; "
PARSE += "Calendar.from_ical(Path(sys.argv[1]).read_bytes())"


def stamp(at: datetime) -> str:
    """A time in UTC as calendars write it."""
    return f"{at:%Y%m%dT%H%M%SZ}"


def plain_events(number: int) -> Iterator[list[str]]:
    """Events without a repetition, in no order."""
    dice, now = random.Random(7), datetime.now(UTC)
    for each in range(number):
        start = now - timedelta(minutes=dice.randrange(YEARS * 365 * 24 * 60))
        yield [
            f"UID:{each}@example.org",
            f"DTSTAMP:{stamp(now)}",
            f"SUMMARY:{' '.join(dice.choices(WORDS, k=4))}",
            f"DTSTART:{stamp(start)}",
            f"DTEND:{stamp(start + timedelta(hours=1))}",
            f"LOCATION:Room {each % 9}",
            f"DESCRIPTION:{' '.join(dice.choices(WORDS, k=12))}",
        ]


def repeating(*lines: str) -> list[list[str]]:
    """A calendar with one event."""
    return [["UID:one", "SUMMARY:Standup", *lines]]


def hostile(number: int) -> dict[str, list[list[str]]]:
    """Calendars whose only event takes long to read."""
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=300)
    dates = [stamp(start + timedelta(minutes=31 * each)) for each in range(number)]
    begins = f"DTSTART:{stamp(start)}"
    return {
        "a daily event since 1970": repeating("DTSTART:19700101T100000Z", "RRULE:FREQ=DAILY"),
        f"{number:,} RDATE": repeating(begins, *(f"RDATE:{date}" for date in dates)),
        f"{number:,} EXDATE": repeating(
            begins, "RRULE:FREQ=DAILY", *(f"EXDATE:{date}" for date in dates)
        ),
        "a description of 10 MB": repeating(begins, f"DESCRIPTION:{'lorem ipsum ' * 833_333}"),
        "a rule that never applies": repeating(
            "DTSTART:19700101T100000Z", "RRULE:FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=31"
        ),
    }


def write(path: Path, events: Iterator[list[str]] | list[list[str]]) -> Path:
    """A calendar file with events that have these lines."""
    with path.open("w", encoding="utf-8", newline="\r\n") as file:
        file.write("BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//djinn//EN\n")
        for lines in events:
            file.write("\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT", ""]))
        file.write("END:VCALENDAR\n")
    return path


def measured(command: list[str]) -> tuple[float, float]:
    """The wall seconds of a process, and its peak memory in MB."""
    began = time.perf_counter()
    memory = peak_mb(command)
    return time.perf_counter() - began, memory


def main() -> None:
    """Import made calendars."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=EVENTS)
    number = parser.parse_args().events
    print("## Calendars\n")
    print(f"`python benchmarks/calendars.py` on {machine()}\n")
    print("By words only, without the model:\n")
    rows = []
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        file = write(Path(folder) / "work.ics", plain_events(number))
        base, memory = measured([sys.executable, "-c", PARSE, str(file)])
        rows.append([f"the library parses {number:,} events", base, memory, "1.0", ""])
        with home_with() as home:
            home.edit((("embedding", "provider"), "none"))
            command = [*PROGRAM, "--home", str(home.root), "import", str(file)]
            for label in (f"import of {number:,} events", "the same again"):
                took, memory = measured(command)
                bar = "60 s, 200 MB" if label[0] == "i" else ""
                rows.append([label, took, memory, f"{took / base:.1f}", bar])
        for label, events in hostile(number).items():
            file = write(Path(folder) / "one.ics", events)
            with home_with() as home:
                home.edit((("embedding", "provider"), "none"))
                command = [*PROGRAM, "--home", str(home.root), "import", str(file)]
                # An event with more than 10,000 occurrences is a problem of exit code 1.
                took, memory = measured(["sh", "-c", '"$@" || [ $? = 1 ]', "sh", *command])
                rows.append([f"import of {label}", took, memory, f"{took / base:.2f}", ""])
    table(
        ["what", "time", "peak", "of the parser", "bar"],
        [[what, f"{took:.1f} s", f"{memory:.0f} MB", *rest] for what, took, memory, *rest in rows],
    )


if __name__ == "__main__":
    main()
