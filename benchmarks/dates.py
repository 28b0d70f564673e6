"""What dates in questions bring, on a made year of episodes in which topics recur.

Most sessions about a topic differ in their date alone. The expected periods are computed here, and
not by djinn. Run: `python benchmarks/dates.py`
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from common import home_with, machine, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.recorder import Turn, record_turns

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
"""A Friday."""

TODAY = NOW.date()
SESSIONS = 480
SEED = 11

TOPICS = (
    "tide gauge", "ferry timetable", "harbour lamp", "winter berths", "sailing school",
    "fuel dock", "rudder repair", "club newsletter", "weather feed", "race results",
    "visitor moorings", "payment terminal", "crane booking", "radio licence", "boat wash",
    "lifejacket check",
)  # fmt: skip
OPENINGS = (
    "How does it look with the {topic} at the moment?",
    "I want to talk about the {topic} again, please.",
    "Can we go through the {topic} once more?",
    "The {topic} came up in the meeting. What is the state of it?",
)
STATES = (
    "It is {state}. {person} looks after it and will report to the {body}.",
    "{person} says that it is {state}, and the {body} knows about it.",
    "As {person} told the {body}, it is {state} for now.",
)
STATE = (
    "late", "nearly done", "more expensive than we thought", "blocked by a missing part",
    "waiting for an offer", "working again", "broken once more", "ready for a test",
)  # fmt: skip
PEOPLE = ("Maren", "Tobias", "Pauline", "Ilse", "Finn", "Grace", "Jonas", "Wilma")
BODIES = ("board", "treasurer", "harbour master", "council", "crew")
CLOSINGS = (
    "Then let us ask {person} for a second opinion.",
    "Good. Please tell {person} that I agree.",
    "I will call {person} about the {topic} and write it down.",
)
ASKED = (
    "What did we say about the {topic} {when}?",
    "What was the state of the {topic} {when}?",
    "Who looked after the {topic} {when}?",
    "What was wrong with the {topic} {when}?",
)
UNDATED = (
    "What is the state of the {topic}?",
    "Who looks after the {topic}?",
    "Did the {topic} ever work again?",
)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


class Session(NamedTuple):
    """A made session."""

    name: str
    topic: str
    day: date


class Question(NamedTuple):
    """A question, and the names of the sessions that answer it."""

    form: str
    text: str
    answers: frozenset[str]


def days_ago(number: int) -> date:
    """A day before today."""
    return TODAY - timedelta(days=number)


def spoken(day: date) -> str:
    """A day of this year in words."""
    return f"{day.day} {MONTHS[day.month - 1]}"


def month(number: int) -> tuple[date, date]:
    """The last month with this number, from its first to its last day."""
    year = TODAY.year if number <= TODAY.month else TODAY.year - 1
    begin = date(year, number, 1)
    return begin, (begin + timedelta(days=31)).replace(day=1) - timedelta(days=1)


Draw = Callable[[random.Random, date], tuple[str, date, date]]


def _weekday(draw: random.Random, day: date) -> tuple[str, date, date]:
    near = days_ago(draw.randrange(1, 8))
    return f"last {near:%A}", near, near


def _in_month(draw: random.Random, day: date) -> tuple[str, date, date]:
    return f"in {MONTHS[day.month - 1]}", *month(day.month)


def _between(draw: random.Random, day: date) -> tuple[str, date, date]:
    first = draw.randrange(1, 9)
    words = f"between {MONTHS[first - 1]} and {MONTHS[first]}"
    return words, month(first)[0], month(first + 1)[1]


FORMS: dict[str, Draw] = {
    "yesterday": lambda draw, day: ("yesterday", days_ago(1), days_ago(1)),
    "last Tuesday": _weekday,
    "N days ago": lambda draw, day: (f"{(n := draw.randrange(2, 7))} days ago", days_ago(n),
                                     days_ago(n)),
    "last week": lambda draw, day: ("last week", date(2026, 11, 9), date(2026, 11, 15)),
    "this week": lambda draw, day: ("this week", date(2026, 11, 16), date(2026, 11, 22)),
    "two weeks ago": lambda draw, day: ("two weeks ago", days_ago(17), days_ago(11)),
    "a few weeks ago": lambda draw, day: ("a few weeks ago", days_ago(42), days_ago(14)),
    "last month": lambda draw, day: ("last month", date(2026, 10, 1), date(2026, 10, 31)),
    "in MONTH": _in_month,
    "in early MONTH": lambda draw, day: (
        f"in early {MONTHS[day.month - 1]}", month(day.month)[0],
        month(day.month)[0].replace(day=10)),
    "on D MONTH": lambda draw, day: (f"on {spoken(day)}", day, day),
    "on MONTH D, YEAR": lambda draw, day: (
        f"on {MONTHS[day.month - 1]} {day.day}, {day.year}", day, day),
    "on ISO": lambda draw, day: (f"on {day}", day, day),
    "around D MONTH": lambda draw, day: (
        f"around {spoken(day)}", day - timedelta(days=3), day + timedelta(days=3)),
    "the week before D MONTH": lambda draw, day: (
        f"the week before {spoken(day)}", day - timedelta(days=7), day - timedelta(days=1)),
    "between MONTH and MONTH": _between,
    "since D MONTH": lambda draw, day: (
        f"since {spoken(near := days_ago(draw.randrange(10, 40)))}", near, TODAY),
    "before D MONTH YEAR": lambda draw, day: (
        f"before {spoken(near := date(2025, 12, draw.randrange(5, 28)))} {near.year}",
        date(2025, 1, 1), near - timedelta(days=1)),
    "over the summer": lambda draw, day: (
        "over the summer", date(2026, 6, 1), date(2026, 8, 31)),
    "last spring": lambda draw, day: ("last spring", date(2026, 3, 1), date(2026, 5, 31)),
    "around Christmas": lambda draw, day: (
        "around Christmas", date(2025, 12, 17), date(2026, 1, 2)),
    "in Q1": lambda draw, day: ("in Q1", date(2026, 1, 1), date(2026, 3, 31)),
}  # fmt: skip
"""By form: words for a period, with its first and last day. The given day is that of a session."""


def made_year() -> tuple[list[Session], list[Turn]]:
    """The sessions of a year until yesterday, and their turns."""
    draw = random.Random(SEED)
    sessions, turns = [], []
    days = sorted(days_ago(draw.randrange(1, 366)) for _ in range(SESSIONS))
    for number, day in enumerate(days):
        session = Session(f"s{number:03}", draw.choice(TOPICS), day)
        sessions.append(session)
        at = datetime(day.year, day.month, day.day, draw.randrange(8, 18), 0, tzinfo=UTC)
        for place, (asked, said) in enumerate(_dialogue(draw, session.topic)):
            moment = at + timedelta(minutes=3 * place, seconds=number % 60)
            turns.append(Turn("interaction", asked, said, moment, session.name, "cli"))
    return sessions, turns


def _dialogue(draw: random.Random, topic: str) -> Iterable[tuple[str, str]]:
    words = {
        "topic": topic, "person": draw.choice(PEOPLE), "body": draw.choice(BODIES),
        "state": draw.choice(STATE),
    }  # fmt: skip
    yield draw.choice(OPENINGS).format(**words), draw.choice(STATES).format(**words)
    yield draw.choice(CLOSINGS).format(**words), "I made a note of it."


def planned() -> list[tuple[Turn, Question]]:
    """Turns whose text names a month that is not theirs, each with a question about that."""
    draw, pairs = random.Random(SEED + 1), []
    for number, topic in enumerate(TOPICS):
        name, when = f"p{number:02}", MONTHS[(number * 5) % 12]
        day = days_ago(draw.randrange(20, 360))
        at = datetime(day.year, day.month, day.day, 9, 30, 30, tzinfo=UTC)
        said = f"The open day of the {topic} is planned for {when}."
        forms = (
            f"What was planned for {when} about the {topic}?",
            f"What about the {topic} was to happen in {when}?",
        )
        for form, text in zip(("planned for MONTH", "in MONTH, in the text"), forms, strict=True):
            turn = Turn("observation", said, "", at, name, "cli")
            pairs.append((turn, Question(form, text, frozenset({name}))))
    return pairs


def dated_questions(sessions: list[Session]) -> list[Question]:
    """Ten questions of each form that at most five sessions answer."""
    draw, questions = random.Random(SEED + 2), []
    for form, period in FORMS.items():
        seen: set[str] = set()
        for _ in range(2000):
            near = draw.choice(sessions)
            when, first, last = period(draw, near.day)
            text = draw.choice(ASKED).format(topic=near.topic, when=when)
            answers = frozenset(
                session.name
                for session in sessions
                if session.topic == near.topic and first <= session.day <= last
            )
            if 0 < len(answers) <= 5 and text not in seen:
                seen.add(text)
                questions.append(Question(form, text, answers))
            if len(seen) == 10:
                break
    return questions


def undated_questions() -> list[Question]:
    """Questions that name no time."""
    return [
        Question("no date", form.format(topic=topic), frozenset())
        for topic in TOPICS
        for form in UNDATED
    ]


class Year:
    """The made year in a home."""

    def __init__(self, stack: ExitStack) -> None:
        self.home = stack.enter_context(home_with())
        self.home.edit((("search", "sweep_ms"), 0))
        self.sessions, turns = made_year()
        self.planned = planned()
        turns += {turn.session: turn for turn, _ in self.planned}.values()
        self.session_at = {f"{turn.at:%Y-%m-%dT%H:%M:%SZ}": turn.session for turn in turns}
        djinn = Djinn(self.home, clock=lambda: NOW)
        record_turns(djinn.runtime, "me", turns)
        djinn.index()

    def ask(self, questions: list[Question], *, dates: bool) -> list[list[str]]:
        """By question the sessions, best first."""
        self.home.edit((("search", "dates"), dates))
        djinn = Djinn(Home(self.home.root), clock=lambda: NOW)
        return [
            [*dict.fromkeys(
                self.session_at[str(hit.created)]
                for hit in djinn.search(question.text, limit=40).hits
            )]
            for question in questions
        ]  # fmt: skip


def recall(ranked: list[str], question: Question, depth: int = 5) -> float:
    """The share of the sessions that answer which are among the first."""
    return len(question.answers & set(ranked[:depth])) / len(question.answers)


def rows(
    questions: list[Question], off: list[list[str]], on: list[list[str]]
) -> list[list[object]]:
    """By form a row with R@5 without dates and with them."""
    table_rows: list[list[object]] = []
    for form in [*dict.fromkeys(question.form for question in questions), "all"]:
        at = [n for n, question in enumerate(questions) if form in (question.form, "all")]
        values = [sum(recall(ranks[n], questions[n]) for n in at) / len(at) for ranks in (off, on)]
        table_rows.append([form, len(at), *(f"{value:.3f}" for value in values)])
    return table_rows


def main() -> None:
    """Print the figures as tables."""
    with ExitStack() as stack:
        year = Year(stack)
        head = ["form", "questions", "without dates", "with dates"]
        print("## Dates in questions\n")
        print(f"`python benchmarks/dates.py` on {machine()}\n")
        print(
            f"A made year of {SESSIONS} sessions about {len(TOPICS)} topics. Sessions, recall@5:\n"
        )
        for questions in (dated_questions(year.sessions), [pair[1] for pair in year.planned]):
            off, on = (year.ask(questions, dates=dates) for dates in (False, True))
            table(head, rows(questions, off, on))
            if "--misses" in sys.argv:
                for question, ranked in zip(questions, on, strict=True):
                    if recall(ranked, question) < 1:
                        print(question, ranked[:5], file=sys.stderr)
        plain = undated_questions()
        off, on = (year.ask(plain, dates=dates) for dates in (False, True))
        changed = sum(first != second for first, second in zip(off, on, strict=True))
        print(f"Of {len(plain)} questions without a date, {changed} get another answer.\n")


if __name__ == "__main__":
    main()
