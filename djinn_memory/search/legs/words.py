"""The words leg: what FTS5 is asked, and what its BM25 is worth between 0 and 1."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import apsw
from msgspec import Struct

from djinn_memory.store.index import words

MAX_TERMS = 100
"""Words of a query that are asked for, and of a phrase; a pasted page is cut here."""

MAX_TIMES = 3
"""A word asked more often counts no more: FTS5 takes the square of that time over it."""

LOOKUP_TERMS = 4
"""So few words, all in one chunk, are what was asked for, whatever the scores."""

PAIR_WEIGHT = 0.3
"""What neighbours in the query that are neighbours in the text add to the BM25 of single words."""

SATURATED = 2.2
"""k1 + 1: the most that one word can bring in BM25, in units of its rarity."""

RARE_WORDS = 2.5
"""So many words of the greatest rarity, fully met, are a full match, however long the query."""

ADDED_SHARE = 0.2
"""What widens a question counts so much against it; an equal share costs
.06 of nDCG@10 on CACM with the words of a title that answers."""

_POSSESSIVE = re.compile(r"['’]s\b")


class WordsQuery(Struct, frozen=True):
    """A query as FTS5 reads it."""

    terms: str
    """OR of the words; a word asked twice counts twice, up to `MAX_TIMES`."""
    pairs: str
    """OR of the neighbouring pairs; empty when there are none."""
    every: str
    """AND of the words of a short query, a look-up; empty for a longer one."""
    stems: frozenset[str]
    full: float
    """The score at which a match counts as whole."""
    added: WordsQuery | None = None
    """Words that widen the question."""

    @property
    def any(self) -> str:
        """OR of all words."""
        return f"{self.terms} OR {self.added.terms}" if self.added else self.terms

    @property
    def marked(self) -> frozenset[str]:
        """Stems of all words."""
        return self.stems | self.added.stems if self.added else self.stems

    def share(self, score: float) -> float:
        """0 to 1, with one meaning for all queries and vaults."""
        return min(1.0, score / self.full) if self.full > 0 else 0.0


def compose(
    connection: apsw.Connection, texts: Sequence[str], added: Sequence[str] = ()
) -> WordsQuery | None:
    """Turn texts into a query; None when there is no word in them.

    `added` widens it, see `score`. The first text is what is looked up; neighbours are pairs
    within a text. A word is asked for in each form that the languages of the index give it. Stop
    words are dropped unless there is nothing else. `full` is the least of what a text that holds
    every word could reach, and of a few very rare words' worth: `min(2.2 * sum(idf),
    5.5 * ln(2N))`, for N chunks, with BM25's own idf.
    """
    held = words.languages(connection)
    language = _language(" ".join(texts), held)
    asked = [_asked(connection, text, language) for text in texts]
    if not any(keep for text in asked for _, keep in text):
        asked = [[(word, True) for word, _ in text] for text in asked]
    terms = [[word for word, keep in text if keep] for text in asked]
    every = [word for text in terms for word in text][:MAX_TERMS]
    every = [word for at, word in enumerate(every) if every[:at].count(word) < MAX_TIMES]
    more = compose(connection, added) if added else None
    if not every:
        return more
    known = _known(connection, every, language, held)
    looked_up = [known[word].match for word in terms[0] if word in known]
    total = connection.execute("select count(*) from chunk").get or 1
    distinct = {term.stems: term.holding for term in known.values() if term.stems}
    rarity = sum(_idf(total, holding) for holding in distinct.values())
    return WordsQuery(
        " OR ".join(known[word].match for word in every),
        " OR ".join(_pairs(asked, held)),
        " AND ".join(f"({match})" for match in looked_up) if len(looked_up) <= LOOKUP_TERMS else "",
        frozenset(stem for term in known.values() for stem in term.stems),
        min(SATURATED * rarity, SATURATED * RARE_WORDS * math.log(2 * total)),
        more,
    )


class _Term(Struct):
    """A word of a question as the index knows it."""

    match: str
    """OR of its forms."""
    stems: tuple[str, ...]
    holding: int
    """In how many chunks it stands."""


def _known(
    connection: apsw.Connection, terms: Sequence[str], language: str | None, held: Sequence[str]
) -> dict[str, _Term]:
    found: dict[str, _Term] = {}
    for term in dict.fromkeys(terms):
        stems = tuple(words.stems(connection, term, held))
        holding = max((words.frequency(connection, stem) for stem in stems), default=0)
        match = " OR ".join(map(_quoted, dict.fromkeys(words.forms(term, held))))
        found[term] = _Term(match, stems, holding)
    any_seen = any(term.holding for term in found.values())
    for word, known in found.items():
        others = [] if known.holding else _others(connection, word, language, held, any_seen)
        known.match = " OR ".join([known.match, *map(_quoted, others)])
        known.stems += tuple(others)
    return found


def _pairs(asked: list[list[tuple[str, bool]]], held: Sequence[str]) -> dict[str, None]:
    """Neighbours within a text, each once, as phrases."""
    return {
        f'"{one} {two}"': None
        for text in asked
        for (word, keep), (after, keep_after) in itertools.pairwise(text)
        if keep and keep_after and word != after
        for one, two in zip(words.forms(word, held), words.forms(after, held), strict=True)
    }


def _asked(connection: apsw.Connection, text: str, language: str | None) -> list[tuple[str, bool]]:
    """The words of a text, and whether each says something about what is asked for."""
    found = words.split(connection, _question(_POSSESSIVE.sub("", text)))[:MAX_TERMS]
    dropped = _stop_words_of(language)
    return [
        (word, word not in dropped) for at, word in enumerate(found) if not _tail_of_run(found, at)
    ]


def _others(
    connection: apsw.Connection,
    term: str,
    language: str | None,
    held: Sequence[str],
    any_seen: bool,
) -> list[str]:
    """What is asked for in the place of a word that the index does not hold."""
    if _unspaced(term):
        # Two words of one character each, where nothing else of the question is known.
        return [] if any_seen or len(term) != 2 else list(term)
    if "german" in held and language in (None, "german"):
        stem = words.forms(term, ["german"])[-1]
        # A number has no stem.
        return words.compounds(connection, stem) if stem != term else []
    return []


def overlong(connection: apsw.Connection, texts: Sequence[str]) -> bool:
    """Whether one of the texts has more words than are asked for."""
    return any(
        len(text) > MAX_TERMS and len(words.split(connection, _question(text))) > MAX_TERMS
        for text in texts
    )


def phrase(connection: apsw.Connection, text: str) -> str | None:
    """`text` as one phrase for FTS5; None when there is no word in it."""
    found = words.split(connection, text)[:MAX_TERMS]
    # Inside the phrase a run ends where it ends in the text; the last may go on there.
    if found and _tail_of_run(found, len(found) - 1):
        del found[-1]
    held = words.languages(connection)
    spoken = zip(*(words.forms(word, held) for word in found), strict=True)
    return " OR ".join(dict.fromkeys(f'"{" ".join(one)}"' for one in spoken)) or None


def score(connection: apsw.Connection, query: WordsQuery, chunk_ids: list[int]) -> dict[int, float]:
    """BM25 of words and neighbouring pairs, for those of `chunk_ids` that hold any.

    With words that widen it it is the mean of theirs and its own, each against its own `full`, in
    units of its own.
    """
    result = words.scores(connection, query.terms, chunk_ids)
    if query.pairs:
        for chunk_id, bonus in words.scores(connection, query.pairs, chunk_ids).items():
            result[chunk_id] = result.get(chunk_id, 0.0) + PAIR_WEIGHT * bonus
    if query.added:
        theirs = score(connection, query.added, chunk_ids)
        result = {
            chunk_id: (1 - ADDED_SHARE) * result.get(chunk_id, 0.0)
            + ADDED_SHARE * query.full * query.added.share(theirs.get(chunk_id, 0.0))
            for chunk_id in {**result, **theirs}
        }
    return result


def content(connection: apsw.Connection, text: str) -> frozenset[str]:
    """The stems of what a question asks for; of all its words where they are stop words."""
    asked = _asked(connection, text, _language(text, words.languages(connection)))
    kept = [word for word, keep in asked if keep] or [word for word, _ in asked]
    return frozenset(words.stemmed(connection, " ".join(kept)))


@cache
def stop_words() -> frozenset[str]:
    """English words that say nothing about what is asked for."""
    return frozenset(Path(__file__).with_name("stopwords.txt").read_text().split())


def _language(text: str, held: Sequence[str]) -> str | None:
    """The language of a question: English, one that the index holds, or None for no telling."""
    if not held:
        return None
    from djinn_memory.languages.detection import detect

    return detect(text, held, at_least=1)


def _stop_words_of(language: str | None) -> frozenset[str]:
    if language in (None, "english"):
        return stop_words()
    from djinn_memory.languages import detection

    return detection.stop_words(language)


def _question(text: str) -> str:
    if text.isascii():
        return text
    from djinn_memory.languages import scripts

    return scripts.question(scripts.fold(text))


def _idf(total: int, holding: int) -> float:
    return max(1e-6, math.log((total - holding + 0.5) / (holding + 0.5)))


def _quoted(term: str) -> str:
    # A lone character of a script cut into pairs begins a pair in the index.
    return f'"{term}"*' if len(term) == 1 and _unspaced(term) else f'"{term}"'


def _tail_of_run(found: list[str], at: int) -> bool:
    """Whether a word is the single last character that `prepare` puts behind a run's pairs."""
    word = found[at]
    before = found[at - 1] if at else ""
    return len(before) > len(word) and before.endswith(word) and _unspaced(word)


def _unspaced(word: str) -> bool:
    if word.isascii():
        return False
    from djinn_memory.languages import scripts

    return scripts.unspaced(word)
