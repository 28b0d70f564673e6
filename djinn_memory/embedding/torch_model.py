"""A model of sentence-transformers run by torch: where it does not export, or on a GPU."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from djinn_memory.embedding.local import model_in
from djinn_memory.errors import Unavailable

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


def load(name: Path | str, device: str = "cpu") -> tuple[Any, Path]:
    """The model in a folder, or of that name, and the folder it lies in.

    Raises `Unavailable` in one line when there is none or it cannot be had.
    """
    with quiet():
        from sentence_transformers import SentenceTransformer

        source = model_in(name) or fetched(str(name))
        try:
            model = SentenceTransformer(
                str(source),
                device=device,
                local_files_only=True,
                model_kwargs={"attn_implementation": "eager"},
            )
        except Exception as error:  # it has no common class of its own
            raise Unavailable(
                f"the model {name} cannot be loaded ({_first_line(error)}); "
                "name a sentence-transformers model or the folder of one"
            ) from None
        return model, source


def fetched(name: str) -> Path:
    """The folder of the model of that name in the Hugging Face cache, fetched if it is not there.

    Raises `Unavailable` in one line.
    """
    with quiet():
        from huggingface_hub import snapshot_download

        try:
            return Path(snapshot_download(name, local_files_only=True))
        except Exception:  # not there, or no name at all: the hub knows which
            try:
                return Path(snapshot_download(name, ignore_patterns=_FORMS))
            except Exception as error:
                raise Unavailable(
                    f"the model {name} is no folder, and cannot be fetched "
                    f"({_first_line(error)}); name a folder's whole path, or a model of the hub"
                ) from None


_FORMS = ["onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf", "*.tflite"]
"""The same weights once more, for other programs."""


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:200] or type(error).__name__


def encode(model: Any, texts: Sequence[str], batch: int = 32) -> Vectors:
    """Unit vectors; a text that is longer than the model reads is the mean of its parts."""
    import numpy as np

    limit = model.max_seq_length or 512
    with quiet():
        parts = [_parts(model.tokenizer, text, limit) for text in texts]
    # An empty prompt of our own: a model's default one would come on top of djinn's.
    model.default_prompt_name = None
    made = model.encode(
        [part for some in parts for part in some], batch_size=batch, convert_to_numpy=True,
        normalize_embeddings=True, show_progress_bar=False,
    )  # fmt: skip
    ends = np.cumsum([len(some) for some in parts])
    means = np.stack([some.mean(axis=0) for some in np.split(made, ends[:-1])])
    unit: Vectors = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _parts(tokenizer: Any, text: str, limit: int) -> list[str]:
    # Not every model has a tokenizer that counts; one of words alone reads any length.
    short = len(text) <= limit or not callable(tokenizer)
    if short or len(tokenizer(text, truncation=False)["input_ids"]) <= limit:
        return [text]
    middle = len(text) // 2
    cut = text.rfind(" ", 1, middle) if text.rfind(" ", 1, middle) > 0 else middle
    return _parts(tokenizer, text[:cut], limit) + _parts(tokenizer, text[cut:].lstrip(), limit)


@cache
def opened(source: str, device: str) -> Any:
    """The model in a folder on a device, kept for the next call."""
    with quiet():
        import torch

        known = {"cpu": True, "cuda": torch.cuda.is_available()}
        known["mps"] = torch.backends.mps.is_available()
        if not known[device]:
            raise Unavailable(f"torch finds no {device} here; set embedding.device to auto or cpu")
        return load(Path(source), device)[0]


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings and bars of libraries, and without a word to their makers."""
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
    finally:
        logging.disable(before)
