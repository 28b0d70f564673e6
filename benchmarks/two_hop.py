"""Recall@5 of hybrid search and of the graph on questions that are made from the links of vaults,
and the share that a context answers.

Two hops: note A links to note B, which answers. The question is words of A: of the sentences around
a link, or A's title and the field that holds the link; if they are far, of any paragraph of A.
Words that B has, in its text or its names, are left out. One note: four words of a paragraph, whose
note answers. Link text: the shown text of a link, which is not a name of its target; the target
answers.

Run: `python benchmarks/two_hop.py [FOLDER ...]`. Default: the vaults of the data.
"""

from __future__ import annotations

import random
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from common import home_with, machine, need_data, table

from djinn_memory.djinn import Djinn
from djinn_memory.languages.word_lists import stop_words
from djinn_memory.models import Mode
from djinn_memory.notes.slugs import name_key
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedLink, IndexedMemory

MODES: tuple[Mode, ...] = ("hybrid", "graph")
SEED = 11
MOST = 200
"""The most questions of a kind from a vault."""

LEAST_WORDS, MOST_WORDS = 4, 8
"""The number of words of a question from the text around a link."""

NEAR = 2
"""The number of sentences before and after that of a link which give words to a question."""

ONE_NOTE_WORDS = 4
PER_NOTE = 3
"""The most questions of a kind that start at one note."""

_LINK = re.compile(r"!?\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_ADDRESS = re.compile(r"\w+://\S+")
_WORD = re.compile(r"[^\W\d_][\w'’-]+")


T = TypeVar("T")


class Question(NamedTuple):
    """A question, and the path of the note that answers it."""

    text: str
    answer: str


class Questions:
    """Makes questions from the links and notes of a vault."""

    def __init__(self, index: Index, folder: Path) -> None:
        self._index = index
        self._stemmed: dict[str, frozenset[str]] = {}
        self._memories = {memory.memory_id: memory for memory in index.memories()}
        self._texts = {
            key: "\n\n".join(chunk.text for chunk in chunks)
            for key, chunks in index.chunks_of(self._memories).items()
        }
        self._files = {
            memory.path: (folder / memory.path).read_text("utf-8")
            for memory in self._memories.values()
        }
        links = index.links(self._memories)
        self._links = [
            link
            for link in sorted(
                set(links), key=lambda link: (self._path(link.source), link.line, link.start)
            )
            if link.target in self._texts and link.source in self._texts and not link.embed
            and link.target != link.source and self._texts[link.target].strip()
        ]  # fmt: skip

    def two_hops(self, *, far: bool = False) -> list[Question]:
        """The questions whose answer is at the other end of a link.

        With `far`, the words are from a paragraph anywhere in the note that has the link.

        A question that several links give has several answers, so it is left out.
        """
        asked: dict[tuple[int, int], Question] = {}
        for link in self._shuffled(self._links):
            assert link.target is not None
            words = [*self._own_words(link, far=far)]
            if len(words) >= (2 if link.field else LEAST_WORDS):
                text = " ".join(words[:MOST_WORDS])
                answer = self._path(link.target)
                asked.setdefault((link.source, link.target), Question(text, answer))
        answers = Counter(text for text, _ in {*asked.values()})
        return self._few({key: made for key, made in asked.items() if answers[made.text] == 1})

    def one_note(self) -> list[Question]:
        """The questions that one note answers."""
        draw = random.Random(SEED)
        asked: dict[tuple[int, int], Question] = {}
        for key, text in sorted(self._texts.items(), key=lambda pair: self._path(pair[0])):
            for number, paragraph in enumerate(self._shuffled(text.split("\n\n"))):
                words = [*dict.fromkeys(self._content(paragraph))]
                if len(words) >= 2 * ONE_NOTE_WORDS:
                    places = sorted(draw.sample(range(len(words)), ONE_NOTE_WORDS))
                    said = " ".join(words[place] for place in places)
                    asked[key, number] = Question(said, self._path(key))
        return self._few(asked)

    def link_texts(self) -> list[Question]:
        """The shown texts of links that are not names of their targets."""
        asked: dict[tuple[int, int], Question] = {}
        seen = set()
        for link in self._shuffled(self._links):
            assert link.target is not None
            target = self._memories[link.target]
            label = _plain(link.label or "")
            pair = name_key(label), link.target
            if pair in seen or not [*self._content(label)]:
                continue
            if name_key(label) not in _names(target):
                seen.add(pair)
                asked[link.target, len(asked)] = Question(label, target.path)
        return self._few(asked)

    def _own_words(self, link: IndexedLink, *, far: bool) -> Iterator[str]:
        """The words of the source around a link that its target does not have."""
        assert link.target is not None
        source, target = self._memories[link.source], self._memories[link.target]
        names = " ".join((target.title, *target.aliases, Path(target.path).stem, link.text))
        theirs = self._stems(f"{names} {link.label or ''}")
        theirs |= self._stems(self._texts[link.target])
        if far:
            said = self._shuffled(self._texts[link.source].split("\n\n"))[0]
        elif link.field:
            said = f"{source.title} {link.field}"
        else:
            said = " ".join(_around(self._files[source.path], link.start))
        for word in dict.fromkeys(self._content(said)):
            if theirs.isdisjoint(self._stems(word)):
                yield word

    def _content(self, text: str) -> Iterator[str]:
        common = stop_words()
        return (word for word in _WORD.findall(_plain(text)) if word.casefold() not in common)

    def _stems(self, text: str) -> frozenset[str]:
        if text not in self._stemmed:
            words = self._index.words.stemmed(re.sub(r"[\W_]+", " ", text))
            self._stemmed[text] = frozenset(words)
        return self._stemmed[text]

    def _path(self, key: int) -> str:
        return self._memories[key].path

    def _few(self, asked: dict[tuple[int, int], Question]) -> list[Question]:
        """A random choice, in which no note begins many questions."""
        taken: dict[int, int] = {}
        chosen = []
        for key, number in self._shuffled(asked):
            taken[key] = taken.get(key, 0) + 1
            if taken[key] <= PER_NOTE:
                chosen.append(asked[key, number])
        return chosen[:MOST]

    def _shuffled(self, values: Collection[T]) -> list[T]:
        return random.Random(SEED).sample([*values], len(values))


def _around(text: str, at: int) -> list[str]:
    """The sentence of a text around a position, then those next to it, nearest first."""
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    place = bisect_right(ends, at, hi=len(ends) - 1) - 1
    near = sorted(range(len(ends) - 1), key=lambda other: abs(other - place))[: 1 + 2 * NEAR]
    return [text[ends[number] : ends[number + 1]] for number in near]


def _plain(text: str) -> str:
    """A text with the shown texts of its links in place of the links."""
    return _ADDRESS.sub(" ", _LINK.sub(lambda link: link[1] or link[2] or "", text))


def _names(memory: IndexedMemory) -> set[str]:
    path = Path(memory.path)
    return {name_key(name) for name in (memory.title, *memory.aliases, path.stem, memory.path)}


def recall(djinn: Djinn, questions: Sequence[Question], mode: Mode) -> str:
    """The share of questions whose answer is among the best five."""
    got = []
    for question in questions:
        hits = djinn.search(question.text, mode=mode, limit=5).hits
        got.append(question.answer in [hit.path for hit in hits])
    return f"{np.mean(got):.3f}" if got else "-"


def in_context(djinn: Djinn, questions: Sequence[Question]) -> str:
    """The share of questions whose answer is in the context of a task with these words."""
    got = []
    for question in questions:
        context = djinn.context(question.text)
        parts = (context.patterns, context.entities, context.documents, context.episodes)
        got.append(question.answer in [memory.path for part in parts for memory in part])
    return f"{np.mean(got):.3f}" if got else "-"


def main() -> None:
    """Index each vault, make the questions, ask them and print the table."""
    data = need_data() / "vaults"
    folders = [Path(name) for name in sys.argv[1:]] or sorted(filter(Path.is_dir, data.iterdir()))
    print(f"## Questions over links\n\n`python benchmarks/two_hop.py` on {machine()}\n")
    rows: list[list[object]] = []
    for folder in folders:
        with home_with(**{folder.name: folder}) as home:
            home.edit((("search", "per_note"), 1), (("search", "sweep_ms"), 0))
            with Djinn(home, resident=True) as djinn:
                djinn.index()
                with djinn.runtime.index(home.vaults) as index:
                    made = Questions(index, folder)
                for kind, questions in (
                    ("two hops", made.two_hops()),
                    ("two hops, far", made.two_hops(far=True)),
                    ("one note", made.one_note()),
                    ("link text", made.link_texts()),
                ):
                    rows.append(
                        [folder.name, kind, len(questions)]
                        + [recall(djinn, questions, mode) for mode in MODES]
                        + [in_context(djinn, questions)]
                    )
    table(["vault", "questions", "number", *MODES, "context"], rows)


if __name__ == "__main__":
    main()
