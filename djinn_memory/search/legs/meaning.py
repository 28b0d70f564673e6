"""The meaning leg of one search: whose model embeds the question, or why none does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.embedding.background import Background, embed_in_background
from djinn_memory.embedding.embedder import Embedder
from djinn_memory.errors import DjinnError
from djinn_memory.models import Problem
from djinn_memory.search.query import Query
from djinn_memory.store.index.vectors import VectorSpace

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

_REMEDY = "; run `djinn index`, until then only words are searched"


class QuestionVector:
    """Begins to embed a question at once, for the space that answers; `vector` waits for it."""

    def __init__(
        self,
        embedder: Embedder,
        space: VectorSpace | None,
        query: Query,
        *,
        empty: bool,
        resident: bool = False,
    ) -> None:
        self._embedder = embedder
        self._space = space
        self._ahead: Background[Vectors] | None = None
        self._why = ""
        if not embedder.ready:
            self._why = f"the model is not prepared yet{_REMEDY}"
        elif space is None:
            self._why = "" if empty else f"nothing is embedded yet{_REMEDY}"
        elif space.identity != embedder.identity:
            self._why = (
                f"the index was embedded with {space.identity}, the model at hand is "
                f"{embedder.identity}{_REMEDY}"
            )
        else:
            # A process that lives long has its model loaded.
            at_once = resident and embedder.local
            self._ahead = embed_in_background(embedder, *query.for_meaning, at_once=at_once)

    def spare(self) -> Embedder | None:
        """What can give a few windows more a vector at once; None when nothing can."""
        quick = self._ahead and self._embedder.local and self.vector([]) is not None
        return self._embedder if quick else None

    def outdated(self, serving: VectorSpace | None) -> bool:
        """Whether the vectors that answer are of another model than the question's vector."""
        return serving is None or self._space is None or serving.identity != self._space.identity

    def vector(self, problems: list[Problem]) -> Vectors | None:
        """The question's vector, waited for; else the reason is added to `problems`."""
        if self._ahead is None:
            problems += [Problem("embedding", self._why)] if self._why else []
            return None
        try:
            vector = self._ahead.result()
        except DjinnError as error:
            problems.append(Problem("embedding", f"{error}; only words were searched"))
            return None
        if self._space and len(vector) != self._space.dimensions:
            why = (
                f"the model gives {len(vector)} dimensions, the index has {self._space.dimensions}"
            )
            problems.append(Problem("embedding", f"{why}{_REMEDY}"))
            return None
        return vector
