"""The history of episodes as detection reads it: numbers of features, days and hours.

The features of a message are its content words, pairs of neighbouring ones, and the topics that it
belongs to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from djinn_memory.languages.days import MONTHS, WEEKDAYS
from djinn_memory.languages.word_lists import stop_words
from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.detection.topics import Utterance, find_topics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from djinn_memory.memories.patterns.detection.topics import Embed

    Integers = NDArray[np.int64]

MOST_WORDS = 40
"""The words of a message that are read."""

WORD = re.compile(r"[^\W\d_](?:[\w'’-]*[^\W_])?")

_MEETING = re.compile(r"\b(?:one|1)[\s-]?(?:on|to|:)[\s-]?(?:one|1)\b", re.IGNORECASE)
"""A meeting whose name has no word but stop words: `one on one`, `1:1`."""

_TIMES = frozenset({
    *MONTHS, *WEEKDAYS, "today", "tomorrow", "tonight", "yesterday", "morning", "afternoon",
    "evening", "night", "noon", "midnight", "am", "pm", "monthly", "daily", "utc", "gmt",
})  # fmt: skip
"""Words that name a time. That they occur at that time is no habit."""

_EMPTY = frozenset({
    "again", "also", "done", "dont", "don't", "get", "getting", "go", "going", "gone", "got",
    "hello", "hey", "hi", "i'd", "i'll", "i'm", "i've", "it's", "just", "let", "let's", "lets",
    "need", "needs", "now", "ok", "okay", "one", "please", "really", "some", "still", "thank",
    "thanks", "that's", "time", "us", "usual", "want", "wants", "went", "will", "would", "yes",
})  # fmt: skip
"""Words that say little about an action."""


@lru_cache(maxsize=50_000)
def stem_of(word: str) -> str:
    """The stem of a word; empty for a word that says nothing about an action."""
    plain = word.casefold().replace("’", "'")
    if plain in stop_words() or plain in _EMPTY or plain in _TIMES or len(plain) < 2:
        return ""
    from djinn_memory.languages.detection import stemmer

    stem: str = stemmer("english").stemWord(plain.removesuffix("'s"))
    return stem


def words_of(text: str) -> Sequence[tuple[str, str]]:
    """The content words of a text with their stems, in order."""
    text = _MEETING.sub("one-on-one", text[:1_000])
    words = ((match[0].casefold(), stem_of(match[0])) for match in WORD.finditer(text))
    return [(word, stem) for word, stem in words if stem][:MOST_WORDS]


def stems_of(text: str) -> Sequence[str]:
    """The stems of the content words of a text, in order."""
    return [stem for _, stem in words_of(text)]


def _features_of(text: str) -> set[str]:
    """The stems of a text, and its pairs of neighbouring stems, each pair in alphabetical order."""
    stems = stems_of(text)
    pairs = pairwise(stems)
    return {*stems, *(" ".join(sorted(pair)) for pair in pairs if pair[0] != pair[1])}


FEWEST_DAYS = 6
"""The least number of days on which a feature occurs before it is tested."""

FEWEST_WEEKS = 4
"""The least number of weeks in which it occurs, so that a burst is no habit."""

MOST_AN_HOUR = 1_000
"""Maximum number of independent episodes that are distinguished in an hour."""

MOST_FEATURES = 4_000
"""The features that are tested, those of most days first."""


class History:
    """Episodes in the order of time, with the features that occur often enough to be tested."""

    def __init__(self, occasions: Iterable[Occasion], embed: Embed | None = None) -> None:
        """Without `embed` there are no topics."""
        self.occasions: Sequence[Occasion] = sorted(
            occasions, key=lambda occasion: (occasion.at.replace(tzinfo=None), occasion.key)
        )
        days = [occasion.at.date().toordinal() for occasion in self.occasions]
        self.first_day = days[0] if days else 0
        self.days: Integers = np.array(days, dtype=np.int64) - self.first_day
        self.minutes: Integers = np.array(
            [occasion.at.hour * 60 + occasion.at.minute for occasion in self.occasions],
            dtype=np.int64,
        )
        self.names, self.episodes = self._frequent(_numbers_of(self.occasions).items())
        """The words, pairs of words and domains, with the episodes of each."""
        self.features, self.feature_episodes = self.names, self.episodes
        """The same, and the topics."""
        if embed:
            wordings = [Utterance((*words_of(each.text),), each.domain) for each in self.occasions]
            topics = self._frequent(find_topics(wordings, embed, FEWEST_DAYS))
            self.features = self.names + topics[0]
            self.feature_episodes = self.episodes + topics[1]

    @property
    def length(self) -> int:
        """The number of days from the first episode to the last one."""
        return int(self.days[-1]) + 1 if len(self.days) else 0

    @cached_property
    def weekdays(self) -> Integers:
        """The weekday of each day, from Monday, which is 0."""
        return (np.arange(self.length) + self.first_day - 1) % 7

    def date_of(self, day: int) -> date:
        """The date of a day of the history."""
        return date.fromordinal(self.first_day + day)

    @cached_property
    def activity(self) -> NDArray[np.float64]:
        """How much there is in each hour of each day.

        It is the number of independent episodes that would have as many different words. Several
        turns about one topic in an hour count little more than one, as they give other words
        little room to occur.
        """
        cells = np.zeros((self.length, 24))
        rates = []
        for name, episodes in zip(self.names, self.episodes, strict=True):
            if " " not in name and ":" not in name:
                cells.flat[np.unique(self.cells(episodes))] += 1
                rates.append(len(episodes) / len(self.occasions))
        bare = np.bincount(self.days * 24 + self.minutes // 60, minlength=cells.size) > 0
        # An hour whose words are all rare still counts as active.
        return np.maximum(_independent(cells, np.array(rates)), bare.reshape(cells.shape))

    def _frequent(
        self, features: Iterable[tuple[str, Sequence[int] | Integers]]
    ) -> tuple[list[str], list[Integers]]:
        """The features that occur on enough days and weeks, those of most days first."""
        frequent: list[tuple[int, str, Integers]] = []
        for name, numbers in features:
            if len(numbers) < FEWEST_DAYS:
                continue
            episodes = np.array(numbers, dtype=np.int64)
            in_days = np.unique(self.days[episodes])
            if len(in_days) >= FEWEST_DAYS and len(
                np.unique((in_days + self.first_day - 1) // 7)
            ) >= FEWEST_WEEKS:  # fmt: skip
                frequent.append((-len(in_days), name, episodes))
        frequent.sort(key=lambda entry: entry[:2])
        frequent = frequent[:MOST_FEATURES]
        return [name for _, name, _ in frequent], [episodes for _, _, episodes in frequent]

    @cached_property
    def _documents(self) -> Counter[str]:
        return Counter(stem for each in self.occasions for stem in {*stems_of(each.text)})

    def share_of(self, stem: str) -> float:
        """The share of the episodes that have a stem."""
        return self._documents[stem] / len(self.occasions)

    def cells(self, episodes: Integers) -> Integers:
        """The numbers of the hours since the first day in which these episodes are."""
        return self.days[episodes] * 24 + self.minutes[episodes] // 60


def _independent(words: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """The number of independent episodes with a number of different words.

    `rates` are the shares of episodes that have each word.
    """
    most = words.max(initial=0)
    if not most:
        return words
    episodes, different = [0.0], [0.0]
    number = 0.25
    while different[-1] < most and number < MOST_AN_HOUR:
        episodes.append(number)
        different.append(float((1 - (1 - rates) ** number).sum()))
        number *= 1.2
    independent: NDArray[np.float64] = np.interp(words, different, episodes)
    return independent


def _numbers_of(occasions: Sequence[Occasion]) -> dict[str, list[int]]:
    """The numbers of the episodes of each feature, without topics."""
    numbers_of: dict[str, list[int]] = {}
    for number, occasion in enumerate(occasions):
        for name in _features_of(occasion.text):
            numbers_of.setdefault(name, []).append(number)
        if occasion.domain:
            numbers_of.setdefault(f"domain:{occasion.domain}", []).append(number)
    return numbers_of
