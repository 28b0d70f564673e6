"""Finds chunks that contain a rare word of a question, such as SMPTE, exactly as written.

The model splits such a word into meaningless pieces, so only a match of words can confirm it. A
search by words alone treats any rare word this way, and does not load the model's tokenizer.
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
"""Minimum rarity of a rare word, as a share of the maximum: at most 6 of 100 chunks contain it, or
39 of 3,000."""

MAIN = 0.5
"""Minimum share of the question's rarity in a word that makes it the subject of the question."""


def exact_hits(search: Search, rarity: float) -> Iterator[int]:
    """The chunks that contain a rare word of a question whose words have this total `rarity`.

    The word must make up half of the total or be written like a name. In a question with capitals,
    words must match in case: VAT is not a vat. A capital at the start of the question does not
    count.
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
        search.load(ref.chunk_id for ref in refs)
        memories = search.lookup(ref.memory_id for ref in refs)
        for ref in refs:
            text = f"{memories[ref.memory_id].title}\n{search.chunk(ref.chunk_id).text}"
            written = _written(word, text, case)
            if written and (worth >= MAIN * rarity or _is_name(written, vocabulary.languages)):
                yield ref.chunk_id


def _written(word: str, text: str, case: re.RegexFlag) -> list[str]:
    """The occurrences of a word in a text, each with the two characters before it."""
    return re.findall(rf"(?s)(.?.?\b{re.escape(word)}\b)", text, case)


def _is_name(written: list[str], languages: tuple[str, ...]) -> bool:
    """Whether a word has capitals or digits inside, or a capital in the middle of a sentence.

    The second test does not apply in German, where every noun has a capital. A number alone, such
    as a year, is not a name.
    """
    words = [re.split(r"\W", each)[-1] for each in written]
    inside = any(re.search(r"[^\W\d_]\d|\d[^\W\d_]|\w[A-Z]", word) for word in words)
    capital = any(re.match(r"[\w,;:] [A-Z]", each) for each in written)
    return inside or (capital and "german" not in languages)
