"""What is equal comes in the order of vault, path and line, whenever and by whom it was indexed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init

SAME = "---\ndate: 2026-04-01\ntype: lesson\n---\n# {title}\n\nThe tide comes in at noon.\n"
NOTES = {
    **{
        (vault, f"note-{number:03}.md"): SAME.format(title="Tide")
        for vault in ("shared", "me")
        for number in range(230)
    },
    ("me", "a.md"): "---\ndate: 2026-04-01\n---\nharbour lamps [[Lamp]] [[Pier]]\n",
    ("me", "b.md"): "---\ndate: 2026-04-01\n---\nharbours lamp [[Lamp]] [[Pier]]\n",
    ("shared", "b.md"): "---\ndate: 2026-04-01\n---\nharbourer lamp [[Lamp]] [[Pier]]\n",
    ("me", "x/lamp.md"): SAME.format(title="Lamp"),
    ("me", "y/lamp.md"): SAME.format(title="Lamp"),
    ("shared", "lamp.md"): SAME.format(title="Pier"),
    ("me", "pier.md"): SAME.format(title="Pier"),
}

ASKED: dict[str, Callable[[Djinn], Any]] = {
    **{
        f"search {query} {mode}": lambda djinn, query=query, mode=mode: djinn.search(
            query, mode=mode, limit=12
        )
        for query in ("tide at noon", "harbuor", "type:lesson", "lamp")
        for mode in ("hybrid", "words", "meaning")
    },
    "recall": lambda djinn: djinn.recall("tide at noon"),
    "planning": lambda djinn: djinn.recall("tide at noon", profile="planning").memories,
    "prf": lambda djinn: djinn.search("noon", expand="prf"),
    "list": lambda djinn: djinn.memories.list(limit=20),
    "show": lambda djinn: djinn.memories.show("lamp"),
    "links": lambda djinn: djinn.memories.links("me:a.md"),
    "backlinks": lambda djinn: djinn.memories.links("shared:lamp.md"),
    "duplicate": lambda djinn: djinn.remember("fact", "Noon", "The tide comes in at noon."),
    "titles": lambda djinn: djinn.remember("lesson", "Tide", "Other", existing="append"),
}


def answers(home: Home) -> dict[str, str]:
    with Djinn(home) as djinn:
        return {name: answer(ask, djinn) for name, ask in ASKED.items()}


def answer(ask: Callable[[Djinn], Any], djinn: Djinn) -> str:
    try:
        given = msgspec.to_builtins(ask(djinn), enc_hook=str)
    except DjinnError as error:
        return str(error)
    if isinstance(given, dict):
        for key in ("milliseconds", "request_id", "steps"):
            given.pop(key, None)
    return repr(given).replace(str(djinn.home.root), "HOME")


def indexed(folder: Path, order: list[list[tuple[str, str]]]) -> Home:
    """A home whose notes were written and indexed one group after the other."""
    home, _ = init(folder, ("me",))
    # A busy machine leaves no folder for later.
    home.edit((("embedding", "provider"), "hashing"), (("search", "sweep_ms"), 10_000))
    with Djinn(home) as djinn:
        for group in order:
            for vault, path in group:
                note = home.root / "vaults" / vault / path
                note.parent.mkdir(exist_ok=True)
                note.write_text(NOTES[vault, path])
                os.utime(note, (1.7e9, 1.7e9))
            djinn.index(vaults=list(dict.fromkeys(vault for vault, _ in group)))
        djinn.index()
    return home


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        return answers(indexed(tmp_path_factory.mktemp("once") / "home", [list(NOTES)]))


def test_the_order_of_indexing_changes_no_answer(tmp_path: Path, expected: dict[str, str]) -> None:
    last = list(reversed(NOTES))
    other = answers(indexed(tmp_path / "home", [last[:10], last[10:300], last[300:]]))
    assert [name for name in other if other[name] != expected[name]] == []
