"""Which planted habits and causes `djinn pattern find` finds in made years, and which it invents.

Ten years of each noise, made by `planted_years.py` from seeds of which the rules know none.
Run: `python benchmarks/habits.py [FIRST_SEED]`
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import datetime, timedelta

import planted_years
from common import home_with, machine, table
from msgspec.structs import replace
from planted_years import PlantedYear, planted_year

from djinn_memory import Djinn
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.patterns.requests import LearnedPattern
from djinn_memory.memories.writing.provenance import evidence_link

SEED = 70_000


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


def row(first: int, noise: float | None, years: int = 10) -> tuple[str, ...]:
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
    return label, *parts, f"{right / 5 / years:.2f}", str(len(wrong)), f"{precision:.2f}"


def main() -> None:
    """Print the table."""
    first = int(sys.argv[1]) if sys.argv[1:] else SEED
    print("## Habits in made years\n")
    print(f"{machine()}. Five habits a year, `benchmarks/habits.py`.\n")
    names = ("noise", "peak", "week", "seq", "focus", "pref", "cause", "recall", "false")
    table((*names, "precision"), [row(first, noise) for noise in (0.2, 0.5, None)])


if __name__ == "__main__":
    main()
