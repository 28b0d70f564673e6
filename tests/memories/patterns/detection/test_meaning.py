"""Wordings of one meaning are one topic, whatever their words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from djinn_memory.home.settings import PatternsConfig
from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.detection.history import History
from djinn_memory.memories.patterns.detection.learn import learn
from djinn_memory.memories.patterns.detection.topics import Utterance, find_topics
from djinn_memory.models import Vectors
from tests.memories.patterns.years import BEGIN, noise

POTTERY = ("vase", "bowls", "mugs", "glaze", "kiln", "saucer", "teapot", "jug", "platter")


def embed(words: Sequence[str]) -> Vectors:
    """Vectors in which the words of pottery are near each other, and no others."""
    rows = [np.random.default_rng(len(word) * 31 + ord(word[0])).normal(size=32) for word in words]
    vectors = np.array(rows, dtype=np.float32) * 0.3
    vectors[[word in POTTERY for word in words], 0] += 5
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_topic_has_all_wordings() -> None:
    words = [*POTTERY, "tax", "boat", "choir", "fence", "hymn", "rota", "loan", "pond", "stall"] * 4
    wordings = [Utterance(((word, word),), None) for word in words]
    pottery = {number for number, word in enumerate(words) if word in POTTERY}
    topics = [{*topic.episodes.tolist()} for topic in find_topics(wordings * 4, embed, 6)]
    assert {number + len(words) * part for number in pottery for part in range(4)} not in topics
    narrow = [topic for topic in topics if {number % len(words) for number in topic} <= pottery]
    assert max(map(len, narrow)) > 4 * 4 * 2


def test_texts_without_words_are_in_no_topic() -> None:
    assert list(find_topics([Utterance((), "work")] * 20, embed, 6)) == []


def test_a_habit_in_nine_words_is_found_by_meaning() -> None:
    """Each word alone is on too few days."""
    habit = [
        Occasion(
            BEGIN + timedelta(weeks=week, days=3, hours=8 + 5 * week % 12),
            f"The {POTTERY[week % 9]}",
            f"p{week}",
        )
        for week in range(40)
    ]
    found = []
    for by_meaning in (None, embed):
        history = History([*habit, *noise(5)], by_meaning)
        patterns = learn(history, BEGIN.date() + timedelta(weeks=41), PatternsConfig())
        found.append([each for each in patterns if each.habit])
    assert found[0] == []
    [pattern] = found[1]
    assert pattern.weekdays == ("thursday",)
    assert pattern.support >= 30
