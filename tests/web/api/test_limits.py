"""No key sees what its agents, vaults and domains do not allow, over each route of a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from djinn_memory.operations import OPERATIONS
from tests.memories.test_unseen_vaults import ASKED
from tests.web.api.serving import Answer, Served
from tests.web.limited import WORD

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
