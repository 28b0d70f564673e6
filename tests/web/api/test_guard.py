"""Who may call the server: attacks on a real process, and on the application in this one."""

from __future__ import annotations

import gzip
import json
import re
import resource
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any, get_type_hints

import anyio
import pytest
from msgspec.structs import replace

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.keys import edit_keys
from djinn_memory.home.setup import init
from djinn_memory.operations import OPERATIONS
from djinn_memory.operations.caller import Caller
from djinn_memory.runtime import utc_now
from djinn_memory.web.api import guard
from djinn_memory.web.api.app import application, health_routes
from djinn_memory.web.api.guard import Guard, Visitors
from djinn_memory.web.api.operations import ALIASES, allow, paths_in
from djinn_memory.web.api.problems import Denied
from tests.conftest import Run
from tests.web.api.serving import Served, add_key, received, serving

SEARCH = "/v1/search?query=lamp"


class Place:
    """A served home of finn and grace, and keys."""

    def __init__(self, served: Served, keys: dict[str, str]) -> None:
        self.served, self.keys = served, keys


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("guard")
        patch.setenv("DJINN_CONFIG_DIR", str(folder / "user"))
        home, _ = init(folder / "home", ("finn", "grace"))
        home.edit(
            (("embedding", "provider"), "hashing"), (("server", "hosts"), ["memory.example.org"])
        )
        (home.root / "vaults" / "shared" / "lamp.md").write_text("# Lamp\n\nIt turns.\n")
        (home.root / "vaults" / "grace" / "hers.md").write_text("# Hers\n\nA lamp.\n")
        keys = {scope: add_key(home, scope, scope=scope)
                for scope in ("read", "write", "administer", "read_all")}  # fmt: skip
        with serving(home) as served:
            yield Place(served, keys)


@pytest.fixture
def served(place: Place) -> Served:
    return place.served


@pytest.fixture
def keys(place: Place) -> dict[str, str]:
    return place.keys


# --- the name of the server


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("127.0.0.1:PORT", 200), ("localhost:PORT", 200), ("LOCALHOST:PORT", 200),
        ("[::1]:PORT", 200), ("localhost.:PORT", 421), ("localhost", 421), ("127.0.0.1", 421),
        ("evil.example:PORT", 421), ("localhost:1", 421), ("localhost:PORT.evil.example", 421),
        ("localhost:PORT@evil.example", 421), ("0.0.0.0:PORT", 421), ("", 421),
        ("127.1:PORT", 421), ("[::ffff:127.0.0.1]:PORT", 421), ("xn--lcalhost-4jc:PORT", 421),
    ],
)  # fmt: skip
def test_only_names_of_this_machine_are_answered(served: Served, name: str, status: int) -> None:
    host = name.replace("PORT", str(served.port))
    answer = served.raw(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert answer.status == status
    if status == 421:
        assert answer.data["type"] == "urn:djinn:misdirected_request"
        assert "server.hosts" in answer.data["detail"]


@pytest.mark.parametrize(
    "head",
    [
        "GET /healthz HTTP/1.1",
        "GET /healthz HTTP/1.1\r\nHost: HOST\r\nHost: evil.example",
        "GET /healthz HTTP/1.1\r\nHost: HOST\r\nHost: HOST",
        "GET http://evil.example/healthz HTTP/1.1\r\nHost: HOST",
        "GET http://HOST/healthz HTTP/1.1\r\nHost: evil.example",
        "GET /healthz HTTP/1.0",
        "GET evil.example:80 HTTP/1.1\r\nHost: HOST",
        "CONNECT evil.example:80 HTTP/1.1\r\nHost: HOST",
        "GET /healthz HTTP/1.1\r\nHost : HOST",
        "GET /healthz HTTP/1.1\r\n Host: HOST",
        "nothing",
    ],
)
def test_an_unclear_name_is_refused(served: Served, head: str) -> None:
    answer = served.raw(f"{head.replace('HOST', served.host)}\r\n\r\n".encode())
    assert answer.status in (400, 401, 404, 421)


def test_a_name_of_the_settings_is_answered(served: Served) -> None:
    assert served.ask("/healthz", Host="memory.example.org").status == 200
    assert served.ask("/healthz", Host="memory.example.com").status == 421


# --- keys


def test_without_a_key_only_health_is_answered(served: Served) -> None:
    assert served.ask("/healthz").data["status"] == "ok"
    paths = [*(f"/v1/{name}" for name in OPERATIONS), "/v1/", "/docs", "/mcp", "/nothing", "/"]
    for path in [*paths, *(alias.path for alias in ALIASES)]:
        for body in (None, {}):
            answer = served.ask(path, body)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer"), path


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer KEY"}, 200), ({"X-API-Key": "KEY"}, 200),
        ({"Authorization": "bearer  KEY "}, 200), ({"Authorization": "Basic KEY"}, 401),
        ({"Authorization": "KEY"}, 401), ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer KEYx"}, 401), ({"Authorization": "Bearer \xff\xfe"}, 401),
        ({"X-API-Key": "KEY", "Authorization": "Bearer KEY"}, 200),
        ({"X-API-Key": "wrong", "Authorization": "Bearer KEY"}, 401),
        ({"X-API-Key": "KEY", "Authorization": "Bearer wrong"}, 200),
        ({"Cookie": "djinn_session=KEY"}, 401), ({"Cookie": "djinn_session="}, 401),
    ],
)  # fmt: skip
def test_how_a_key_is_sent(
    served: Served, keys: dict[str, str], headers: dict[str, str], status: int
) -> None:
    given = {name: value.replace("KEY", keys["read"]) for name, value in headers.items()}
    answer = served.ask(SEARCH, **given)
    assert answer.status == status
    assert keys["read"] not in answer.body.decode()


def test_a_key_that_expires_or_is_revoked_is_refused_at_once(place: Place) -> None:
    served, home = place.served, place.served.home
    secret = add_key(home, "brief")
    assert served.ask(SEARCH, key=secret).status == 200
    past = f"{utc_now() - timedelta(days=2):%Y-%m-%d}"
    edit_keys(home.keys_path, lambda known: [
        replace(key, expires=past) if key.name == "brief" else key for key in known
    ])  # fmt: skip
    answer = served.ask(SEARCH, key=secret)
    assert (answer.status, "expired" in answer.data["detail"]) == (401, True)
    edit_keys(home.keys_path, lambda known: [
        replace(key, expires=None) if key.name == "brief" else key for key in known
    ])  # fmt: skip
    assert served.ask(SEARCH, key=secret).status == 200
    with closing(Djinn(home)) as djinn:
        djinn.keys.revoke("brief")
    assert served.ask(SEARCH, key=secret).status == 401


def test_a_damaged_file_of_keys_opens_nothing(served: Served) -> None:
    home = served.home
    secret = add_key(home, "work", domains=["work"])
    assert served.ask(SEARCH, key=secret).status == 200
    stored = home.keys_path.read_bytes()
    home.keys_path.write_text("[")
    answer = served.ask(SEARCH, key=secret)
    assert answer.status == 503 and "damaged" in answer.data["detail"]
    home.keys_path.write_bytes(stored)
    assert served.ask(SEARCH, key=secret).status == 200


def test_what_each_scope_may_do(served: Served, keys: dict[str, str]) -> None:
    """Before an operation runs: nothing is sent that could change the home."""
    for name, verb in OPERATIONS.items():
        wrong = {"no such argument": 1}
        for scope in ("read", "write", "read_all", "administer"):
            answer = served.ask(f"/v1/{name}", wrong, key=keys[scope])
            allowed = verb.rights == "agent" and (scope == "write" or not verb.writes)
            assert answer.status == (400 if allowed or scope == "administer" else 403), name
        if (verb.writes or verb.logs) and name not in {alias.path[4:] for alias in ALIASES}:
            answer = served.ask(f"/v1/{name}", key=keys["administer"])
            assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_a_key_sees_only_its_agents(served: Served, keys: dict[str, str]) -> None:
    for given in ({"agent": "grace"}, {"agent": "nobody"}):
        answer = served.ask("/v1/memories.list", given, key=keys["read"])
        assert answer.status == 404 and "known: finn" in answer.data["detail"]
        assert answer.data["detail"].count("grace") == ("grace" in given.values())
    assert "hers.md" not in served.ask("/v1/memories.list", {}, key=keys["read"]).body.decode()
    answer = served.ask("/v1/memory/search?query=lamp&agent_id=grace", key=keys["read"])
    assert answer.status == 404
    everything = served.ask("/v1/search", {"query": "lamp"}, key=keys["read_all"]).data
    assert {hit["agent"] for hit in everything["hits"]} == {None, "grace"}


def test_a_key_of_one_agent_reads_all_of_that_one(served: Served) -> None:
    secret = add_key(served.home, "atlas", scope="read_all", agents=["finn"])
    hits = served.ask("/v1/search", {"query": "lamp"}, key=secret).data["hits"]
    assert [(hit["title"], hit["agent"]) for hit in hits] == [("Lamp", "finn")]


def test_fields_for_persons_are_refused(served: Served, keys: dict[str, str]) -> None:
    for name, verb in OPERATIONS.items():
        for field in {"allow_secret", "backend"} & {*verb.request.__struct_fields__}:
            if verb.rights == "agent":
                answer = served.ask(f"/v1/{name}", {field: True}, key=keys["write"])
                assert (answer.status, answer.data["field"]) == (403, field)


def test_a_key_that_reads_closes_no_gap(served: Served, keys: dict[str, str]) -> None:
    answer = served.ask("/v1/gaps.suggest", {"close": True}, key=keys["read"])
    assert (answer.status, answer.data["field"]) == (403, "close")
    assert "scope write" in answer.data["detail"]
    assert served.ask("/v1/gaps.suggest", {}, key=keys["read"]).status == 200
    assert served.ask("/v1/gaps.suggest", {"close": True}, key=keys["write"]).status == 200


def test_a_key_gives_no_other_agent_a_value(served: Served, keys: dict[str, str]) -> None:
    assert served.ask("/v1/working", {"key": "wind", "value": "north"}, key=keys["write"]).data
    answers = [
        served.ask("/v1/working.share", {"key": "wind", "to": to}, key=keys["write"])
        for to in ("grace", "nobody")
    ]
    assert [answer.status for answer in answers] == [404, 404]
    assert answers[0].body.replace(b"grace", b"nobody") == answers[1].body


def paths_by_hints(request: Any) -> set[str]:
    """The fields of a request whose type holds a path anywhere."""

    def holds(hint: Any) -> bool:
        return hint is Path or any(map(holds, getattr(hint, "__args__", ())))

    return {name for name, hint in get_type_hints(request).items() if holds(hint)}


def test_no_key_names_a_file_of_the_server(served: Served, keys: dict[str, str]) -> None:
    named = 0
    for name, verb in OPERATIONS.items():
        assert paths_in(verb) == paths_by_hints(verb.request), name
        for field in paths_in(verb):
            named += 1
            allow(Caller(rights="person"), verb, {field: "/etc/passwd"})
            answer = served.ask(f"/v1/{name}", {field: ["/etc/passwd"]}, key=keys["write"])
            assert answer.status == 403, name
            if verb.rights == "agent":
                assert answer.data["field"] == field and "upload" in answer.data["detail"]
    assert named > 2
    local = served.ask("/v1/documents.ingest", {"paths": ["/nowhere"], "agent": "finn"}, local=True)
    assert local.status == 404 and local.data["detail"].startswith("/nowhere")


def test_the_unix_socket_is_for_its_user_alone(served: Served) -> None:
    assert served.socket_path.stat().st_mode & 0o777 == 0o600
    answer = served.ask("/v1/status", {}, local=True, Host="anything")
    assert answer.status == 200 and answer.data["agents"] == ["finn", "grace"]


# --- a browser


def test_the_login_address_works_once(served: Served) -> None:
    for wrong in ("?token=", "?token=x", f"?token={served.token}x"):
        assert served.ask(f"/login{wrong}").status == 403
    answer = served.ask(f"/login?token={served.token}")
    assert answer.status == 303 and answer.headers["referrer-policy"] == "no-referrer"
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= {*attributes}
    assert not {each for each in attributes if each.startswith("Domain")}
    assert served.ask(f"/login?token={served.token}").status == 403
    own = f"http://{served.host}"
    assert served.ask(SEARCH, Cookie=cookie).status == 200
    assert served.ask(SEARCH, Cookie=cookie, Sec_Fetch_Site="cross-site").status == 200
    for headers, status in (
        ({}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": f"https://{served.host}"}, 403),
        ({"Origin": f"{own}.evil.example"}, 403),
        ({"Origin": own}, 200),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "none"}, 403),
        ({"Sec_Fetch_Site": "same-site", "Origin": own}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Origin": own}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Content_Type": "text/plain"}, 403),
    ):
        answer = served.ask("/v1/search", {"query": "x"}, Cookie=cookie, **headers)
        assert answer.status == status, headers
    for method in ("DELETE", "PUT", "PATCH"):
        assert served.ask("/v1/search", Cookie=cookie, method=method).status == 403


def test_pages_of_other_origins_read_nothing(
    home: Home, served: Served, keys: dict[str, str]
) -> None:
    answer = served.ask(SEARCH, key=keys["read"], Origin="http://evil.example")
    assert not [name for name in answer.headers if name.startswith("access-control")]


# --- addresses


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/search?query=lamp", 200), ("/v1/%73earch?query=lamp", 200),
        ("/v1/memories/list", 200), ("/v1/memories%2Flist", 200),
        ("/v1/../healthz", 404), ("/healthz/../v1/status", 404), ("/v1/%2e%2e/healthz", 404),
        ("/v1/..%2f..%2fetc/passwd", 404), ("//v1/search", 404), ("/v1//search", 404),
        ("/v1/search%00", 404), ("/v1/%00", 404), ("/v1/%ff%fe", 404), ("/v1/%", 404),
        ("/v1/%u0041", 404), ("/V1/search", 404), ("/v1/search/", 404), ("/v1/__class__", 404),
        (f"/v1/{'x' * 30_000}", 404), ("/v1/search?query=%00", 400), ("/v1/search?query=%ff", 200),
        ("/v1/search?" + "&".join(f"tags={n}" for n in range(2_000)), 400),
        ("/v1/search?query=lamp&limit=3&limit=2", 200), ("/v1/search?query=lamp&limit=x", 400),
        ("/v1/search?query=lamp&rerank=maybe", 400), ("/v1/search?query=lamp&cursor=x", 400),
        ("/v1/search?query=lamp&agent=", 404), ("/v1/search", 400), ("/v1/search?=", 400),
    ],
)  # fmt: skip
def test_strange_addresses(served: Served, keys: dict[str, str], path: str, status: int) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: {served.host}\r\nX-API-Key: {keys['read']}\r\n\r\n"
    answer = served.raw(request.encode())
    assert answer.status == status, answer.body
    if status != 200:
        assert answer.headers["content-type"] == "application/problem+json"
        assert len(answer.body) < 3_000


@pytest.mark.parametrize("size", [70_000, 1_000_000])
def test_a_head_that_is_too_long_is_refused(served: Served, size: int) -> None:
    with closing(served.connect()) as connection:
        try:
            connection.sendall(b"GET /" + b"x" * size)
            assert received(connection).status in (400, 414, 431)
        except ConnectionError:
            pass
    assert served.ask("/healthz").status == 200


# --- bodies


def head(served: Served, key: str, *headers: str) -> bytes:
    lines = "POST /v1/search HTTP/1.1", f"Host: {served.host}", f"X-API-Key: {key}", *headers
    return "\r\n".join([*lines, "", ""]).encode()


def test_a_body_that_is_too_large_is_refused_unread(served: Served, keys: dict[str, str]) -> None:
    before = served.memory()
    for key, status in ((keys["read"], 413), ("wrong", 401)):
        answer = served.raw(head(served, key, f"Content-Length: {10**9}"))
        assert answer.status == status
    for length in ("-1", "1e9", "١", "9" * 400, "5, 6"):
        answer = served.raw(head(served, keys["read"], f"Content-Length: {length}"))
        assert answer.status in (400, 413), length
    part = b"%x\r\n%s\r\n" % (1 << 20, b" " * (1 << 20))
    with closing(served.connect()) as connection:
        connection.sendall(head(served, keys["read"], "Transfer-Encoding: chunked"))
        with pytest.raises(ConnectionError):
            for _ in range(200):
                connection.sendall(part)
    assert served.memory() - before < 100_000_000


@pytest.mark.parametrize(
    "body",
    [
        b"x", b"{", b"[]", b"null", b'"query"', b"{}x", b"\xff\xfe", b'{"query": 1e999}',
        b'{"query": NaN}', b'{"query": "\\ud800"}', b'{"query": "\xed\xa0\x80"}',
        b"[" * 10_000 + b"]" * 10_000, b'{"query":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"query": "x", "limit": 1' + b"0" * 5_000 + b"}", b'{"query": "x", "limit": 1e400}',
        b'{"query": "x", "tags": [' + b"[" * 5_000, b'{"query": ["x"]}', b'{"query": null}',
        b'{"query": "x", "nothing": 1}', b'{"query": "x", "since": {"a": 1}}',
        gzip.compress(b'{"query": "lamp"}', mtime=0), gzip.compress(b" " * 10_000_000, mtime=0),
    ],
    ids=lambda body: repr(body[:20]),
)  # fmt: skip
def test_a_body_that_is_no_request_is_refused(
    served: Served, keys: dict[str, str], body: bytes
) -> None:
    encoding = {"Content_Encoding": "gzip"} if body[:2] == b"\x1f\x8b" else {}
    answer = served.ask("/v1/search", body, key=keys["read"], **encoding)
    assert answer.status == 400, answer.body[:300]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.data["type"] == "urn:djinn:usage" and len(answer.body) < 1_000


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"query": 7}, "query"), ({}, "query"), ({"query": "x", "limit": "x"}, "limit"),
        ({"query": "x", "tags": ["a", 7]}, "tags[1]"), ({"query": "x", "quer": 1}, "quer"),
        ({"query": "x", "mode": "loud"}, "mode"), ({"query": "x", "limit": -1}, "limit"),
        ({"query": "x", "since": "someday"}, "since"), ({"query": "x", "cursor": "?"}, "cursor"),
    ],
)  # fmt: skip
def test_a_problem_names_the_field(
    served: Served, keys: dict[str, str], given: dict[str, Any], field: str
) -> None:
    answer = served.ask("/v1/search", given, key=keys["read"])
    assert (answer.status, answer.data["field"]) == (400, field)
    assert answer.data["detail"].startswith(f"{field}: ")


def test_of_a_repeated_name_the_last_value_counts(served: Served, keys: dict[str, str]) -> None:
    body = b'{"query": "nothing", "query": "lamp", "agent": "grace", "agent": "finn"}'
    assert served.ask("/v1/search", body, key=keys["read"]).data["query"] == "lamp"


def test_requests_on_one_connection_are_answered_in_order(
    served: Served, keys: dict[str, str]
) -> None:
    asked = [
        f"GET /v1/search?query=q{number} HTTP/1.1\r\nHost: {served.host}\r\n"
        f"X-API-Key: {keys['read'] if number != 2 else 'wrong'}\r\n\r\n"
        for number in range(4)
    ]
    with closing(served.connect()) as connection:
        connection.sendall("".join(asked).encode())
        # The answers come in one stream.
        stream, answers = connection.makefile("rb"), []
        for _ in asked:
            status = int(stream.readline().split()[1])
            headers = dict(line.lower().split(b": ") for line in iter(stream.readline, b"\r\n"))
            answers.append((status, stream.read(int(headers[b"content-length"]))))
    assert [status for status, _ in answers] == [200, 200, 401, 200]
    assert json.loads(answers[3][1])["query"] == "q3"


# --- load


def test_a_key_may_send_so_many_requests_a_second(home: Home) -> None:
    home.edit((("server", "rate"), 5))
    secrets = [add_key(home, name) for name in ("one", "two")]
    with serving(home) as served:
        answers = [served.ask("/v1/memories.list", key=secrets[0]) for _ in range(25)]
        refused = [answer for answer in answers if answer.status == 429]
        assert refused and all(answer.headers["retry-after"] == "1" for answer in refused)
        assert "server.rate" in refused[0].data["detail"]
        assert served.ask("/v1/memories.list", key=secrets[1]).status == 200
        time.sleep(1)
        assert served.ask("/v1/memories.list", key=secrets[0]).status == 200


@pytest.mark.parametrize("count", [300, pytest.param(2_000, marks=pytest.mark.soak)])
def test_idle_connections_keep_nobody_out(home: Home, count: int) -> None:
    """A process begins with a small number of files that it may open."""
    secret = add_key(home, "laptop")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 500), hard))
    try:
        # 200 files at first.
        few = ("/bin/sh", "-c", 'ulimit -Sn 200; exec "$@"', "sh")
        with ExitStack() as stack, serving(home, before=few) as served:
            for number in range(count):
                idle = stack.enter_context(closing(served.connect()))
                if number % 3 == 0:
                    idle.sendall(b"GET /v1/sea")
            began = time.monotonic()
            assert served.ask(SEARCH, key=secret).status == 200
            assert time.monotonic() - began < 30
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def in_process(home: Home, *, uploads: tuple[str, ...] = ()) -> Guard:
    caller = Caller(home.agent(None), client="http", rights="person")
    visitors = Visitors(home, caller, utc_now)

    async def echo(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    from contextlib import asynccontextmanager

    from starlette.routing import Mount

    @asynccontextmanager
    async def running() -> Any:
        yield

    app = application([*health_routes(), Mount("/", echo)], [], running)
    return Guard(app, visitors, {"localhost"}, uploads)


def post(app: Guard, secret: str, parts: list[bytes], wait: float = 0.0) -> int:
    """The status of the answer to a body in parts, with a wait before each."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await anyio.sleep(wait)
        body = parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(parts)}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/x", "raw_path": b"/x", "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"x-api-key", secret.encode())],
        "scheme": "http", "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2), "root_path": "",
        "http_version": "1.1",
    }  # fmt: skip
    anyio.run(app, scope, receive, send)
    return int(sent[0]["status"])


def test_a_body_that_stops_arriving_is_given_up(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, secret = in_process(home), add_key(home, "laptop")
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    assert post(app, secret, [b"x"] * 3, wait=0.01) == 204
    assert post(app, secret, [b"x"] * 3, wait=5) == 408


def test_a_body_counts_in_all_its_parts(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = add_key(home, "laptop")
    monkeypatch.setattr(guard, "MOST_BODY", 10)
    assert post(in_process(home), secret, [b"12345", b"12345"]) == 204
    assert post(in_process(home), secret, [b"12345", b"123456"]) == 413
    assert post(in_process(home, uploads=("/x",)), secret, [b"12345", b"123456"]) == 204


def test_a_request_that_never_arrives_whole_is_closed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn

    from djinn_memory.web import serve

    monkeypatch.setattr(serve, "IDLE_SECONDS", 0.3)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await anyio.sleep(1)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def talk() -> None:
        config = uvicorn.Config(slow, http=serve._Connection, lifespan="off", log_level="error")
        server = uvicorn.Server(config)
        listener = socket.create_server(("127.0.0.1", 0))
        address = listener.getsockname()
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            async with await anyio.connect_tcp(*address) as whole:
                await whole.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert b"204" in await whole.receive()
            for sent in (b"", b"GET / HT"):
                async with await anyio.connect_tcp(*address) as idle:
                    if sent:
                        await idle.send(sent)
                    with anyio.fail_after(20), pytest.raises(anyio.EndOfStream):
                        await idle.receive()
            server.should_exit = True

    anyio.run(talk)


# --- the process


def test_one_server_serves_a_home(home: Home, run: Run, tmp_path: Path) -> None:
    other, _ = init(tmp_path / "other")
    with serving(home) as served, serving(other) as second:
        assert served.port != second.port
        done = run("serve", "--port", "0", home=home.root)
        assert done.returncode == 5
        assert f"process {served.process.pid} already serves" in done.stderr
        assert f"at http://{served.host}/" in done.stderr
        done = run("serve", "--port", str(served.port), home=tmp_path / "other")
        assert "already serves" in done.stderr
        assert served.end() == 0
        assert not served.socket_path.exists() and not (home.state / "serve.url").exists()
        done = run("serve", "--port", str(second.port), home=home.root)
        assert done.returncode == 5 and "choose another" in done.stderr


def test_a_server_that_was_killed_leaves_nothing_in_the_way(home: Home) -> None:
    secret = add_key(home, "laptop")
    for _ in range(2):
        with serving(home) as served:
            assert served.ask(SEARCH, key=secret).status == 200
            assert served.ask("/v1/status", {}, local=True).status == 200
            assert served.end(signal.SIGKILL) == -signal.SIGKILL
            assert served.socket_path.exists()


def test_a_server_that_only_reads_without_room_for_its_socket(tmp_path: Path) -> None:
    home, _ = init(tmp_path / ("deep" * 40) / "home")
    secret = add_key(home, "robot", scope="administer")
    with serving(home, "--read-only") as served:
        assert "no Unix socket" in served.said
        answer = served.ask("/v1/working.set", {"key": "a", "value": "b"}, key=secret)
        assert answer.status == 403 and "read-only" in answer.data["detail"]
        assert served.ask("/v1/status", {}, key=secret).status == 200


def test_others_are_served_only_with_a_key(home: Home, run: Run) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        done = run("serve", "--port", "0", "--host", host, home=home.root)
        assert done.returncode == 3 and "djinn key add" in done.stderr
    secret = add_key(home, "laptop")
    with serving(home, "--host", "0.0.0.0") as served:
        assert "Put a server with TLS in front" in served.said
        assert served.ask(SEARCH, key=secret).status == 200
        assert served.ask("/healthz", Host=f"0.0.0.0:{served.port}").status == 421


def wait_and_end(home: Home, rounds: int) -> None:
    """Notes that were answered as written are whole after SIGTERM, and no other is cut off."""
    secret = add_key(home, "robot", scope="write")
    written: list[str] = []
    for turn in range(rounds):
        with serving(home) as served, ThreadPoolExecutor(4) as threads:

            def write(number: int, served: Served = served, turn: int = turn) -> None:
                title = f"Note {turn} {number}"
                given = {"type": "lesson", "title": title, "text": f"{title} " * 500,
                         "existing": "new", "force": True}  # fmt: skip
                try:
                    answer = served.ask("/v1/remember", given, key=secret)
                except OSError:
                    return
                if answer.status == 200:
                    written.append(title)

            waiting = [threads.submit(write, number) for number in range(30)]
            while not waiting[turn % 5].done():
                time.sleep(0.01)
            assert served.end() == 0
            for each in waiting:
                each.result()
    with closing(Djinn(home)) as djinn:
        djinn.index()
        for title in written:
            assert djinn.memories.show(title).text.count(title) >= 500
        listed = {memory.title for memory in djinn.memories.list(limit=1000).memories}
        assert {*written} <= listed
        for note in home.root.glob("vaults/**/note-*.md"):
            assert len(re.findall(r"Note \d+ \d+", note.read_text())) >= 500, note
        assert not [*home.root.glob("vaults/**/*.tmp*")]


def test_a_running_write_ends_before_the_server(home: Home) -> None:
    wait_and_end(home, 1)


@pytest.mark.soak
def test_running_writes_end_before_the_server(home: Home) -> None:
    wait_and_end(home, 12)


def test_denied_says_what_is_missing() -> None:
    with pytest.raises(Denied, match="scope administer"):
        allow(Caller("me"), OPERATIONS["status"], {})
