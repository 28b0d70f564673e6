"""What a quick command may not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "numpy", "onnxruntime", "onnx", "torch", "transformers", "sentence_transformers", "tokenizers",
    "apsw", "yaml", "sqlite_vec", "pathspec", "platformdirs", "filelock", "sqlite3", "asyncio",
    "redis", "mcp", "pydantic", "starlette", "uvicorn",
}  # fmt: skip

CODE = """
import os
import sys
from djinn_memory.cli.start import main
leave = os._exit
def tell(code):
    # The program ends without a way back, so this is the last that can be said.
    print("\\n@" + " ".join(sys.modules), flush=True)
    leave(code)
os._exit = tell
main()
"""


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "memory --help",
        "ingest --help",
        "document -h",
        "memory search --help",
        "index -h",
        "doctor -h",
        "working set -h",
        "mcp -h",
        "vault add -h",
        "fact set -h",
        "summary -h",
        "--version",
    ],
)
def test_help_loads_nothing_heavy(tmp_path: Path, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *command.split()],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    loaded = {name.split(".")[0] for name in done.stdout.rsplit("@")[-1].split()}
    assert "djinn_memory" in loaded
    assert not HEAVY & loaded


def test_a_search_by_words_loads_no_model(tmp_path: Path) -> None:
    from djinn_memory.home.setup import init

    home, _ = init(tmp_path / "home")
    done = subprocess.run(
        [sys.executable, "-c", CODE, "--home", str(home.root), "memory", "search", "x",
         "--mode", "words"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    loaded = {name.split(".")[0] for name in done.stdout.rsplit("@")[-1].split()}
    assert not {"numpy", "onnxruntime", "torch", "transformers", "tokenizers"} & loaded
    modules = set(done.stdout.rsplit("@")[-1].split())
    assert "djinn_memory.search.pipeline" in modules
    optional = ("expand", "prf", "rerank", "llm")
    for unwanted in (*(f"search.{name}" for name in optional), "embedding.cross_encoder"):
        assert f"djinn_memory.{unwanted}" not in modules
