"""Which statements about entities answer a question wholly, so that the answer is certain.

`who led the harbour lamp in May` is answered by `led-by: Maren Holt` in the note of the harbour
lamp: the question names the entity, the property and a time at which the value held, and nothing
else. `who painted the harbour lamp in May` is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from djinn_memory.languages.fact_keys import same_keys
from djinn_memory.notes.markdown.plain_text import inline
from djinn_memory.notes.slugs import fold
from djinn_memory.search.backend import Vocabulary
from djinn_memory.search.candidates import Candidate, Search
from djinn_memory.search.stages.statements import Statement
from djinn_memory.store.index.records import IndexedMemory

_FILLERS = frozenset("a an as at by for from had has have in is of on the to was were with".split())  # noqa: SIM905
"""Words of keys that say nothing: `led-by` is asked for with `led`."""

_OTHER_FORMS = {
    "led": "lead", "taught": "teach", "wrote": "write", "written": "write", "built": "build",
    "ran": "run", "held": "hold", "kept": "keep", "sold": "sell", "bought": "buy", "paid": "pay",
    "met": "meet", "drove": "drive", "made": "make", "chose": "choose", "chosen": "choose",
    "won": "win", "drew": "draw", "flew": "fly", "grew": "grow", "spoke": "speak",
}  # fmt: skip
"""Irregular forms of verbs that occur in the names of relations."""

_SUFFIX = 4
"""Maximum letters by which two words of one meaning differ at the end: own and owner."""


def answers(search: Search, memory: IndexedMemory, listed: Sequence[Statement]) -> list[Statement]:
    """The statements about an entity that answer the question with all its words."""
    vocabulary = search.index.words
    asked = search.asked_words - search.time_words - {"now", "current", "currently"}
    names = [_stems(vocabulary, name) for name in (memory.title, *memory.aliases)]
    if memory.type == "person":
        # People are called by their first names.
        names.append(_stems(vocabulary, memory.title.split()[0]) if memory.title.split() else [])
    named = {stem for name in names if name and asked.issuperset(name) for stem in name}
    kind = asked.intersection(_stems(vocabulary, fold(memory.type or "")))
    if kind <= named:
        kind = frozenset()
    return [
        each for each in listed if _is_asked(vocabulary, asked, named, kind, inline(each[1].value))
    ]


def _is_asked(
    vocabulary: Vocabulary,
    asked: frozenset[str],
    named: set[str],
    kind: frozenset[str],
    statement: str,
) -> bool:
    """Whether the words of a question are those of a statement and of the entity it is about."""
    key, _, value = statement.partition(": ")
    values = set(_stems(vocabulary, value))
    if not (named or kind or asked.issuperset(values)):
        return False
    rest = asked - named - kind
    keyed = {stem for stem in rest if _names_key(vocabulary, key, stem)}
    return bool(keyed) and rest - keyed <= values


def _names_key(vocabulary: Vocabulary, key: str, stem: str) -> bool:
    stems = {each for name in same_keys(key) for each in _stems(vocabulary, name)}
    return any(_alike(stem, each) for each in stems)


def _alike(word: str, other: str) -> bool:
    """Whether two stems are of one verb or noun: led and leader, own and owner."""
    short, long = sorted((_OTHER_FORMS.get(word, word), _OTHER_FORMS.get(other, other)), key=len)
    return len(short) >= 3 and long.startswith(short) and len(long) - len(short) <= _SUFFIX


def _stems(vocabulary: Vocabulary, text: str) -> list[str]:
    words = [word for word in vocabulary.split(text) if word not in _FILLERS]
    return vocabulary.stemmed(" ".join(words))


def names_subject(search: Search, memory: IndexedMemory) -> bool:
    """Whether a question names an entity, so that its statements are worth reading."""
    names = (_stems(search.index.words, name) for name in (memory.title, *memory.aliases))
    return any(name and search.asked_words.issuperset(name) for name in names)


def put_answers_first(search: Search, chosen: Sequence[Candidate]) -> list[Candidate]:
    """The chosen candidates, those that answer wholly first."""
    return [*_answering(search, chosen, True), *_answering(search, chosen, False)]


def _answering(search: Search, chosen: Iterable[Candidate], wanted: bool) -> Iterator[Candidate]:
    return (each for each in chosen if (each.memory_id in search.answered) == wanted)
