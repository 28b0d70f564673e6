"""The resources of the HTTP API: notes, parameters of scoring, the graph, events and metrics."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import httpx2
import numpy as np
import pytest
from starlette.requests import Request

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.operations.caller import Caller
from djinn_memory.runtime import utc_now
from djinn_memory.web.api.events import MOST_WAITING, Events
from djinn_memory.web.api.guard import Visitors
from tests.web.api.servers import RunningServer, serving

LAMP = "---\ntitle: Lamp\ntype: lesson\n---\nIt turns. See [[Pier]].\n"


class Place(NamedTuple):
    """A server, and clients with a key of each scope."""

    server: RunningServer
    shared: Path
    admin: httpx2.Client
    writer: httpx2.Client
    reader: httpx2.Client
    other: httpx2.Client
    """A client of an agent that does not see the vault `me`."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with pytest.MonkeyPatch.context() as context:
        context.setenv("DJINN_CONFIG_DIR", str(tmp_path_factory.mktemp("user")))
        home, _ = init(tmp_path_factory.mktemp("resources") / "home", ("me", "other"))
        home.edit((("embedding", "provider"), "hashing"), (("server", "rate"), 1000))
        shared = home.root / "vaults" / "shared"
        (shared / "pier.md").write_text("# Pier\n\nIt is wet.\n")
        (home.root / "vaults" / "me" / "diary.md").write_text("# Diary\n\nSecretly.\n")
        with Djinn(Home(home.root)) as djinn:
            djinn.index()
            keys = {
                scope: djinn.keys.add(scope, scope=scope).secret
                for scope in ("administer", "write", "read")
            }
            keys["other"] = djinn.keys.add("other", scope="write", agents=["other"]).secret
        with serving(home) as server:
            clients = [server.client(key) for key in keys.values()]
            yield Place(server, shared, *clients)
            for client in clients:
                client.close()


@pytest.fixture
def lamp(place: Place) -> str:
    """The note of a lamp; returns its tag."""
    (place.shared / "lamp.md").write_text(LAMP)
    given = place.writer.get("/v1/notes/shared/lamp.md")
    assert given.status_code == 200, given.text
    assert given.json()["text"] == LAMP
    return str(given.headers["etag"])


def test_a_note_is_read_in_two_forms(place: Place, lamp: str) -> None:
    url = "/v1/notes/shared/lamp.md"
    text = place.reader.get(url, headers={"Accept": "text/markdown"})
    assert (text.text, text.headers["etag"]) == (LAMP, lamp)
    assert text.headers["content-type"].startswith("text/markdown")
    assert place.reader.get(url, headers={"If-None-Match": lamp}).status_code == 304
    assert place.reader.get("/v1/notes/Lamp").json()["path"] == "lamp.md"
    assert place.reader.get("/v1/notes/me/diary.md").status_code == 200
    hidden, missing = (place.other.get(f"/v1/notes/me/{name}.md") for name in ("diary", "none"))
    assert hidden.status_code == missing.status_code == 404
    assert hidden.text.replace("diary", "none") == missing.text


def test_a_text_is_only_replaced_by_one_who_saw_it(place: Place, lamp: str) -> None:
    url, note = "/v1/notes/shared/lamp.md", place.shared / "lamp.md"
    markdown = {"Content-Type": "text/markdown"}
    assert place.writer.put(url, content="Mine.", headers=markdown).status_code == 428
    assert place.reader.put(url, json={"text": "A"}, headers={"If-Match": lamp}).status_code == 403
    done = place.writer.put(url, content=LAMP + "Red.\n", headers={**markdown, "If-Match": lamp})
    assert done.status_code == 200, done.text
    assert note.read_text() == LAMP + "Red.\n"
    lost = place.writer.put(url, json={"text": "Mine."}, headers={"If-Match": lamp})
    assert lost.status_code == 409
    problem = lost.json()
    assert problem["type"] == "urn:djinn:conflict"
    assert (problem["current"], problem["given"]) == (LAMP + "Red.\n", "Mine.")
    assert note.read_text() == LAMP + "Red.\n"
    tag = {"If-Match": lost.headers["etag"]}
    assert place.writer.put(url, json={"text": "Both."}, headers=tag).status_code == 200
    tag = {"If-Match": place.writer.get(url).headers["etag"]}
    refused = place.writer.put(url, content=b"\xff", headers={**markdown, **tag})
    assert (refused.status_code, refused.json()["field"]) == (400, "text")
    secret = {"text": "password: correct-Horse-7battery", "allow_secret": True}
    assert place.writer.put(url, json=secret, headers=tag).status_code == 403
    assert note.read_text() == "Both."


def test_a_note_is_created_once(place: Place) -> None:
    url, new = "/v1/notes/shared/sea/buoy.md", {"If-None-Match": "*"}
    done = place.writer.put(url, json={"text": "# Buoy\n"}, headers=new)
    assert (done.status_code, done.json()["path"]) == (201, "sea/buoy.md"), done.text
    again = place.writer.put(url, json={"text": "Other"}, headers=new)
    assert again.status_code == 409 and "exists" in again.json()["detail"]
    assert (place.shared / "sea" / "buoy.md").read_text() == "# Buoy\n"
    outside = place.writer.put("/v1/notes/shared/..%2Fx.md", json={"text": "A"}, headers=new)
    assert outside.status_code == 400
    assert place.other.put("/v1/notes/me/x.md", json={"text": ""}, headers=new).status_code == 400
    assert place.writer.post("/v1/changes/undo", json={}).status_code == 200
    assert not (place.shared / "sea").exists()


def test_front_matter_is_edited(place: Place, lamp: str) -> None:
    url = "/v1/notes/shared/lamp.md"
    stale = place.writer.patch(url, json={"status": "done"}, headers={"If-Match": '"0"'})
    assert stale.status_code == 412
    done = place.writer.patch(url, json={"status": "done", "tags": ["sea"]})
    assert done.status_code == 200, done.text
    assert "status: done" in (place.shared / "lamp.md").read_text()
    assert done.headers["etag"] == place.reader.get(url).headers["etag"] != lamp
    assert place.reader.patch(url, json={"status": "open"}).status_code == 403


def test_parameters_of_scoring_hold_at_once(place: Place) -> None:
    url = "/v1/memory-scoring/config"
    before = place.reader.get(url).json()
    assert before["recency_half_life_days"] == 30
    assert place.writer.put(url, json={"recency_floor": 0.1}).status_code == 403
    done = place.admin.put(url, json={"recency_floor": 0.1, "recency_half_life_days": 7})
    assert done.json() == {**before, "recency_floor": 0.1, "recency_half_life_days": 7.0}
    assert place.reader.get(url).json() == done.json()
    for given, field in (
        ({"recency_floor": 2}, "recency_floor"),
        ({"recency_floor": None}, "recency_floor"),
        ({"recencyfloor": 0.2}, "recencyfloor"),
    ):
        wrong = place.admin.put(url, json=given)
        assert (wrong.status_code, wrong.json()["field"]) == (400, field), wrong.text
    assert place.reader.get(url).json() == done.json()
    assert place.admin.delete(url).json() == before
    assert "scoring" not in (place.shared.parent.parent / "config.yaml").read_text()


def test_the_graph_is_sent_as_arrays(place: Place, lamp: str) -> None:
    body = place.reader.get("/v1/graph").content
    view = place.reader.get("/v1/graph/view").json()
    [length] = struct.unpack_from("<I", body)
    header = json.loads(body[4 : 4 + length])
    arrays = {
        name: np.frombuffer(
            body, each["dtype"], int(np.prod(each["shape"])), 4 + length + each["offset"]
        ).reshape(each["shape"])
        for name, each in header["arrays"].items()
    }
    ids = header["ids"]
    assert ids == [f"{node['vault']}:{node['path']}" for node in view["nodes"]]
    assert "me:diary.md" in ids and header["titles"][ids.index("shared:lamp.md")] == "Lamp"
    assert [header["kinds"][kind] or None for kind in arrays["kinds"]] == [
        node["type"] for node in view["nodes"]
    ]
    edges = [(ids[source], ids[target]) for source, target in arrays["edges"]]
    assert edges == [(edge["source"], edge["target"]) for edge in view["edges"]]
    assert [header["types"][each] for each in arrays["types"]] == ["references"]
    assert [header["texts"][each] for each in arrays["texts"]] == [
        edge["text"] for edge in view["edges"]
    ]
    assert arrays["degrees"].tolist() == [node["degree"] for node in view["nodes"]]
    assert [each or None for each in arrays["communities"]] == [
        node["community"] for node in view["nodes"]
    ]
    assert np.allclose(arrays["spots"], [node["spot"] for node in view["nodes"]])
    assert np.allclose(arrays["flat"], [node["flat"] for node in view["nodes"]])
    assert b"diary" not in place.other.get("/v1/graph").content
    one = place.reader.get("/v1/graph", params={"types": "lesson"}).content
    assert json.loads(one[4 : 4 + struct.unpack_from("<I", one)[0]])["ids"] == ["shared:lamp.md"]
    assert place.reader.get("/v1/graph", params={"name": "Nowhere"}).status_code == 404


def test_listeners_hear_that_the_index_changed(place: Place) -> None:
    with place.other.stream("GET", "/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        new = {"If-None-Match": "*"}
        done = place.writer.put("/v1/notes/me/quay.md", json={"text": "Quay."}, headers=new)
        assert done.status_code == 201
        lines = (line for line in stream.iter_lines() if line.startswith(("event", "data")))
        assert [next(lines), next(lines)] == ["event: index", "data: {}"]
    assert httpx2.get(f"{place.server.url}/events").status_code == 401


def test_a_program_hears_the_states_of_its_own_writes(place: Place) -> None:
    fields = {"type": "lesson", "title": "Bollard", "text": "It is new.", "force": True}
    with place.writer.stream("GET", "/events") as stream:
        assert place.admin.post("/v1/remember", json={**fields, "title": "Pier"}).status_code == 200
        assert place.writer.post("/v1/remember", json=fields).status_code == 200
        lines = (line for line in stream.iter_lines() if "operation" in line)
        told = [next(lines) for _ in range(4)]
    assert told[::2] == ["event: operation"] * 2
    states = [json.loads(line.partition(" ")[2]) for line in told[1::2]]
    named = {"operation": "remember", "request": None}
    assert states == [{**named, "state": "begun"}, {**named, "state": "done"}]


def test_a_program_hears_the_progress_of_its_upload(place: Place) -> None:
    text = "\n\n".join(f"Chapter {number} is about the lamp.\n" * 40 for number in range(400))
    with place.writer.stream("GET", "/events") as stream:
        done = place.writer.post(
            "/api/documents/upload", files={"file": ("long.txt", text.encode())},
            data={"user_id": "me"}, headers={"Idempotency-Key": "first upload"}, timeout=120,
        )  # fmt: skip
        assert done.status_code == 200, done.text
        lines = (line for line in stream.iter_lines() if "first upload" in line)
        told = [json.loads(next(lines).partition(" ")[2])]
        while told[-1]["state"] != "done":
            told.append(json.loads(next(lines).partition(" ")[2]))
    assert told[0]["state"] == "begun" and {line["operation"] for line in told} == {
        "documents.ingest"
    }
    running = [line for line in told if line["state"] == "running"]
    assert running and all(line["done"] >= 0 and line["stage"] for line in running)
    assert "Chapter" not in json.dumps(told) and "long" not in json.dumps(told)


def test_bulletins_reach_the_programs_of_their_agent(place: Place) -> None:
    """Values that an agent shares, and keys that begin with `agent_bulletin.`; not the values."""

    def told(client: httpx2.Client, key: str) -> list[str]:
        with client.stream("GET", "/events") as stream:
            for number in range(2):
                fields = {"key": f"agent_bulletin.{key}{number}", "value": "fog"}
                assert place.writer.post("/v1/working.set", json=fields).status_code == 200
                share = {"key": fields["key"], "to": "other"}
                assert place.admin.post("/v1/working.share", json=share).status_code == 200
            lines = (line for line in stream.iter_lines() if "agent_bulletin" in line)
            return [next(lines) for _ in range(2)]

    data = 'data: {{"agent":"me","key":"agent_bulletin.{}"}}'
    assert told(place.writer, "a") == [data.format("a0"), data.format("a1")]
    assert told(place.other, "b") == [data.format("b0"), data.format("b1")]
    assert told(place.admin, "c") == [data.format("c0")] * 2


def test_a_revoked_key_hears_nothing_more(place: Place) -> None:
    secret = place.admin.post("/v1/keys/add", json={"name": "old", "scope": "read"}).json()[
        "secret"
    ]
    with place.server.client(secret) as client, client.stream("GET", "/events") as stream:
        assert place.admin.post("/v1/keys/revoke", json={"name": "old"}).status_code == 200
        (place.shared / "bell.md").write_text("A bell.\n")
        place.writer.get("/v1/notes/shared/bell.md")
        assert not any(line.startswith("event") for line in stream.iter_lines())


def test_a_listener_that_falls_behind_is_disconnected(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home", ("me",))
    events = Events(home, Visitors(home, Caller("me", rights="person"), utc_now))
    # A request over the Unix socket.
    scope = {"type": "http", "server": ("", None), "headers": [], "caller": Caller("me")}

    async def listen() -> int:
        heard = events.heard(Request(scope))
        first = asyncio.ensure_future(anext(heard))
        await asyncio.sleep(0)
        for number in range(MOST_WAITING + 10):
            events.publish("job", {"number": number})
        await first
        return 1 + len([event async for event in heard])

    assert asyncio.run(listen()) == MOST_WAITING


def test_metrics_name_routes_and_no_paths(place: Place, lamp: str) -> None:
    place.reader.get("/v1/notes/Nowhere-at-all")
    place.reader.get("/v1/search", params={"query": "lamp"})
    httpx2.get(f"{place.server.url}/wp-admin")
    text = place.admin.get("/metrics").text
    assert 'djinn_http_requests_total{route="/v1/notes/{name:path}",status="404"}' in text
    assert 'djinn_http_requests_total{route="/v1/search",status="200"}' in text
    assert 'djinn_http_requests_total{route="none",status="401"}' in text
    assert 'djinn_http_request_seconds_bucket{le="+Inf",route="/v1/search"}' in text
    assert not re.search("Nowhere|wp-admin|lamp", text)
    notes = {
        client: float(re.search(r"^djinn_index_notes (\S+)", client.get("/metrics").text, re.M)[1])  # type: ignore[index]
        for client in (place.admin, place.other)
    }
    assert notes[place.admin] > notes[place.other]
    assert (
        "djinn_index_bytes" in text and "djinn_index_bytes" not in place.other.get("/metrics").text
    )
    assert httpx2.get(f"{place.server.url}/metrics").status_code == 401


def test_the_server_ends_although_clients_listen(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home", ("me",))
    with Djinn(home) as djinn:
        key = djinn.keys.add("test", scope="read").secret
    with (
        serving(home) as server,
        server.client(key) as client,
        client.stream("GET", "/events") as stream,
    ):
        assert stream.status_code == 200
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        with suppress(httpx2.RemoteProtocolError):
            for _ in stream.iter_raw():
                pass
        assert server.process.wait(timeout=15) == 0
        assert time.monotonic() - began < 10
