"""Makes the packaged model: all-MiniLM-L6-v2 in int8, from its original weights.

Run: `python tools/packaged_model.py [FOLDER]`, with the extra `models`. It writes the same bytes
each time.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from msgspec.structs import replace

from djinn_memory.chunking.tokens import PACKAGED_MODEL
from djinn_memory.embedding.export import export_model
from djinn_memory.embedding.model_files import ModelCard, read_card, write_card
from djinn_memory.embedding.torch_model import packaged_original
from djinn_memory.models import silent


def main(target: Path = PACKAGED_MODEL) -> None:
    """Export the model, and write what djinn needs of it into `target`."""
    original = packaged_original()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "model"
        export_model(original, scratch, silent)
        card = read_card(scratch, ModelCard)
        # Existing vectors carry the identity that follows from this name.
        space = f"minilm:{card.space.partition(':')[2]}"
        write_card(target, replace(card, model=PACKAGED_MODEL.name, source="", space=space))
        shutil.copyfile(scratch / "model.onnx", target / "model.onnx")
        shutil.copyfile(original / "tokenizer.json", target / "tokenizer.json")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
