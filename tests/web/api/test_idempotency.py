"""`Idempotency-Key`: a repeated write is done once."""

from __future__ import annotations

import gzip
import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.web.api import idempotency
from djinn_memory.web.api.idempotency import Begun
from tests.web.api.serving import Answer, Served, add_key, serving

REPORT = {"description": "Who lights the lamp?"}


@pytest.fixture
def served(home: Home) -> Iterator[Served]:
    with serving(home) as server:
        yield server


def report(server: Served, secret: str, key: str, path: str = "/v1/gaps", **given: str) -> Answer:
    return server.ask(path, {**REPORT, **given}, key=secret, Idempotency_Key=key)


def gaps(home: Home) -> int:
    with Djinn(home) as djinn:
        return sum(len(group.gaps) for group in djinn.gaps.list().groups)


def test_a_repeated_write_is_done_once(served: Served) -> None:
    secret = add_key(served.home, "robot", scope="write")
    first, again = (report(served, secret, "a") for _ in range(2))
    assert first.status == 200 and (first.body, first.status) == (again.body, again.status)
    with ThreadPoolExecutor(8) as threads:
        answers = [*threads.map(lambda _: report(served, secret, "b").body, range(8))]
    assert len({*answers}) == 1 and answers[0] != first.body
    assert gaps(served.home) == 2
    other = report(served, secret, "a", description="Another?")
    assert (other.status, "Idempotency-Key" in other.data["detail"]) == (422, True)
    assert report(served, secret, "c", description="x" * 100_000).status == 400
    assert report(served, secret, "c", description="Said again.").status == 200
    assert gaps(served.home) == 3


def test_a_write_is_not_done_twice_after_a_restart(home: Home) -> None:
    with serving(home) as first:
        secret = add_key(home, "robot", scope="write")
        assert report(first, secret, "a").status == 200
        assert report(first, secret, "b", description="x" * 100_000).status == 400
        first.end(signal.SIGKILL)
    assert (home.state / "requests").stat().st_mode & 0o777 == 0o600
    with serving(home) as second:
        again = report(second, secret, "a")
        assert (again.status, "its answer is gone" in again.data["detail"]) == (409, True)
        assert report(second, secret, "b").status == 200
        assert report(second, secret, "c").status == 200
    assert gaps(home) == 3


def test_an_answer_that_was_compressed_is_sent_again(served: Served) -> None:
    secret = add_key(served.home, "robot", scope="write")
    for number in range(30):
        (served.home.shared.root / f"{number}.md").write_text(f"# A long title of note {number}\n")

    def listed(encoding: str) -> Answer:
        return served.ask(
            "/v1/memories.list", {"limit": 30}, key=secret, Idempotency_Key="a",
            Accept_Encoding=encoding,
        )  # fmt: skip

    answers = [listed(encoding) for encoding in ("gzip", "gzip", "identity")]
    assert [answer.status for answer in answers] == [200] * 3
    assert answers[0].body == answers[1].body != answers[2].body
    assert json.loads(gzip.decompress(answers[0].body)) == answers[2].data
    other = served.ask("/v1/memories.list?more=1", {"limit": 30}, key=secret, Idempotency_Key="a")
    assert other.status == 200


def test_the_file_of_requests_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MOST_BEGUN", 5)
    begun = Begun(tmp_path / "requests")
    for number in range(40):
        begun.add(str(number))
    assert len((tmp_path / "requests").read_text().split()) <= 10
    begun.discard("39")
    again = Begun(tmp_path / "requests")
    assert "38" in again and "39" not in again and "3" not in again


def test_a_request_that_cannot_be_recorded_is_not_begun(served: Served) -> None:
    secret = add_key(served.home, "robot", scope="write")
    path = served.home.state / "requests"
    path.unlink()
    path.mkdir()
    refused = report(served, secret, "a")
    assert (refused.status, str(path) in refused.data["detail"]) == (503, True)
    path.rmdir()
    assert report(served, secret, "a").status == 200
    assert gaps(served.home) == 1


def test_programs_do_not_share_answers(served: Served) -> None:
    """Not even with the person of this machine, or with a new key of the same name."""
    home = served.home
    secrets = [add_key(home, name, scope="write") for name in ("http", "robot")]
    answers = [report(served, secret, "a").body for secret in secrets]
    answers.append(served.ask("/v1/gaps", REPORT, local=True, Idempotency_Key="a").body)
    with Djinn(home) as djinn:
        djinn.keys.revoke("robot")
    assert report(served, secrets[1], "a").status == 401
    answers.append(report(served, add_key(home, "robot", scope="write"), "a").body)
    assert len({*answers}) == 4
    reader = add_key(home, "reader")
    assert report(served, reader, "a").status == 403
