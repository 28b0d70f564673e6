"""Counts tokens with the packaged model's tokenizer, and distinguishes data from prose."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from djinn_memory.system.expressions import expression

SHORTEST = 200
"""Minimum number of characters in a text that is judged."""

BLANK_SHARE = 0.06
"""A text with a smaller share of white space was not written to be read. English has 15 to 20 %,
German and Finnish 11 to 14 %, code over 10 %, minified code 2 to 5 %, base64 less than 2 %."""

FOREIGN_SHARE = 0.1
"""A text with a larger share of non-ASCII letters may be in a script without spaces."""

BROKEN_SHARE = 0.05
"""A text with a larger share of control and replacement characters is binary. In random bytes the
share is over half; a note in another encoding rarely has 3 %."""

DIGIT_SHARE = 0.4
"""A text with a larger share of digits, ignoring spaces, is a dump or a table of numbers."""

_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r"))


def legible(text: str) -> bool:
    """Whether people may have written `text`. A short text always counts as legible."""
    if len(text) < SHORTEST:
        return True
    data = text.encode("utf-8", "replace")
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls + text.count("\ufffd") > BROKEN_SHARE * len(text):
        return False
    if len(text) - len(text.encode("ascii", "ignore")) > FOREIGN_SHARE * len(text):
        return True
    blanks = sum(map(text.count, " \n\t"))
    digits = sum(map(text.count, "0123456789"))
    return blanks >= BLANK_SHARE * len(text) and digits <= DIGIT_SHARE * (len(text) - blanks)


PACKAGED_MODEL = Path(__file__).parents[1] / "embedding" / "all-MiniLM-L6-v2"
"""The folder of the packaged model."""

_LONG = 100
"""The tokenizer turns a word of more than 100 characters into one unknown token."""

_LETTERS = 4
"""Number of characters of such a word that count as a token."""

_UNBROKEN = expression(rf"\S{{{_LONG + 1}}}")

_BARE = 1_000
"""A run without tokens, such as spaces, is counted from this number of characters on."""

_BARE_STEP = 100
"""Characters of such a run that count as a token: otherwise a chunk could hold megabytes."""

_DATA_PIECE = 1_000
"""Characters of a piece of data whose tokens are estimated. A piece contains little prose."""

_DATA_TOKEN = expression(r"\w{1,4}|[^\w\s\0-\x1f\x7f-\x9f\ufffd]")
"""A token in data: up to four letters, as in a long word, or a sign."""

_BATCH = 8
"""Pieces that are tokenized at once."""

_MOST_COUNTED = 20_000
"""Maximum number of texts whose counts are cached; they take a few MB."""

_counted: dict[tuple[int, int], int] = {}
"""Token counts by the text's 64-bit hash and length."""


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    try:
        tokenizer = Tokenizer.from_file(str(PACKAGED_MODEL / "tokenizer.json"))
    except Exception:  # the errors of tokenizers have no class of their own
        # Words are still found, and the embedder reports that the model is damaged.
        tokenizer = Tokenizer(models.WordLevel({"": 0}, unk_token=""))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


SHORT_TOKEN = 2
"""Fewest characters of a token in ASCII text. Of 2,090 pieces of 300 characters, 3 had more than
150 tokens, and none more than 212."""

USUAL_TOKEN = 4
"""Characters of a token in English text."""


def most_tokens(text: str) -> int:
    """The most tokens that a text may have, without the tokenizer, which takes 60 ms to load."""
    return len(text) // SHORT_TOKEN if text.isascii() else len(text)


def token_starts(text: str) -> array[int]:
    """The character offsets at which tokens begin, ascending.

    The result is an array: the 20 million tokens of a long note take 700 MB as a list, and 80 MB as
    an array.

    In a word too long for the tokenizer, every four characters count as a token, so that a line of
    megabytes without a space gets a realistic size. In a long run without tokens, every hundred
    characters count as one.
    """
    starts = array("I")
    _add_starts(starts, 0, _split(text))
    return starts


def estimated_starts(text: str) -> tuple[array[int], bool]:
    """As `token_starts`, but tokens of data and minified text are estimated.

    The tokenizer takes seconds for a megabyte of such text, and it is never embedded. Also returns
    whether the text has no such part, so that all tokens were counted.
    """
    starts = array("I")
    at, counted = 0, True
    for piece in _split(text):
        for part in [piece] if legible(piece) else _split(piece, _DATA_PIECE):
            if legible(part):
                _add_starts(starts, at, [part])
            else:
                counted = False
                places = [at + match.start() for match in _DATA_TOKEN.finditer(part)]
                starts.extend(places or range(at, at + len(part), _BARE_STEP))
            at += len(part)
    return starts, counted


def _add_starts(starts: array[int], at: int, pieces: Iterable[str]) -> None:
    """Append where tokens begin in pieces of a text. The first piece begins at `at`."""
    reached = at
    for piece, encoded in _encoded(pieces):
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


def token_counts(texts: Sequence[str]) -> list[int]:
    """The number of tokens in each text, without the two special tokens around it.

    A word too long for the tokenizer counts as in `token_starts`. Counts are cached, because a
    process that answers many questions returns the same memories repeatedly.
    """
    keys = [(hash(text), len(text)) for text in texts]
    counts = {key: _counted.get(key) for key in keys}
    new = {key: text for key, text in zip(keys, texts, strict=True) if counts[key] is None}
    encoded = _tokenizer().encode_batch_fast(list(new.values()), add_special_tokens=False)
    fresh = {
        key: _with_long_words(text) if _UNBROKEN.search(text) else len(encoding.ids)
        for (key, text), encoding in zip(new.items(), encoded, strict=True)
    }
    if len(_counted) > _MOST_COUNTED:
        _counted.clear()
    _counted.update(fresh)
    known = counts | fresh
    return [known[key] or 0 for key in keys]


def _with_long_words(text: str) -> int:
    lengths = (
        end - start for _, encoded in _encoded(_split(text)) for start, end in encoded.offsets
    )
    return sum(-(-length // _LETTERS) if length > _LONG else 1 for length in lengths)


def _encoded(pieces: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Each piece with its tokens. Batches bound the memory: a token takes 100 bytes meanwhile."""
    left = iter(pieces)
    while part := list(islice(left, _BATCH)):
        yield from zip(part, _tokenizer().encode_batch(part, add_special_tokens=False), strict=True)


def _split(text: str, size: int = 20_000) -> Iterator[str]:
    """Pieces of about `size` characters, cut at white space. No call grows with the note."""
    at = 0
    while at < len(text):
        cut = at + size
        if cut < len(text):
            newline = text.rfind("\n", at, cut)
            space = text.rfind(" ", at, cut)
            cut = max(newline, space) + 1 or cut
            cut = cut if cut > at else at + size
        yield text[at:cut]
        at = cut
