"""What a quick command may not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.cli.app import root
from djinn_memory.cli.tree import COMMANDS as COMMANDS_OF_TREE
from djinn_memory.home.home import Home
from djinn_memory.operations import VERBS

HEAVY = {
    "numpy", "onnxruntime", "onnx", "torch", "transformers", "sentence_transformers", "tokenizers",
    "apsw", "yaml", "sqlite_vec", "pathspec", "platformdirs", "filelock", "sqlite3", "asyncio",
    "redis", "psycopg", "pgvector", "mcp", "pydantic", "starlette", "uvicorn",
    "prometheus_client", "sse_starlette",
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


def modules_of(place: Path, *words: str) -> set[str]:
    """The modules that a command has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words], capture_output=True, text=True, check=True, cwd=place
    )
    return set(done.stdout.rsplit("@")[-1].split())


COMMANDS = "djinn_memory.cli.commands."


@pytest.mark.parametrize("words", [[], ["memory"], ["agent", "summary"], ["config"]])
def test_a_list_of_commands_imports_none(tmp_path: Path, words: list[str]) -> None:
    loaded = modules_of(tmp_path, *words, "--help")
    assert "djinn_memory.cli.tree" in loaded
    assert not [name for name in loaded if name.startswith(COMMANDS)]


@pytest.mark.parametrize("words", ["gap list", "memory stats", "status", "config path"])
def test_a_command_imports_no_other(home: Home, words: str) -> None:
    loaded = modules_of(home.root, "--home", str(home.root), *words.split())
    [module] = (
        verb.declaration.partition(":")[0]
        for verb in VERBS.values()
        if verb.declaration and verb.command == words
    )
    assert {name for name in loaded if name.startswith(COMMANDS)} == {COMMANDS + module}


@pytest.mark.parametrize("words", COMMANDS_OF_TREE)
def test_the_line_of_a_command_is_the_first_of_its_help(words: str) -> None:
    command: Any = root()
    for name in words.split():
        command = command.get_command(None, name)
    assert " ".join(command.help.partition("\n\n")[0].split()) == COMMANDS_OF_TREE[words]
    assert command.name == words.split()[-1]


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
        "session working set -h",
        "mcp -h",
        "vault add -h",
        "fact set -h",
        "agent summary -h",
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
    assert "djinn_memory.search.search" in modules
    optional = ("expand", "rerank")
    for unwanted in (*(f"search.stages.{name}" for name in optional), "embedding.cross_encoder"):
        assert f"djinn_memory.{unwanted}" not in modules
