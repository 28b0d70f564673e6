"""The routes of other memory systems, on a real server, beside the answers of the operations."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.config import model_cache
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.memories.catalog.requests import ShowLinks
from djinn_memory.memories.library.requests import ListDocuments
from djinn_memory.memories.linking.requests import FindRelated
from djinn_memory.search.query import SearchOptions
from tests.web.api.servers import RunningServer, add_key, serving

LAMP = "The lamp turns twice a minute.\n\nIts oil is changed every spring.\n"


def note(path: Path, text: str, **fields: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    front = "".join(f"{key}: {value}\n" for key, value in fields.items())
    path.write_text(f"---\n{front}---\n{text}" if fields else text)


class World:
    """A served home of two agents, and a key for each scope."""

    def __init__(self, home: Home, server: RunningServer, keys: dict[str, str]) -> None:
        self.home = home
        self.server = server
        self.clients = {name: server.client(key) for name, key in keys.items()}

    def ask(
        self, method: str, path: str, key: str = "write", status: int = 200, **more: Any
    ) -> Any:
        """The data of an answer with this status."""
        response = self.clients[key].request(method, path, **more)
        assert response.status_code == status, response.text
        return response.json()

    def upload(
        self,
        name: str,
        data: bytes,
        path: str = "/api/documents/upload",
        key: str = "write",
        status: int = 200,
        **fields: str,
    ) -> Any:
        files = {"file": (name, data)}
        fields = {"user_id": "finn", **fields}
        return self.ask("POST", path, key, status, files=files, data=fields)

    def left(self) -> list[Path]:
        """What uploads have left in the state folder."""
        return [*(self.home.state / "uploads").rglob("*")]

    def documents(self) -> list[str]:
        return [row["filename"] for row in self.ask("GET", "/api/documents")["documents"]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJINN_CACHE", str(model_cache()))
        patch.setenv("DJINN_CONFIG_DIR", str(root / "user"))
        home, _ = init(root / "home", ("finn", "grace"))
        home.edit((("embedding", "provider"), "hashing"))
        vaults = home.root / "vaults"
        note(vaults / "shared" / "light.md", "# Harbour light\n\nSee [[Keeper]]. It is old.\n",
             id="mem_7k2m9q4dxw30hv5t", type="project")  # fmt: skip
        note(vaults / "finn" / "keeper.md", "# Keeper\n\nTends the lamp of [[Harbour light]].\n",
             type="person")  # fmt: skip
        note(vaults / "finn" / "walk.md", "# Walk\n\nWe saw the Harbour light from the quay.\n",
             type="observation")  # fmt: skip
        note(vaults / "finn" / "glow.md", "# Glow\n\nThe old light of the harbour glows.\n",
             type="lesson")  # fmt: skip
        note(vaults / "grace" / "hidden.md", "# Hidden\n\n[[Harbour light]] lamp, broken.\n",
             type="lesson")  # fmt: skip
        keys = {scope: add_key(home, scope, "--scope", scope, "--agent", "finn")
                for scope in ("read", "write")}  # fmt: skip
        keys["administer"] = add_key(home, "administer", "--scope", "administer")
        with Djinn(home) as djinn:
            from djinn_memory.upkeep.requests import IndexOptions

            djinn.index(IndexOptions())
        with serving(home) as server:
            yield World(home, server, keys)


def search(djinn: Djinn, **fields: Any) -> Any:
    return djinn.search(SearchOptions(agent="finn", **fields))


def test_memory_search_has_the_fields_of_its_document(world: World) -> None:
    asked = {"query": "harbour light", "user_id": "finn", "limit": 2}
    rows = world.ask("POST", "/api/memories/search", "read", json=asked)
    assert all([*row] == ["type", "id", "content", "similarity"] for row in rows)
    assert {row["type"] for row in rows} == {"episodic", "semantic", "knowledge"}
    with Djinn(world.home) as djinn:
        hits = [
            hit
            for plane in ("episodic", "semantic", "knowledge", "documents")
            for hit in search(djinn, query="harbour light", planes=[plane], limit=2)
        ]
    assert {row["content"] for row in rows} == {hit.excerpt for hit in hits}
    cosines = [hit.legs["meaning"].raw for hit in hits]
    assert [row["similarity"] for row in rows] == pytest.approx(sorted(cosines, reverse=True))
    [keeper] = [row for row in rows if "Tends" in row["content"]]
    assert keeper["id"] == "finn:keeper.md"


def test_the_limit_of_a_memory_search_is_for_each_type(world: World) -> None:
    asked = {"query": "light", "user_id": "finn", "limit": 1, "memory_types": ["episodic"]}
    [row] = world.ask("POST", "/api/memories/search", json=asked)
    assert row["type"] == "episodic"


def test_a_user_is_an_agent_by_name_or_by_the_id_of_its_vault(world: World) -> None:
    path, query = "/api/memories/search", {"query": "light"}
    own = world.home.config.vaults["finn"].id
    by_name, by_id = (
        world.ask("POST", path, json={**query, "user_id": user}) for user in ("finn", own)
    )
    assert by_name == by_id
    for unknown in ("nobody", "1b671a64-40d5-491e-99b0-da01ff1f3341", "grace",
                    world.home.config.vaults["grace"].id):  # fmt: skip
        problem = world.ask("POST", path, status=404, json={**query, "user_id": unknown})
        assert "known: finn" in problem["detail"]
    assert world.ask("POST", path, "administer", json={**query, "user_id": "grace"})


def test_missing_and_wrong_fields_are_named(world: World) -> None:
    path = "/api/memories/search"
    assert "user_id" in world.ask("POST", path, status=400, json={"query": "x"})["detail"]
    asked = {"query": "x", "user_id": "finn", "memory_types": ["dreams"]}
    assert "memory_types[0]" in world.ask("POST", path, status=400, json=asked)["detail"]


def test_an_upload_answers_in_the_fields_of_its_document(world: World) -> None:
    answer = world.upload("lamp.txt", LAMP.encode(), document_type="technical", chunk_size="100")
    assert [*answer] == [
        "document_id", "filename", "content_type", "total_pages", "chunks_created",
        "chunk_strategy", "chunk_size_tokens", "document_type", "metadata",
    ]  # fmt: skip
    with Djinn(world.home) as djinn:
        [entry] = [
            entry
            for entry in djinn.documents.list(ListDocuments(agent="finn")).documents
            if entry.filename == "lamp.txt"
        ]
    assert answer == {
        "document_id": entry.document_id, "filename": "lamp.txt", "content_type": "text/plain",
        "total_pages": None, "chunks_created": 1, "chunk_strategy": "adaptive",
        "chunk_size_tokens": 100, "document_type": "technical", "metadata": {"title": "lamp"},
    }  # fmt: skip
    [row] = [row for row in world.ask("GET", "/api/documents")["documents"]
             if row["document_id"] == entry.document_id]  # fmt: skip
    assert (row["filename"], row["user_id"], row["file_size_bytes"]) == (
        "lamp.txt", "finn", len(LAMP),
    )  # fmt: skip
    assert row["embedding_model"] == "hashing"
    [found] = world.ask("POST", "/api/memories/search",
        json={"query": "lamp oil", "user_id": "finn", "memory_types": ["documents"]})  # fmt: skip
    assert found["id"] == entry.document_id
    assert world.left() == []

    again = world.upload("copy.txt", LAMP.encode(), status=409)
    assert "already ingested as documents/lamp.md" in again["detail"]
    assert again["field"] == "file"
    gone = world.ask("DELETE", f"/api/documents/{entry.document_id}")
    assert gone == {"document_id": entry.document_id, "deleted": True}
    world.ask("DELETE", f"/api/documents/{entry.document_id}", status=404)
    assert "lamp.txt" not in world.documents()


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("../../x.txt", "x.txt"),
        ("C:\\papers\\y.txt", "y.txt"),
        ("a\0b.txt", "a b.txt"),
        ("a\r\nb.txt", None),
        ("n" * 300 + ".txt", "n" * 200 + "n" * 46 + ".txt"),
        ("..", ".."),
        ("", "document"),
        ("Ⅻ été.md", "Ⅻ été.md"),
    ],
)
def test_the_name_of_an_upload_is_a_name_only(world: World, name: str, stored: str | None) -> None:
    text = f"A text of its own for {name!r}.".encode()
    # A client would encode such a name.
    form = (
        b'--b\r\nContent-Disposition: form-data; name="user_id"\r\n\r\nfinn\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="'
        + name.encode().replace(b"\\", b"\\\\")
        + b'"\r\n\r\n' + text + b"\r\n--b--\r\n"
    )  # fmt: skip
    response = world.clients["write"].post(
        "/api/documents/upload",
        content=form,
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )
    if stored is None:
        assert response.status_code == 400
        return
    assert response.status_code == 200, response.text
    assert response.json()["filename"] == stored
    assert stored in world.documents()
    folder = world.home.root / "vaults" / "finn"
    assert not (folder.parent / "x.txt").exists()
    assert world.left() == []
    world.ask("DELETE", f"/api/documents/{response.json()['document_id']}")


def test_uploads_that_are_no_documents_say_why_and_leave_nothing(
    world: World, data_dir: Path
) -> None:
    before = world.documents()
    files = {path.name: path for path in sorted((world.home.root / "vaults").rglob("*"))}
    for name, data, why in (
        ("cat.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "is a PNG picture"),
        ("large.png", b"\x89PNG\r\n\x1a\n" + bytes(20_000_000), "is a PNG picture"),
        ("empty.txt", b"", "is empty"),
        ("key.txt", b"ghp_" + b"x7Q2mB9kLw4TzR8vN1pY" * 2, "looks like"),
        ("locked.pdf", (data_dir / "pdfs" / "pdfplumber__password-example.pdf").read_bytes(),
         "encrypted"),
        ("broken.pdf", (data_dir / "pdfs" / "ocrmypdf__invalid.pdf").read_bytes(), ""),
    ):  # fmt: skip
        for _ in range(2):
            problem = world.upload(name, data, status=422)
            assert problem["field"] == "file"
            assert name in problem["detail"]
            assert why in problem["detail"]
    assert world.documents() == before
    assert {path.name: path for path in sorted((world.home.root / "vaults").rglob("*"))} == files
    assert world.left() == []


def test_uploads_of_real_pdfs(world: World, data_dir: Path) -> None:
    paper = data_dir / "pdfs" / "pdfplumber__federal-register-2020-17221.pdf"
    answer = world.upload(
        "register.pdf", paper.read_bytes(), chunk_strategy="page_based", document_type="reference"
    )
    assert answer["total_pages"] == 15
    assert answer["content_type"] == "application/pdf"
    assert answer["chunk_strategy"] == "page_based"
    data = world.ask("GET", "/api/v1/ai/rag/search", params={"query": "proposed rules"})["data"]
    assert {result["document_id"] for result in data["results"]} >= {answer["document_id"]}
    assert any(result["page_number"] for result in data["results"])
    secret = data_dir / "pdfs" / "pdfplumber__password-example.pdf"
    opened = world.upload("secret.pdf", secret.read_bytes(), password="test")
    assert opened["total_pages"] >= 1
    for document in (answer, opened):
        world.ask("DELETE", f"/api/documents/{document['document_id']}")


def test_forms_that_are_no_upload(world: World) -> None:
    path = "/api/documents/upload"
    form = {"user_id": "finn"}
    problem = world.ask("POST", path, status=400, files={"other": ("a.txt", b"a")}, data=form)
    assert "missing required field file" in problem["detail"]
    two = [("file", ("a.txt", b"a")), ("file", ("b.txt", b"b"))]
    assert "files" in world.ask("POST", path, status=400, files=two, data=form)["detail"]
    problem = world.ask("POST", path, status=400, files={"file": ("a.txt", b"a")})
    assert "user_id: missing required field" in problem["detail"]
    problem = world.upload("a.txt", b"a", status=400, chunk_strategy="lines")
    assert "chunk_strategy" in problem["detail"]
    assert world.upload("a.txt", b"a", status=400, chunk_size="7")["field"] == "chunk_size"
    world.upload("a.txt", b"a", status=400, notes="x" * 20_000)
    world.ask("POST", path, status=415, json={"user_id": "finn"})
    world.upload("a.txt", b"a", status=404, user_id="grace")
    world.upload("a.txt", b"a", key="read", status=403)
    assert world.left() == []


def test_a_repeated_upload_is_done_once(world: World) -> None:
    headers = {"Idempotency-Key": "e2b1"}
    answers = [
        world.ask("POST", "/api/documents/upload", headers=headers,
            files={"file": ("once.txt", b"once " * 60_000)}, data={"user_id": "finn"})
        for _ in range(2)
    ]  # fmt: skip
    assert answers[0] == answers[1]
    world.ask("POST", "/api/documents/upload", status=422, headers=headers,
        files={"file": ("once.txt", b"twice")}, data={"user_id": "finn"})  # fmt: skip
    world.ask("DELETE", f"/api/documents/{answers[0]['document_id']}")


def test_pages_have_backlinks_mentions_and_neighbours(world: World) -> None:
    light = "/api/v1/admin/pages/mem_7k2m9q4dxw30hv5t"
    answer = world.ask("GET", f"{light}/backlinks", "read")
    assert answer == {
        "success": True,
        "data": {
            "backlinks": [
                {
                    "id": "finn:keeper.md", "title": "Keeper", "slug": "keeper", "type": "page",
                    "excerpt": "Tends the lamp of [[Harbour light]].",
                }
            ]
        },
    }  # fmt: skip
    [mention] = world.ask("GET", f"{light}/unlinked_mentions")["data"]["unlinked_mentions"]
    assert (mention["title"], mention["excerpt"]) == (
        "Walk", "We saw the Harbour light from the quay.",
    )  # fmt: skip
    pages = world.ask("GET", f"{light}/related_pages")["data"]["related_pages"]
    with Djinn(world.home) as djinn:
        request = FindRelated(name="mem_7k2m9q4dxw30hv5t", agent="finn")
        near = djinn.memories.related(request).related
        assert len(djinn.memories.links(ShowLinks(name="Harbour light")).backlinks) == 1
    assert [(page["title"], page["similarity"]) for page in pages] == [
        (memory.title, memory.similarity) for memory in near
    ]
    assert {"Walk", "Glow"} <= {page["title"] for page in pages}
    [first] = world.ask("GET", f"{light}/related_pages?limit=1")["data"]["related_pages"]
    assert first == pages[0]
    world.ask("GET", f"{light}/related_pages?limit=51", status=400)
    world.ask("GET", "/api/v1/admin/pages/Hidden/backlinks", status=404)


def test_an_administrator_sees_the_pages_of_its_agent(world: World) -> None:
    grace = add_key(world.home, "grace", "--agent", "grace")
    with world.server.client(grace) as client:
        [link] = client.get("/api/v1/admin/pages/Harbour%20light/backlinks").json()["data"][
            "backlinks"
        ]
    assert link["title"] == "Hidden"


def test_links_and_vectors_of_a_page_are_made_anew(world: World) -> None:
    path = world.home.root / "vaults" / "finn" / "new.md"
    note(path, "# New\n\n[[Harbour light]], [[Keeper]] and [[Nothing]].\n", type="lesson")
    page = "/api/v1/admin/pages/finn:new.md"
    assert world.ask("POST", f"{page}/extract_links", "administer")["data"] == {"edges_created": 2}
    answer = world.ask("POST", f"{page}/generate_embedding", "administer")
    assert answer["data"] == {"embedding_model": "hashing"}
    for route in ("extract_links", "generate_embedding"):
        world.ask("POST", f"{page}/{route}", "write", status=403)
    path.unlink()


def test_retrieval_has_the_record_of_a_query(world: World) -> None:
    params = {"query": "harbour light", "top_k": "3", "knowledge_base_id": "finn"}
    answer = world.ask("GET", "/api/v1/ai/rag/query", "read", params=params)
    data = answer["data"]
    assert answer["success"] is True
    assert (data["query_text"], data["retrieval_strategy"], data["top_k"]) == (
        "harbour light", "hybrid", 3,
    )  # fmt: skip
    with Djinn(world.home) as djinn:
        hits = search(djinn, query="harbour light", limit=3, vaults=["finn"]).hits
    assert [result["title"] for result in data["results"]] == [hit.title for hit in hits]
    assert [result["score"] for result in data["results"]] == [hit.score for hit in hits]
    assert data["results_count"] == len(hits)
    words = world.ask("GET", "/api/v1/ai/rag/query", params={**params, "mode": "keyword"})["data"]
    assert words["retrieval_strategy"] == "keyword"
    assert all(result["similarity"] is None for result in words["results"])
    least = {**params, "similarity_threshold": "0.99"}
    assert world.ask("GET", "/api/v1/ai/rag/query", params=least)["data"]["results"] == []
    for wrong in ({"mode": "magic"}, {"top_k": "0"}, {"top": "1"}):
        world.ask("GET", "/api/v1/ai/rag/query", status=400, params={**params, **wrong})
    world.ask(
        "GET", "/api/v1/ai/rag/query", status=404, params={**params, "knowledge_base_id": "grace"}
    )


def test_a_knowledge_base_is_a_vault_with_its_chunking(world: World) -> None:
    path = "/api/v1/ai/rag/knowledge_bases"
    asked = {
        "name": "manuals", "description": "Manuals of machines.",
        "chunking_strategy": "semantic", "chunk_size": 800, "chunk_overlap": 80,
    }  # fmt: skip
    world.ask("POST", path, "write", 403, json=asked)
    base = world.ask("POST", path, "administer", json=asked)["data"]["knowledge_base"]
    assert base == {
        **asked, "id": "manuals", "embedding_model": "hashing", "embedding_provider": "hashing",
        "status": "active",
    }  # fmt: skip
    assert "already" in world.ask("POST", path, "administer", 409, json=asked)["detail"]
    for wrong in ("../x", "", "a/b"):
        world.ask("POST", path, "administer", 400, json={**asked, "name": wrong})
    too_small = {**asked, "name": "other", "chunk_size": 8}
    assert world.ask("POST", path, "administer", 400, json=too_small)["field"] == "chunk_size"
    elsewhere = {**asked, "name": "other", "embedding_model": "text-embedding-3-small"}
    world.ask("POST", path, "administer", 409, json=elsewhere)
    assert not (world.home.root / "vaults" / "other").exists()

    upload = {"path": "/api/v1/ai/rag/documents", "knowledge_base_id": "manuals"}
    document = world.upload("drill.txt", b"The drill wants oil.", **upload)["data"]["document"]
    assert document["status"] == "indexed"
    assert (document["vault"], document["chunk_strategy"], document["chunk_size_tokens"]) == (
        "manuals", "semantic", 200,
    )  # fmt: skip
    params = {"query": "drill oil", "knowledge_base_ids": "manuals"}
    [result] = world.ask("GET", "/api/v1/ai/rag/search", params=params)["data"]["results"]
    assert (result["id"], result["content"]) == (document["id"], "The drill wants oil.")
    assert -1 <= result["similarity"] <= 1
    process = f"/api/v1/ai/rag/documents/{document['id']}/process"
    again = world.ask("POST", process)["data"]["document"]
    assert (again["chunk_size"], again["status"]) == (200, "indexed")
    world.ask("POST", process, "read", status=403)
    own = world.upload("saw.txt", b"The saw wants teeth.", chunk_strategy="fixed", **upload)
    assert own["data"]["document"]["chunk_size_tokens"] == 1000


@pytest.mark.soak
def test_an_upload_that_a_kill_interrupts_is_removed_at_the_next_start(
    home: Home, tmp_path: Path
) -> None:
    key = add_key(home, "writer", "--scope", "write")

    def endless() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(1000):
            yield b"more " * 100_000
            if [*(home.state / "uploads").rglob("upload")]:
                os.kill(server.process.pid, signal.SIGKILL)

    with serving(home) as server, pytest.raises(httpx2.HTTPError), server.client(key) as client:
        client.post("/api/documents/upload", content=endless(),
            headers={"Content-Type": "multipart/form-data; boundary=b"})  # fmt: skip
    [left] = (home.state / "uploads").rglob("upload")
    assert left.parent.stat().st_mode & 0o777 == 0o700
    with serving(home):
        assert not (home.state / "uploads").exists()
