"""No key sees what its agents, vaults and domains do not allow, over each route of a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.setup import add_vault, init
from djinn_memory.operations import OPERATIONS
from tests.memories.test_unseen_vaults import ASKED
from tests.web.api.serving import Answer, Served, add_key, serving

WORD = "zither"
"""A word of all that is hidden: of texts, titles, tags, types, keys, folders and files."""

LIMITS: dict[str, dict[str, Any]] = {
    "all": {},
    "vault": {"vaults": ["shared", "finn"]},
    "domain": {"domains": ["harbour"]},
    "shared": {"vaults": ["shared"], "domains": ["harbour"]},
}
"""The limits of keys of finn, who sees the vault shelf and the domain money without them."""

NOTES = {
    "note": "---\ntags: [zither]\ntype: zither\n---\n# Zither\n\nA zither. [[Kettle]]\n",
    "fact": "---\ntype: fact\ncategory: zither\nkey: strings\nvalue: zither\n---\nzither/strings\n",
    "person": "---\ntype: person\naliases: [Maren, Zither]\n---\n# Zither player\n\nThe zither.\n",
    "rule": "---\ntype: rule\ntags: [rule]\n---\n# Play the zither\n\nIt is played at noon.\n",
    "document": "---\ntype: document\nfilename: zither.pdf\n---\nThe zither.\n",
    "pattern": "---\ntype: pattern\ntitle: Zithers on Mondays\nhabit: true\n---\nZithers.\n",
    "due": "---\ntype: commitment\ndue: 2020-01-01\n---\n# Tune the zither\n\nThe zither.\n",
    "summary": "---\ntype: summary\ntitle: Summary\n---\nA zither.\n",
    "profile": "---\ntype: profile\nidentity: Plays the zither.\n---\nThe zither.\n",
    "outcome": "---\ntype: outcome\naction: zither\noutcome: failure\n---\nThe zither.\n",
    "session": "---\ntype: interaction\nsession: zither\nchannel: zither\n---\nThe zither.\n",
    "twin": "# Zither twin\n\nThe zither is tuned each night by her.\n",
    "twin2": "# Zither twins\n\nThe zither is tuned each night by her.\n",
    "not": "---\ntype: rule\n---\n# No zither\n\nThe zither is not played at noon.\n",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("limits")
        patch.setenv("DJINN_CONFIG_DIR", str(folder / "user"))
        home, _ = init(folder / "home", ("grace", "finn"))
        home.edit((("embedding", "provider"), "hashing"))
        (home.root / "shelf").mkdir()
        add_vault(home, "shelf", home.root / "shelf", agent="finn")
        vaults = home.root / "vaults"
        (vaults / "shared" / "kettle.md").write_text("# Kettle\n\nIt sings.\n")
        for root in (home.root / "shelf", vaults / "grace", vaults / "finn", vaults / "shared"):
            for name, text in NOTES.items():
                front = text.removeprefix("---\n") if text[0] == "-" else f"---\n{text}"
                write(root / WORD / f"{WORD}-{name}.md", f"---\ndomain: money\n{front}")
        with Djinn(home) as djinn:
            djinn.index()
            for agent, vault in (("finn", "shelf"), ("grace", "grace")):
                djinn.maintain(["contradictions", "duplicates", "rot"], agent=agent)
                djinn.recall(WORD, agent=agent)
                djinn.memories.show(f"{vault}:{WORD}/{WORD}-note.md", agent=agent)
                djinn.memories.delete(f"{vault}:{WORD}/{WORD}-due.md", agent=agent)
        keys = {name: add_key(home, name, agents=["finn"], scope="write", **limits)
                for name, limits in LIMITS.items() if name != "all"}  # fmt: skip
        keys["all"] = add_key(home, "all", agents=["finn"])
        with serving(home) as server:
            yield server, keys


def write(note: Path, text: str) -> None:
    note.parent.mkdir(exist_ok=True)
    note.write_text(text)


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, dict(fields)) for name, fields in ASKED
      if OPERATIONS[name].rights == "agent" and "paths" not in fields
      and all(isinstance(value, str | int | float | bool | list) for value in fields.values())),
    ("search", {"query": "harp"}), ("search", {"query": "kettle", "vaults": ["shelf"]}),
    ("search", {"query": "kettle domain:money"}), ("recall", {"query": "kettle", "wide": True}),
    ("rate", {"target": "last", "useful": [99]}), ("rate", {"target": "last", "useful": [1]}),
    ("memories.list", {"domains": ["money"]}), ("memories.list", {"limit": 500}),
    ("documents.list", {}), ("review.list", {}), ("changes.list", {}), ("changes.undo", {}),
    ("memories.restore", {}), ("entities.list", {}), ("patterns.list", {}), ("facts.list", {}),
    ("entities.resolve", {"mention": "Maren"}), ("sessions.list", {}), ("summary.show", {}),
    ("memories.mentions", {"name": "Kettle"}), ("memories.related", {"name": "Kettle"}),
    *(("memories.show", {"name": f"{vault}:"}) for vault in ("shelf", "grace", "finn", "shared")),
    *(("memories.values", {"field": field}) for field in
      ("tag", "type", "title", "key", "document", "category", "fact", "entity", "session")),
]  # fmt: skip


SOAK = [pytest.param(name, marks=pytest.mark.soak) for name in ("vault", "domain")]


@pytest.mark.parametrize("limit", [*SOAK, "shared"])
def test_no_answer_names_what_is_hidden(served: tuple[Served, dict[str, str]], limit: str) -> None:
    server, keys = served
    hidden = {"vault": "shelf", "domain": "", "shared": "shelf"}[limit]
    for name, given in QUESTIONS:
        for answer in asked(server, keys[limit], name, given):
            text = answer.body.decode().lower()
            assert answer.status < 500, (name, given, text)
            if limit != "vault":
                assert WORD not in text, (name, given, text)
            assert f"shelf/{WORD}" not in text and f"grace/{WORD}" not in text, (name, given)
            assert not hidden or '"vault":"shelf"' not in text, (name, given, text)
            assert '"vault":"grace"' not in text, (name, given, text)


def asked(server: Served, key: str, name: str, given: dict[str, Any]) -> Iterator[Answer]:
    yield server.ask(f"/v1/{name}", given, key=key)
    verb = OPERATIONS[name]
    if not (verb.writes or verb.logs):
        yield server.ask(f"/v1/{name.replace('.', '/')}?{urlencode(given, doseq=True)}", key=key)
        yield server.ask(f"/v1/{name}", {**given, "agent": "grace"}, key=key)


def test_the_notes_are_there(served: tuple[Served, dict[str, str]]) -> None:
    """With a key without limits, the questions find what the others do not show."""
    server, keys = served
    named = {name for name, given in QUESTIONS
             if not OPERATIONS[name].writes
             for answer in asked(server, keys["all"], name, given)
             if WORD in answer.body.decode().lower()}  # fmt: skip
    assert len(named) > 15, named
