"""The description of the API is valid, complete, and enough for a generated client."""

from __future__ import annotations

import compileall
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from openapi_spec_validator import validate

from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.operations import OPERATIONS
from djinn_memory.web.api.openapi import example, page
from tests.web.api.servers import add_key, serving


@pytest.mark.soak
def test_it_is_openapi(home: Home) -> None:
    """It describes every route of the server but those that need no key, and `/mcp`."""
    key = add_key(home, "reader")
    with serving(home) as server, server.client(key) as http:
        document = http.get("/openapi.json").json()
        listed = http.get("/docs").text
    validate(document)
    assert document["openapi"].startswith("3.1")
    assert {f"/v1/{name}" for name in OPERATIONS} <= document["paths"].keys()
    upload = document["paths"]["/api/documents/upload"]["post"]
    form = upload["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert form["required"] == ["file", "user_id"]
    assert form["properties"]["chunk_strategy"]["enum"]
    for path in ("/api/v1/ai/rag/query", "/api/v1/admin/pages/{id}/backlinks", "/events"):
        assert document["paths"][path]["get"]["summary"] and path in listed
    question = document["paths"]["/api/v1/ai/rag/query"]["get"]["parameters"]
    assert {"name": "top_k", "in": "query", "required": False, "description": "",
            "schema": {"type": "integer"}} in question  # fmt: skip
    assert "requestBody" in document["paths"]["/v1/memory-scoring/config"]["put"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_its_examples_are_requests(name: str) -> None:
    request = OPERATIONS[name].request
    msgspec.convert(example(OPERATIONS[name]), request, dec_hook=lambda kind, text: kind(text))


def test_the_page_lists_every_operation_without_network() -> None:
    text = page([])
    assert all(f'id="{name}"' in text for name in OPERATIONS)
    assert "http" not in text and "<script" not in text


REFERENCE = re.compile(r"#/components/schemas/(\w+)")

CALLED = (
    "facts.get", "facts.set", "memories.delete", "memories.list", "memories.rename",
    "memories.show", "rate", "recall", "remember", "search",
)  # fmt: skip
"""The operations that the generated client calls."""


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_generated_client(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    """It compiles, and calls ten operations on a server.

    A client of the whole API takes half a minute to generate.
    """
    key = add_key(home, "generated", "--scope", "write")
    with serving(home) as server:
        document = tmp_path / "openapi.json"
        with server.client(key) as http:
            described = http.get("/openapi.json").text
        document.write_text(described if whole else part(described))
        made = tmp_path / f"djinn_client_{whole}".lower()
        command = [Path(sys.executable).with_name("openapi-python-generator"), document, made]
        subprocess.run([*command, "--library", "httpx"], check=True, capture_output=True)
        assert compileall.compile_dir(made, quiet=1)
        monkeypatch.syspath_prepend(str(tmp_path))
        round_trip(made.name, server.url, key)


def part(described: str) -> str:
    """The description of the operations that are called."""
    document = json.loads(described)
    document["paths"] = {f"/v1/{name}": document["paths"][f"/v1/{name}"] for name in CALLED}
    schemas = document["components"].pop("schemas")
    kept: dict[str, Any] = {}
    while more := set(REFERENCE.findall(json.dumps([document, kept]))) - kept.keys():
        kept |= {name: schemas[name] for name in more}
    document["components"]["schemas"] = kept
    return json.dumps(document)


def round_trip(client: str, url: str, key: str) -> None:
    def service(noun: str) -> Any:
        return importlib.import_module(f"{client}.services.{noun}_service")

    models: Any = importlib.import_module(f"{client}.models")
    config = importlib.import_module(f"{client}.api_config").APIConfig(
        base_path=url, access_token=key
    )
    everyday, memories, facts = service("everyday"), service("memories"), service("facts")
    title = "Use Postgres"
    new = models.NewMemory(type="decision", title=title, text="It has row locks.")
    made = everyday.remember(config, data=new)
    assert made.action == "created"
    hits = everyday.search(config, data=models.SearchOptions(query="row locks")).hits
    assert [hit.id for hit in hits] == [made.id]
    assert everyday.get_search(config, query="row locks").hits[0].title == title
    recalled = everyday.recall(config, data=models.RecallOptions(query="row locks"))
    rating = models.RatingRequest(target=recalled.request_id, useful=[1])
    assert everyday.rate(config, data=rating).judged
    assert memories.memories_show(config, data=models.ShowMemory(name=made.id)).title == title
    renamed = models.RenameMemory(name=made.id, title="Keep Postgres")
    assert memories.memories_rename(config, data=renamed).memory.title == "Keep Postgres"
    listed = memories.memories_list(config, data=models.ListMemories())
    assert [memory.title for memory in listed.memories] == ["Keep Postgres"]
    fact = models.SetFact(category="server", key="port", value="8080")
    assert facts.facts_set(config, data=fact).action == "created"
    asked = models.GetFact(category="server", key="port")
    assert facts.facts_get(config, data=asked).value == "8080"
    deleted = memories.memories_delete(config, data=models.DeleteMemory(name="Keep Postgres"))
    assert deleted.moved_to


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made, _ = init(tmp_path / "home")
    return made


def test_it_needs_a_key(home: Home) -> None:
    with serving(home) as server, httpx2.Client(base_url=server.url) as http:
        assert http.get("/openapi.json").status_code == 401
        assert http.get("/docs").status_code == 401
