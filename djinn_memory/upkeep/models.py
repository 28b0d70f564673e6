"""Checks of the embedder, the reranker, the chat model and the folder of prepared models."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from djinn_memory.embedding.embedder import Embedder
from djinn_memory.embedding.model_files import multilingual_weights
from djinn_memory.errors import DjinnError, Remedy, Unavailable
from djinn_memory.home.config import model_cache
from djinn_memory.home.settings import CHAT_MODEL, MULTILINGUAL
from djinn_memory.languages.vault_language import mostly_foreign
from djinn_memory.system.files import is_abandoned
from djinn_memory.upkeep.findings import (
    FIX,
    INDEX,
    Check,
    CheckedHome,
    Mend,
    error,
    failure,
    hint,
    ok,
    removing,
    some,
    warning,
)

PATIENCE = 5.0
"""Seconds that a server has to embed one word or to answer with one."""


def embedder(case: CheckedHome) -> Iterator[Check]:
    """Check whether a word can be embedded, and with which model."""
    models = case.models
    try:
        embedder = models.embedder
        if embedder is None:
            yield ok("embedder", "none: embedding.provider is none, so only keywords are searched")
            return
        embedder.check()
        if not embedder.ready:
            what = f"{models.name} is not prepared yet, so only keywords are searched"
            yield hint("embedder", what, INDEX, _preparing(case))
            return
        began = time.monotonic()
        [vector] = embedder.embed(["djinn"], query=True, within=PATIENCE)
        took = (time.monotonic() - began) * 1000
        yield ok("embedder", f"{models.name}: a vector of {len(vector)} numbers in {took:,.0f} ms")
        yield from _other_languages(case)
    except DjinnError as wrong:
        yield failure("embedder", wrong, _remaking(case))


def _other_languages(case: CheckedHome) -> Iterator[Check]:
    """Suggest the multilingual model in place of the packaged one, which knows English best."""
    settings = case.home.config.embedding
    if settings.provider not in ("auto", "local") or settings.model == MULTILINGUAL:
        return
    foreign = [vault.name for vault in case.home.vaults if mostly_foreign(vault.root)]
    if not foreign:
        return
    what = f"most notes of {some(foreign)} are not in English, which {case.models.name} knows best"
    remedy = Remedy("index", {"model": MULTILINGUAL}, "find their meaning")
    try:
        multilingual_weights()
        yield hint("embedder", what, remedy)
    except Unavailable as missing:
        yield hint("embedder", what, "; ".join(map(str, (*missing.remedies, remedy))))


def reranker(case: CheckedHome) -> Iterator[Check]:
    """Check whether the configured reranker, if any, can be used."""
    if case.home.config.search.rerank == CHAT_MODEL:
        yield ok("reranker", "the chat model of llm")
        return
    try:
        reranker = case.models.reranker
    except DjinnError as wrong:
        yield failure("reranker", wrong)
        return
    if reranker is None:
        yield ok("reranker", "none")
    elif reranker.ready:
        yield ok("reranker", reranker.name)
    else:
        yield hint("reranker", f"{reranker.name} is not prepared yet", INDEX)


def chat_model(case: CheckedHome) -> Iterator[Check]:
    """Check whether the configured chat model, if any, answers."""
    from djinn_memory.search.chat_model import ask

    config, search = case.home.config.llm, case.home.config.search
    users = [key for key in ("expand", "rerank") if getattr(search, key) == CHAT_MODEL]
    if not config.model:
        if users:
            names = " and ".join(f"search.{key}" for key in users)
            what = f"there is no model for {names}: llm.model is not set"
            yield warning("chat model", what, "djinn config set llm.model NAME")
        else:
            yield ok("chat model", "none")
        return
    try:
        began = time.monotonic()
        ask(config, "Answer with the word ok.", PATIENCE)
        took = (time.monotonic() - began) * 1000
        yield ok("chat model", f"{config.model} answers in {took:,.0f} ms")
    except DjinnError as wrong:
        yield failure("chat model", wrong)


def cache(case: CheckedHome) -> Iterator[Check]:
    """Check the user's folder of prepared models."""
    folder = model_cache()
    if not folder.exists():
        yield ok("models", f"{folder} does not exist yet")
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        what = f"{folder} is not writable, so no model can be prepared"
        yield error("models", what, "correct its permissions, or set DJINN_CACHE")
        return
    left = [path for path in sorted((folder / "models").glob(".export-*")) if is_abandoned(path)]
    if left:
        what = f"{len(left)} exports were interrupted: {some([path.name for path in left])}"
        yield hint("models", what, FIX, removing(left))
    else:
        yield ok("models", str(folder))


def _preparing(case: CheckedHome) -> Mend:
    def mend() -> str:
        embedder = case.models.embedder
        assert embedder
        embedder.embed(["djinn"])
        return f"prepared {case.models.name}"

    return mend


def _remaking(case: CheckedHome) -> Mend | None:
    """A fix that prepares a model again; None for a model that djinn did not prepare."""
    embedder: Embedder | None = case.models.__dict__.get("embedder")
    prepared = embedder is not None and embedder.local and embedder.ready
    folder = getattr(embedder, "folder", None) if prepared else None
    if not isinstance(folder, Path) or not folder.is_relative_to(model_cache()):
        return None

    def mend() -> str:
        shutil.rmtree(folder, ignore_errors=True)
        case.models.__dict__.pop("embedder", None)
        _preparing(case)()
        return f"prepared {case.models.name} again"

    return mend
