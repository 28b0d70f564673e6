"""Makes years of episodes with situations in which things are chosen, beside habits and noise."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import NamedTuple

from habit_years import YearShape, made_year, occasions_of

from djinn_memory.memories.patterns.reading import Occasion

SITUATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Ordered {}", ("a flat white", "an oat latte", "an espresso", "a mint tea")),
    ("Took the {} seat", ("window", "aisle")),
    ("Paid {}", ("by card", "in cash", "with the phone")),
    ("Chose {} for the storage of the {thing}", ("postgres", "sqlite", "redis")),
    ("Went to {place} by {}", ("train", "car", "bike")),
    ("Had {} for breakfast", ("muesli", "toast", "an omelette")),
    ("I wore {}", ("the grey coat", "the red jacket", "the raincoat")),
    ("Went with {} for the meeting", ("the small room", "the garden", "the library")),
    ("Booked a {} room in {place}", ("quiet", "double", "corner")),
    ("Picked {} as the editor", ("vim", "emacs")),
)
THINGS = ("orders", "letters", "maps", "tides", "photos")
PLACES = ("Oslo", "Lyon", "Trieste", "Bergen")


class ChoiceYear(NamedTuple):
    occasions: list[Occasion]
    usual: list[str]
    """What is mostly chosen, as its episodes say it."""


def choice_year(seed: int, share: float | None, situations: int = 4) -> ChoiceYear:
    """A year with choices, of which a `share` is the same; None for options with even chances."""
    random_ = random.Random(seed)
    year = made_year(seed, YearShape(0.5, turns=4))
    begin = year.occasions[0].at
    episodes = [(occasion.at, occasion.text) for occasion in year.occasions]
    usual = []
    for sentence, options in random_.sample(SITUATIONS, situations):
        first = random_.choice(options)
        others = [option for option in options if option != first]
        usual.append(first)
        for _ in range(random_.randint(25, 120)):
            option = first if random_.random() < (share or 0) else random_.choice(others)
            if share is None:
                option = random_.choice(options)
            text = sentence.format(
                option, thing=random_.choice(THINGS), place=random_.choice(PLACES)
            )
            minutes = random_.randrange(360) * 1440 + random_.randint(7 * 60, 22 * 60)
            episodes.append((begin.replace(hour=0, minute=0) + timedelta(minutes=minutes), text))
    return ChoiceYear(occasions_of(episodes), [] if share is None else usual)
