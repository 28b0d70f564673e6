"""Tells by meaning whether words state something to be kept, and of which type.

A text is compared with sentences of `prototypes.tsv`: with those of each type, and with small talk,
tasks, suppositions and the like, which state nothing. The packaged model embeds them, whatever
model embeds the notes, because the floors are measured with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, get_args

from djinn_memory.embedding.embedder import Embedder, create_embedder
from djinn_memory.errors import DjinnError
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.memories.sessions.extraction.claims import ClaimType
from djinn_memory.models import Vectors
from djinn_memory.runtime import Runtime
from djinn_memory.store.vector_cache import stored, text_hash

NEIGHBOURS = 5
"""Prototypes of each side that count. With 1, 3, 5 and 8 the sixty statements of
`benchmarks/statements.tsv` and the sixty others are told apart with an area under the curve of
.914, .925, .926 and .929, without any rule."""

NOTHING, EVENT = "nothing", "event"
"""Types of prototypes that are no types of memories. An event becomes a fact."""


class Meaning(NamedTuple):
    """What the prototypes say of a text."""

    score: float
    """The mean cosine with the nearest statements, minus that with the nearest others."""
    type: ClaimType
    """The type of most of the nearest statements."""


@cache
def prototypes() -> tuple[tuple[str, str], ...]:
    """The type and the words of each prototype."""
    lines = Path(__file__).with_name("prototypes.tsv").read_text("utf-8").splitlines()
    return tuple((kind, text) for kind, _, text in (line.partition("\t") for line in lines))


class MeaningReader:
    """Compares texts with the prototypes."""

    def __init__(self, embedder: Embedder, vectors: Vectors) -> None:
        self._embedder = embedder
        self._vectors = vectors

    def read(self, texts: Sequence[str]) -> list[Meaning]:
        """What the prototypes say of each text."""
        import numpy as np

        if not texts:
            return []
        kinds = np.array([kind for kind, _ in prototypes()])
        states = kinds != NOTHING
        meanings = []
        for cosines in self._embedder.embed(texts) @ self._vectors.T:
            nothing = np.sort(cosines[~states])[-NEIGHBOURS:].mean()
            nearest = np.argsort(np.where(states, cosines, -1.0))[-NEIGHBOURS:]
            votes: defaultdict[str, float] = defaultdict(float)
            for at in nearest:
                votes[str(kinds[at])] += float(cosines[at])
            kind = max(votes, key=votes.__getitem__)
            kept: ClaimType = next((each for each in get_args(ClaimType) if each == kind), "fact")
            meanings.append(Meaning(float(cosines[nearest].mean() - nothing), kept))
        return meanings


def meaning_reader(runtime: Runtime) -> MeaningReader | None:
    """The reader of meanings of a home; None if the home embeds nothing, or the model is damaged.

    The vectors of the prototypes are kept in the cache of the home.
    """
    import numpy as np

    if runtime.home.config.embedding.provider in ("none", "hashing"):
        return None
    embedder = create_embedder(EmbeddingConfig())
    texts = [text for _, text in prototypes()]
    with suppress(DjinnError, OSError):
        assert embedder
        keys, cache = [text_hash(text) for text in texts], runtime.state.cache
        kept = cache.get(embedder.identity, keys)
        if missing := [text for key, text in zip(keys, texts, strict=True) if key not in kept]:
            new = stored(map(text_hash, missing), embedder.embed(missing))
            with suppress(DjinnError):
                # Without this, a session would be read without meanings while the cache is busy.
                cache.put(embedder.identity, new)
            kept |= new
        vectors = np.array([np.frombuffer(kept[key], "<f4") for key in keys])
        return MeaningReader(embedder, vectors)
    return None
