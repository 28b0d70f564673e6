"""A home where every kind of memory is hidden from some keys, and a server with those keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.setup import add_vault, init
from tests.web.api.serving import Served, add_key, serving

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
