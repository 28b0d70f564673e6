"""Which planted habits and choices `djinn pattern find` finds in made years, and which it invents.

The numbers of a year choose its habits, its rhythm and its words. The seeds are others than those
that were used while the rules were written. Run: `python benchmarks/habits.py [YEARS]`, or
`python benchmarks/habits.py lives [FIRST_SEED]` for the years of `planted_years.py` alone.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial

import planted_years
from choice_years import choice_year
from common import home_with, machine, table
from habit_years import MadeYear, PlantedHabit, YearShape, empty_year, made_year
from msgspec.structs import replace
from planted_years import PlantedYear, planted_year
from topic_years import topic_year

from djinn_memory import Djinn
from djinn_memory.home.settings import PatternsConfig
from djinn_memory.languages.days import WEEKDAY_NAMES
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.patterns.detection.history import History
from djinn_memory.memories.patterns.detection.learn import learn
from djinn_memory.memories.patterns.requests import LearnedPattern
from djinn_memory.memories.writing.provenance import evidence_link

SEED = 70_000
YEARS = 20
"""Years of each shape with habits. There are five times as many without habits."""

SHAPES: dict[str, YearShape] = {
    "habit moved to another time, 20 %": YearShape(0.2),
    "moved, 35 %": YearShape(0.35),
    "moved, 50 %": YearShape(0.5),
    "moved, 65 %": YearShape(0.65),
    "moved, 50 %, 1 other turn a day": YearShape(0.5, turns=1),
    "moved, 50 %, 40 other turns a day": YearShape(0.5, turns=40),
    "moved, 50 %, in bursts": YearShape(0.5, turns=15, bursts=True),
    "moved, 50 %, drifts by 90 minutes": YearShape(0.5, drift=1.5),
    "moved, 50 %, in the first half of the year": YearShape(0.5, span=(0, 0.5)),
    "habit skipped, 50 %": YearShape(0.5, "skipped"),
    "skipped, 65 %": YearShape(0.65, "skipped"),
    "50 % of all episodes are noise": YearShape(0.5, "episodes"),
    "65 % of all episodes": YearShape(0.65, "episodes"),
}
EMPTY: dict[str, Callable[[int], MadeYear]] = {
    "shuffled": partial(empty_year, shape=YearShape(0.2), kind="shuffled"),
    "rhythm alone": partial(empty_year, shape=YearShape(), kind="rhythm"),
    "rhythm alone, 1 turn a day": partial(empty_year, shape=YearShape(turns=1), kind="rhythm"),
    "bursts and projects": partial(empty_year, shape=YearShape(turns=15), kind="bursty"),
    "topics with hours and weekdays": topic_year,
    "the same, 20 turns a day": partial(topic_year, turns=20),
}


def is_found(planted: PlantedHabit, pattern: LearnedPattern) -> bool:
    """Whether a pattern says what was planted: the words, most weekdays, and the time."""
    said = f"{pattern.name} {' '.join(pattern.wordings)}".casefold()
    days = {WEEKDAY_NAMES.index(day.capitalize()) for day in pattern.weekdays} or {*range(7)}
    own = {*planted.weekdays}
    hours = [abs((hour + 0.5 - planted.hour + 12) % 24 - 12) for hour in pattern.hours]
    return (
        any(word in said for word in planted.words)
        and len(days & own) >= 0.5 * len(days | own)
        and bool(hours)
        and min(hours) <= 1.5
    )


def habits_of(year: MadeYear) -> list[LearnedPattern]:
    """The habits that are found in a year."""
    history = History(year.occasions)
    return [each for each in learn(history, date(2027, 1, 1), PatternsConfig()) if each.habit]


def planted_row(name: str, shape: YearShape, years: int) -> tuple[str, ...]:
    """Precision and recall in years of one shape."""
    planted = hit = reported = right = 0
    for seed in range(SEED, SEED + years):
        year = made_year(seed, shape)
        patterns = habits_of(year)
        planted += len(year.planted)
        hit += sum(any(is_found(habit, each) for each in patterns) for habit in year.planted)
        reported += len(patterns)
        right += sum(any(is_found(habit, each) for habit in year.planted) for each in patterns)
    return name, str(planted), f"{right / max(1, reported):.3f}", f"{hit / planted:.3f}"


def choices_row(share: float | None, years: int) -> tuple[str, ...]:
    """Recall and false preferences in years in which a share of the choices is the same."""
    planted = hit = reported = right = 0
    for seed in range(SEED, SEED + years):
        year = choice_year(seed, share)
        learned = learn(History(year.occasions), date(2027, 1, 1), PatternsConfig())
        names = [each.name for each in learned if each.category == "preference"]
        planted += len(year.usual)
        hit += sum(any(usual in name for name in names) for usual in year.usual)
        reported += len(names)
        right += sum(any(usual in name for usual in year.usual) for name in names)
    if share is None:
        return "even chances", "0", str(reported), "-"
    return f"{share:.0%}", str(planted), str(reported - right), f"{hit / planted:.3f}"


def listed(year: PlantedYear) -> list[LearnedPattern]:
    """The patterns that are listed after a year was recorded and consolidated, as a user does."""
    turns = [
        Turn(
            "interaction", each.text, "", each.at.astimezone(), each.at.date().isoformat(), "cli",
            domain=each.domain,
        )
        for each in year.occasions
    ]  # fmt: skip
    turns += [
        Turn(
            "outcome", f"{each.action} ({each.context}): {each.result}", "",
            datetime.fromisoformat(each.date), "outcomes", "api",
            {"action": each.action, "outcome": each.result, "where": each.context},
        )
        for each in year.outcomes
    ]  # fmt: skip
    end = max(each.at for each in year.occasions).astimezone() + timedelta(days=8)
    with home_with() as home, Djinn(home, clock=lambda: end) as djinn:
        recorded = record_turns(djinn.runtime, home.agent(None), turns)
        keys = {evidence_link(each): f"e{number}" for number, each in enumerate(recorded)}
        djinn.patterns.consolidate()
        patterns = djinn.patterns.list(limit=1_000).patterns
    return [
        replace(each, evidence=tuple(keys.get(link, link) for link in each.evidence))
        for each in patterns
    ]


def lives_rows(first: int, noise: float | None, years: int = 10) -> list[tuple[str, ...]]:
    """Recall of each sort of habit, of all habits and of causes, and precision."""
    hits: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(first, first + years):
        year = planted_year(seed, noise)
        patterns = listed(year)
        found, false = planted_years.count(year, patterns)
        hits.update(name for name, was in found.items() if was)
        wrong += false
        missed = [name for name, was in found.items() if not was]
        print(f"{noise} {seed}: missed {missed}, false {false}", file=sys.stderr)
    sorts = ("peak", "week", "seq", "focus", "pref")
    right = sum(hits[name] for name in sorts)
    precision = (right + hits["cause"]) / max(1, right + hits["cause"] + len(wrong))
    label = "none" if noise is None else f"{noise:.0%}"
    parts = [str(hits[name]) for name in (*sorts, "cause")]
    return [(label, *parts, f"{right / 5 / years:.2f}", str(len(wrong)), f"{precision:.2f}")]


def lives(first: int) -> None:
    """Print the table of the years of `planted_years.py`."""
    rows = [row for noise in (0.2, 0.5, None) for row in lives_rows(first, noise)]
    names = ("noise", "peak", "week", "seq", "focus", "pref", "cause", "recall", "false")
    table((*names, "precision"), rows)


def main() -> None:
    """Print the tables."""
    if sys.argv[1:2] == ["lives"]:
        lives(int(sys.argv[2]) if sys.argv[2:] else 0)
        return
    years = int(sys.argv[1]) if sys.argv[1:] else YEARS
    print("## Habits in made years\n")
    print(f"{machine()}. Five habits a year, `benchmarks/habits.py`.\n")
    rows = [planted_row(name, shape, years) for name, shape in SHAPES.items()]
    table(("noise", "planted", "precision", "recall"), rows)
    rows = []
    for name, year_of in EMPTY.items():
        began = time.process_time()
        made = [year_of(seed) for seed in range(SEED, SEED + 5 * years)]
        false = [pattern for year in made for pattern in habits_of(year)]
        seconds = (time.process_time() - began) / len(made)
        for pattern in false:
            print(f"false: {pattern.name}", file=sys.stderr)
        rows.append((name, str(len(made)), str(len(false)), f"{seconds:.1f} s"))
    table(("without habits", "years", "false habits", "CPU for a year"), rows)
    rows = [choices_row(share, years) for share in (0.9, 0.8, 0.7, None)]
    table(("the usual choice", "planted", "false preferences", "recall"), rows)


if __name__ == "__main__":
    main()
