"""Every way a server can fail: one line, in time, and no key in it."""

from __future__ import annotations

import socket
import threading
import time
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from djinn_memory.errors import ConfigError, Unavailable
from djinn_memory.system.http_client import PIECE, TRIES, HttpServer
from tests.servers import BROKEN, KEY, ModelServer, free_port, without_key

TIMEOUT = 0.8


class Answer(Struct):
    embeddings: list[list[float]]


def client(url: str, timeout: float = TIMEOUT) -> HttpServer:
    return HttpServer(
        "ollama",
        url,
        section="embedding",
        timeout=timeout,
        key=KEY,
        key_name="TEST_KEY",
        headers={"authorization": f"Bearer {KEY}"},
        start="start it with `ollama serve`",
        missing="download it with `ollama pull nomic-embed-text`",
    )


def ask(of: HttpServer, timeout: float | None = None) -> Answer:
    body = {"model": "nomic-embed-text", "input": ["tide"]}
    return of.post("/api/embed", body, Answer, timeout=timeout)


def failure(of: HttpServer, timeout: float | None = None) -> str:
    began = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        ask(of, timeout)
    assert time.monotonic() - began < (timeout or TIMEOUT) + 10
    line = str(caught.value)
    assert line.isprintable() and len(line) < 400
    assert ";" in line, "a remedy"
    told = "".join(traceback.format_exception(caught.value))
    assert without_key(told)
    return line


@pytest.mark.few(5)
@pytest.mark.parametrize("mood", BROKEN)
def test_a_server_that_misbehaves(server: ModelServer, mood: str) -> None:
    server.mood = mood
    assert failure(client(server.url)).startswith(f"ollama at 127.0.0.1:{server.server_port} ")
    assert 1 <= len(server.asked) <= TRIES


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("mood", "line"),
    [
        ("never", "did not answer within 0.8 s; try again, or raise embedding.timeout"),
        ("dropped", "dropped the connection"),
        ("huge", "sends more than 1 MB"),
        ("redirect", "redirects (307); set embedding.url"),
        ("429", "is busy (429: Rate limit reached); try again later"),
        ("429 late", "is busy (429: slow down); try again in 3600 s"),
        ("429 date", "is busy (429); try again in 3"),
        ("500", "fails (500: [31mout of memory xxx"),
        ("503 html", "is busy (503)"),
        ("not json", "answers with broken JSON"),
        ("another shape", "does not follow its protocol"),
        ("400", "refuses the request (400: input is too long)"),
        ("401", "rejects the key in TEST_KEY (401)"),
        ("404", "refuses the request (404: 404 page not found)"),
        ("no model", "ollama pull nomic-embed-text"),
        ("echo 400", "Incorrect key: Bearer ***, that is *** in two lines"),
    ],
)
def test_the_line_says_what_and_what_to_do(server: ModelServer, mood: str, line: str) -> None:
    server.mood = mood
    assert line in failure(client(server.url)).replace("*......", "*").replace("*...", "*")


@pytest.mark.parametrize("mood", ["400", "401", "404", "no model", "redirect", "429 late", "huge"])
def test_what_will_not_change_is_not_tried_again(server: ModelServer, mood: str) -> None:
    server.mood = mood
    failure(client(server.url))
    assert len(server.asked) == 1


@pytest.mark.few(3)
@pytest.mark.parametrize("mood", ["500", "429", "429 soon", "dropped", "truncated", "cut off"])
def test_a_passing_trouble_is_waited_out(server: ModelServer, mood: str) -> None:
    server.mood, server.well_after = mood, 1
    assert len(ask(client(server.url, 10)).embeddings) == 1
    assert len(server.asked) == 2
    if mood == "429 soon":
        assert server.asked[1].at - server.asked[0].at >= 1


def test_a_pause_is_told(server: ModelServer) -> None:
    server.mood, server.well_after = "429 soon", 1
    told: list[str] = []
    one = HttpServer("x", server.url, section="embedding", timeout=10, wait=told.append)
    ask(one)
    assert len(told) == 1 and "is busy (429: slow down); retrying in 1 s" in told[0]


def test_connections_are_kept(server: ModelServer) -> None:
    one = client(server.url)
    before = threading.active_count()
    for _ in range(5):
        ask(one)
    # The server has a thread for each connection.
    assert threading.active_count() <= before + 2


def test_several_threads_may_ask(server: ModelServer) -> None:
    one = client(server.url, 20)
    done: list[Answer] = []
    threads = [threading.Thread(target=lambda: done.append(ask(one))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 8


def test_nobody_listens() -> None:
    port = free_port()
    assert failure(client(f"http://127.0.0.1:{port}")) == (
        f"ollama at 127.0.0.1:{port} cannot be reached (connection refused); "
        "start it with `ollama serve`, or set embedding.url"
    )


def test_a_name_that_is_none() -> None:
    line = failure(client("http://djinn.invalid"))
    # Some machines take their time to say so.
    assert "(its name is not known)" in line or "did not answer" in line


def test_looking_up_a_name_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def hang(*_: object, **__: object) -> None:
        released.wait(20)
        raise socket.gaierror(socket.EAI_AGAIN, "later")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    assert "did not answer" in failure(client("http://djinn.invalid"))
    released.set()


def test_a_listener_that_never_accepts() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        assert "did not answer" in failure(client(f"http://127.0.0.1:{listener.getsockname()[1]}"))


def test_not_a_tls_server(server: ModelServer) -> None:
    assert "does not use TLS" in failure(client(server.url.replace("http:", "https:")))


def test_a_proxy_is_not_asked_for_this_machine(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert ask(client(server.url)).embeddings


def test_a_password_in_the_url_is_used_and_not_shown(server: ModelServer) -> None:
    url = server.url.replace("http://", "http://someone:pass%40word-of-mine@")
    server.mood = "echo 400"
    one = HttpServer("ollama", url, section="embedding", timeout=TIMEOUT)
    line = failure(one)
    assert "mine" not in line and "someone" not in line
    assert server.asked[0].headers["authorization"].startswith("Basic ")


def test_a_query_of_the_base_url_stays(server: ModelServer) -> None:
    ask(client(f"{server.url}/?version=2"))
    assert server.asked[0].path == "/api/embed?version=2"


@pytest.mark.parametrize(
    "url", ["", "localhost:11434", "ftp://host", "http://", "http://h:99999", "http://a\nb", "//h"]
)
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^embedding\.url: expected http"):
        client(url)


@given(st.text(st.characters(exclude_characters="*"), min_size=PIECE), st.text(), st.text())
def test_a_key_is_struck_out_wherever_it_stands(key: str, before: str, after: str) -> None:
    one = HttpServer("x", "http://h", section="embedding", timeout=1, key=key)
    assert key not in one._mask(before + key + after)


def test_an_ip6_host_is_named_as_in_a_url() -> None:
    assert client("http://[::1]:11434").name == "ollama at [::1]:11434"
