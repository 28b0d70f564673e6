"""Which models a home works with."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from djinn_memory.embedding import embedder
from djinn_memory.embedding.spec import cooked, named_model, recipe
from djinn_memory.home.home import Home
from djinn_memory.models import Embedder, ProgressCallback, silent

if TYPE_CHECKING:
    from djinn_memory.embedding.cross_encoder import CrossEncoder


class ModelRegistry:
    """The models of a home, each made when it is first asked for, and loaded later still."""

    def __init__(self, home: Home, progress: ProgressCallback = silent) -> None:
        self._home = home
        self._progress = progress

    @cached_property
    def embedder(self) -> Embedder | None:
        """What the settings name; None when the home searches by words only."""
        return embedder(self._home.config.embedding, self._progress)

    @property
    def name(self) -> str | None:
        """What a person calls the model that embeds; None when nothing does."""
        settings = self._home.config.embedding
        if settings.provider == "none":
            return None
        packaged = settings.provider in ("auto", "local")
        return settings.model or ("all-MiniLM-L6-v2" if packaged else settings.provider)

    @property
    def recipe(self) -> str:
        """The settings that make `embedder`, to be kept with its vectors."""
        return recipe(self._home.config.embedding)

    def answering(self, made_by: str | None, identity: str | None) -> Embedder | None:
        """What embeds queries for vectors of this recipe and identity, None where there are none.

        While a change of model lasts it is not `embedder`. What the user does not trust the home
        with any more is not used: then it is, and its identity is another.
        """
        wanted = self.embedder
        if wanted is None or made_by in (None, self.recipe):
            return wanted
        if wanted.ready and wanted.identity == identity:
            return wanted
        before = cooked(self._home.config.embedding, made_by or "")
        made = embedder(before, self._progress) if self._home.permitted(before) else None
        return made or wanted

    def wanted(self, made_by: str) -> bool:
        """Whether the settings, as they stand on the disk now, still ask for this recipe."""
        self._home.reread()
        return self.recipe == made_by

    @cached_property
    def reranker(self) -> CrossEncoder | None:
        """The cross-encoder of the settings, None where they name none."""
        name = self._home.config.search.rerank
        if not name:
            return None
        from djinn_memory.embedding.cross_encoder import CrossEncoder

        return CrossEncoder(name, self._home.root, self._progress)

    def use(self, text: str) -> None:
        """Embed by another model from now on, named as `config.named_model` reads it.

        It is tried first: what raises `Unavailable` leaves the settings as they were. What the
        user types is trusted, but not an address or a key that the home's settings add to it:
        `Refused` says so.
        """
        provider, model = named_model(text)
        if model and provider == "sentence-transformers" and model.startswith("."):
            # The next command may be given elsewhere.
            model = str(Path(model).resolve())
        changes: dict[str, str | None] = {"provider": provider, "model": model}
        changes |= dict.fromkeys(("dimensions", "query_prompt", "document_prompt"))
        if provider != self._home.asked().embedding.provider:
            changes |= dict.fromkeys(("url", "key_env"))
        edits = [(("embedding", key), value) for key, value in changes.items()]
        wanted = self._home.asked(*edits).embedding
        self._home.may_use(wanted)
        tried = embedder(wanted, self._progress)
        if tried:
            tried.embed(["djinn"])
        self._home.edit(*edits)
        self._home.trust([one for one in self._home.untrusted if one.use == "embedding"])
        self.__dict__.pop("embedder", None)
