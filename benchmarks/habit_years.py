"""Makes years of episodes with planted habits, and years without any."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple

from djinn_memory.memories.patterns.reading import Occasion

NoiseShape = Literal["episodes", "displaced", "skipped"]
EmptyShape = Literal["shuffled", "rhythm", "bursty"]


class PlantedHabit(NamedTuple):
    """A habit, its wordings, and when it is kept."""

    words: tuple[str, ...]
    """Beginnings of words, one of which must be in the pattern that is found."""
    wordings: tuple[str, ...]
    weekdays: tuple[int, ...]
    hour: float
    month_day: int | None = None


HABITS = (
    PlantedHabit(
        ("plan", "week"),
        (
            "Plan the week",
            "Let's plan my week",
            "Weekly planning: what comes first?",
            "Planning the week ahead",
        ),
        (0,),
        9,
    ),
    PlantedHabit(
        ("run", "jog"),
        (
            "Went for a run",
            "Running along the river",
            "Evening run, 5 km",
            "A short run before dinner",
        ),
        (1, 3),
        18.5,
    ),
    PlantedHabit(
        ("pancake", "breakfast"),
        ("Pancakes for breakfast", "Made pancakes", "The kids want pancakes again"),
        (5,),
        8.5,
    ),
    PlantedHabit(
        ("journal", "diary"),
        ("Write in my journal", "Journal entry", "A few lines in the journal"),
        (0, 1, 2, 3, 4, 5, 6),
        22,
    ),
    PlantedHabit(
        ("standup", "stand-up"),
        ("Standup notes", "Notes for the standup", "What do I say at standup?"),
        (0, 1, 2, 3, 4),
        9.5,
    ),
    PlantedHabit(
        ("call", "mum", "mother"),
        ("Call mum", "Called mum about the garden", "Phone call with mum"),
        (6,),
        17,
    ),
    PlantedHabit(
        ("groceries", "groceri", "shop"),
        ("Order groceries", "Groceries for the week", "Grocery list: milk, bread"),
        (4,),
        16,
    ),
    PlantedHabit(
        ("invoice", "invoic"),
        ("Send the invoices", "Invoices to clients", "Check open invoices"),
        (4,),
        14,
    ),
    PlantedHabit(("yoga",), ("Yoga class", "Did yoga", "Yoga with Ilse"), (2,), 19),
    PlantedHabit(
        ("guitar", "chord"),
        ("Practise guitar", "Guitar practice, new chords", "Half an hour of guitar"),
        (1, 4),
        20,
    ),
    PlantedHabit(
        ("backup",),
        ("Run the backup", "Backup of the server", "Check that the backup ran"),
        (6,),
        21,
    ),
    PlantedHabit(
        ("water", "plant"), ("Water the plants", "Watered the plants on the balcony"), (2, 5), 8
    ),
    PlantedHabit(
        ("report",),
        ("Weekly report for Maren", "Write the status report", "Report to Maren"),
        (3,),
        15,
    ),
    PlantedHabit(
        ("vocab", "spanish"),
        ("Spanish vocabulary", "Learn Spanish words", "Spanish lesson"),
        (0, 2, 4),
        7.5,
    ),
)
VERBS = (
    "check", "ask about", "fix", "look at", "discuss", "read", "update", "compare", "find", "book",
    "call", "order", "plan", "write", "note", "review", "move", "clean", "send", "think about",
    "run", "practise", "learn", "list",
)  # fmt: skip
THINGS = (
    "the budget", "the ferry timetable", "the new desk", "a birthday present", "the weather",
    "the printer", "the contract", "the garden", "train tickets", "the website", "the kitchen tap",
    "the team", "a book about tides", "the car", "the photo album", "the tax form", "the roof",
    "the server", "the report", "the dentist", "the harbour lamp", "the meeting", "the client",
    "the test results", "the wall paint", "the bike", "the recipe", "the kids", "the neighbours",
    "the tests", "the week", "the plants", "milk and bread", "new words", "the balcony",
)  # fmt: skip
TAILS = ("", "", "", " today", " with Tobias", " again", " before lunch", " for Pauline", " please")


class YearShape(NamedTuple):
    """The knobs of a made year."""

    noise: float = 0.5
    noise_shape: NoiseShape = "displaced"
    turns: float = 8.0
    """Other turns on a mean day."""
    bursts: bool = False
    """Whether other turns come in sessions about one thing."""
    span: tuple[float, float] = (0, 1)
    """The part of the year in which the habits are kept."""
    drift: float = 0.0
    """By how many hours the time of a habit moves over the year."""
    jitter: float = 12.0
    """Standard deviation of a habit's minute."""
    things: int = len(THINGS)
    habits: int = 5


class MadeYear(NamedTuple):
    occasions: list[Occasion]
    planted: list[PlantedHabit]


def _rhythm(random_: random.Random) -> list[list[float]]:
    """Weights of the hours of each weekday: two peaks, and a quieter weekend or a busier one."""
    first, second = random_.uniform(8, 12), random_.uniform(14, 21)
    width, night = random_.uniform(1.2, 3.0), random_.uniform(0, 0.05)
    days = [random_.uniform(0.7, 1.3) for _ in range(5)] + [random_.uniform(0.1, 1.2) for _ in "ab"]
    return [
        [
            weight * (night + sum(math.exp(-(((hour + 0.5 - peak) / width) ** 2) / 2)
            for peak in (first + shift, second + shift)))
            for hour in range(24)
        ]
        for weight, shift in (
            (days[day], 0 if day < 5 else random_.uniform(0, 2)) for day in range(7)
        )
    ]  # fmt: skip


def _noise_text(random_: random.Random, things: Sequence[str]) -> str:
    text = f"{random_.choice(VERBS)} {random_.choice(things)}{random_.choice(TAILS)}"
    return text[0].upper() + text[1:]


def made_year(seed: int, shape: YearShape, habits: bool = True) -> MadeYear:
    """A year of episodes with `shape.habits` habits, or without habits."""
    random_ = random.Random(seed)
    begin = date(2025, 1, 1) + timedelta(days=random_.randrange(300))
    weights = _rhythm(random_)
    mean = sum(map(sum, weights)) / 7
    things = random_.sample(THINGS, shape.things)
    chosen = random_.sample(HABITS, shape.habits) if habits else []
    turns: list[tuple[datetime, str]] = []

    def at(day: int, hour: float) -> datetime:
        minutes = min(1439, max(0, round(hour * 60)))
        return datetime.combine(begin + timedelta(days=day), datetime.min.time()) + timedelta(
            minutes=minutes
        )

    def any_time() -> datetime:
        while True:
            day = random_.randrange(365)
            row = weights[(begin + timedelta(days=day)).weekday()]
            if random_.random() * 7 * mean / 3.5 < sum(row):
                return at(day, random_.choices(range(24), row)[0] + random_.random())

    planted = 0
    for habit in chosen:
        first, last = (int(365 * part) for part in shape.span)
        for day in range(first, last):
            if (begin + timedelta(days=day)).weekday() not in habit.weekdays:
                continue
            text = random_.choice(habit.wordings)
            hour = habit.hour + shape.drift * day / 365 + random_.gauss(0, shape.jitter / 60)
            when = at(day, hour)
            if shape.noise_shape != "episodes" and random_.random() < shape.noise:
                if shape.noise_shape == "skipped":
                    continue
                when = any_time()
            turns.append((when, text))
            planted += 1
    count = round(shape.turns * 365)
    if shape.noise_shape == "episodes" and chosen:
        count = round(planted * shape.noise / (1 - shape.noise))
    while count > 0:
        when = any_time()
        length = min(count, random_.randint(2, 9)) if shape.bursts else 1
        thing = random_.choice(things)
        for step in range(length):
            text = _noise_text(random_, [thing] if shape.bursts else things)
            turns.append((when + timedelta(minutes=2 * step), text))
        count -= length
    return MadeYear(occasions_of(turns), chosen)


def empty_year(seed: int, shape: YearShape, kind: EmptyShape) -> MadeYear:
    """A year without habits: shuffled, with a rhythm alone, or in bursts."""
    if kind == "rhythm":
        return made_year(seed, shape, habits=False)
    if kind == "bursty":
        return _projects(seed, made_year(seed, shape._replace(bursts=True), habits=False))
    year = made_year(seed, shape)
    texts = [occasion.text for occasion in year.occasions]
    random.Random(seed).shuffle(texts)
    times = [occasion.at for occasion in year.occasions]
    return MadeYear(occasions_of(list(zip(times, texts, strict=True))), [])


def _projects(seed: int, year: MadeYear) -> MadeYear:
    """Projects of some days each, in which every second turn is about the project."""
    random_ = random.Random(seed)
    turns = []
    name, until = "", date.min
    for occasion in year.occasions:
        if occasion.at.date() > until:
            name = f"project {random_.choice(['Kestrel', 'Heron', 'Osprey', 'Wren', 'Plover'])}"
            until = occasion.at.date() + timedelta(days=random_.randint(2, 20))
        text = f"{occasion.text} for {name}" if random_.random() < 0.5 else occasion.text
        turns.append((occasion.at, text))
    return MadeYear(occasions_of(turns), [])


def occasions_of(turns: Sequence[tuple[datetime, str]]) -> list[Occasion]:
    return [Occasion(at, text, f"e{number}") for number, (at, text) in enumerate(sorted(turns))]
