"""Makes years of episodes about topics that have hours and weekdays of their own, without habits.

Work is talked about by day on weekdays, the home in the evening and at weekends. Each topic has a
part of the day of at least four hours, or a peak that is as wide, on all weekdays, all days of the
weekend or both, with random weights. Nothing recurs at a time that is sharper than that.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from habit_years import MadeYear, occasions_of

WORDS = (
    "anchor", "barley", "beacon", "bracket", "brochure", "cable", "canvas", "cello", "chimney",
    "clinic", "compost", "copper", "cottage", "crane", "cupboard", "daisy", "diesel", "drain",
    "easel", "engine", "fabric", "fence", "ferry", "filter", "freight", "gasket", "gravel",
    "hammock", "hinge", "index", "jacket", "kettle", "lantern", "ledger", "lemon", "magnet",
    "marble", "mortgage", "nursery", "oven", "paddle", "pension", "pillow", "pump", "quarry",
    "radio", "rudder", "saddle", "sauce", "scanner", "shelf", "socket", "statute", "tariff",
    "teapot", "tunnel", "turbine", "valve", "voucher", "zipper",
)  # fmt: skip
FRAMES = (
    "Ask about the {0}", "Why is the {0} late?", "Buy a new {0}", "Draft a text on the {0}",
    "Compare the {0} with the {1}", "Find a {0} for {2}", "How do I repair the {0}?",
    "Explain the {0} to {2}", "Tell {2} about the {0}", "Read about the {0}", "Order a {0}",
    "Where is the {0}?", "Clean the {0}", "Move the {0} next to the {1}", "Sell the old {0}",
    "Prepare the {0} for {2}", "Is the {0} better than the {1}?", "Measure the {0}",
)  # fmt: skip
PEOPLE = ("Aino", "Bela", "Carmen", "Deniz", "Edda", "Farid", "Goran", "Hanne")
HOURS = range(24)
NARROWEST = 1.3
"""The standard deviation, in hours, of the narrowest peak of a topic."""


class _Topic(NamedTuple):
    weights: list[list[float]]
    """Turns a day, by weekday and hour."""
    frames: list[str]
    words: list[str]


def topic_year(seed: int, turns: float = 6.0) -> MadeYear:
    """A year in which nothing but its topics have times; `turns` on a mean day."""
    random_ = random.Random(seed)
    begin = date(2025, 1, 1) + timedelta(days=random_.randrange(300))
    topics = [_topic(random_, kind) for kind in ("work", "work", "home", "home", "any", "any")]
    total = sum(map(sum, (row for topic in topics for row in topic.weights))) / 7
    episodes: list[tuple[datetime, str]] = []
    for day in range(365):
        if random_.random() < 0.05:
            continue
        at = datetime.combine(begin + timedelta(days=day), datetime.min.time())
        for topic in topics:
            row = topic.weights[at.weekday()]
            for _ in range(_poisson(random_, turns * sum(row) / total)):
                hour = random_.choices(HOURS, row)[0] + random_.random()
                words = [*random_.sample(topic.words, 2), random_.choice(PEOPLE)]
                text = random_.choice(topic.frames).format(*words)
                episodes.append((at + timedelta(minutes=round(hour * 60) % 1440), text))
    return MadeYear(occasions_of(episodes), [])


def _topic(random_: random.Random, kind: str) -> _Topic:
    rate = random_.uniform(0.3, 2)
    weekday = rate * random_.choice((1, 1, 0.3) if kind == "home" else (1,))
    weekend = rate * {"work": random_.choice((0, 0.05, 0.2)), "home": 2.0, "any": 1.0}[kind]
    by_day = _hours(random_, random_.uniform(10, 15))
    rows = {
        "work": (by_day, by_day),
        "home": (_hours(random_, random_.uniform(18.5, 20.5)), _plateau(random_, 10, 22)),
        "any": (_hours(random_, random_.uniform(8, 20)), _hours(random_, random_.uniform(9, 20))),
    }[kind]
    weights = []
    for day in range(7):
        share = random_.uniform(0.75, 1.25) * (weekday if day < 5 else weekend)
        weights.append([share * hour for hour in rows[day >= 5]])
    frames = random_.sample(FRAMES, random_.randint(4, 9))
    return _Topic(weights, frames, random_.sample(WORDS, random_.randint(6, 20)))


def _hours(random_: random.Random, middle: float) -> list[float]:
    if random_.random() < 0.5:
        width = random_.uniform(2, 4)
        return _plateau(random_, middle - width, middle + width)
    width = random_.uniform(NARROWEST, 3)
    return _normal([math.exp(-(((hour + 0.5 - middle) / width) ** 2) / 2) for hour in HOURS])


def _plateau(random_: random.Random, first: float, last: float) -> list[float]:
    """The hours of a part of the day, which are about as frequent."""
    inside = [max(0.0, min(hour + 1, last) - max(hour, first)) for hour in HOURS]
    return _normal([part * random_.uniform(0.8, 1.2) for part in inside])


def _normal(values: Sequence[float]) -> list[float]:
    return [value / sum(values) for value in values]


def _poisson(random_: random.Random, mean: float) -> int:
    """A number of events of a mean (Knuth, The Art of Computer Programming, volume 2, 3.4.1)."""
    number, product, least = 0, random_.random(), math.exp(-mean)
    while product > least:
        number += 1
        product *= random_.random()
    return number
