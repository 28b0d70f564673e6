"""Rare words of a question, such as SMPTE, that a chunk holds exactly as they are written.

The model cuts such a word into pieces that mean nothing, so that only the words can vouch for it.
Where words alone answer, they vouch for any rare word, and the model's tokenizer is not loaded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from djinn_memory.chunking.tokens import token_starts
from djinn_memory.search.candidates import Search
from djinn_memory.store.index.records import WordMatch
from djinn_memory.store.index.words import forms

RARE = 0.5
"""Rarity of a rare word, in units of the greatest: of 100 chunks at most 6 hold it, of 3,000 39."""

MAIN = 0.5
"""Share of the question's rarity from which on a question is about one word."""


def exact_hits(search: Search, rarity: float) -> Iterator[int]:
    """The chunks with a rare word of a question, of which all words have so much `rarity`.

    The word makes up half of that, or is written as a name. A question with capitals means its
    words as they are written: VAT is not a vat. Most questions begin with a capital.
    """
    index, vocabulary = search.index, search.index.words
    greatest = math.log(2 * max(1, vocabulary.total))
    by_meaning = "meaning" in search.weights
    question = " ".join(search.query.for_words)
    case = re.NOFLAG if any(map(str.isupper, question[1:])) else re.IGNORECASE
    for word in dict.fromkeys(re.findall(r"\w+", question)):
        if by_meaning and len(token_starts(word)) < 2:
            continue
        if len(split := vocabulary.split(word)) != 1:
            continue
        spellings = tuple(dict.fromkeys(forms(split[0], vocabulary.languages)))
        worth = vocabulary.rarity(spellings)
        if worth < RARE * greatest:
            continue
        match = WordMatch((tuple((form,) for form in spellings),))
        refs = index.words.search(match, search.selection, search.wanted)
        chunks = index.chunks([ref.chunk_id for ref in refs])
        memories = search.lookup(ref.memory_id for ref in refs)
        for ref in refs:
            text = f"{memories[ref.memory_id].title}\n{chunks[ref.chunk_id].text}"
            written = _written(word, text, case)
            if written and (worth >= MAIN * rarity or _is_name(written, vocabulary.languages)):
                yield ref.chunk_id


def _written(word: str, text: str, case: re.RegexFlag) -> list[str]:
    """How a word is written in a text, each time with the two characters before it."""
    return re.findall(rf"(?s)(.?.?\b{re.escape(word)}\b)", text, case)


def _is_name(written: list[str], languages: tuple[str, ...]) -> bool:
    """Whether a word has capitals or digits inside, or a capital in the middle of a sentence.

    In German each noun has one. A number alone, such as a year, is not a name.
    """
    words = [re.split(r"\W", each)[-1] for each in written]
    inside = any(re.search(r"[^\W\d_]\d|\d[^\W\d_]|\w[A-Z]", word) for word in words)
    capital = any(re.match(r"[\w,;:] [A-Z]", each) for each in written)
    return inside or (capital and "german" not in languages)
