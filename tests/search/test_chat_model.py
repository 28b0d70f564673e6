"""A chat model behind each protocol, well and ill."""

from __future__ import annotations

import time
import traceback
from typing import Any

import pytest

from djinn_memory.errors import ConfigError, Unavailable
from djinn_memory.home.settings import LlmConfig
from djinn_memory.search.chat_model import MAX_TOKENS, TRIES, ask
from tests.servers import BROKEN, KEY, ModelServer, free_port, without_key

pytestmark = pytest.mark.usefixtures("keys")

TIMEOUT = 0.6
PROVIDERS = ("openai", "anthropic")


def settings(provider: Any, server: ModelServer, **others: Any) -> LlmConfig:
    url = f"{server.url}/v1"
    return LlmConfig(**{"model": "m", "provider": provider, "url": url, "timeout": 5} | others)


def failure(config: LlmConfig) -> str:
    began = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        ask(config, "hello", TIMEOUT)
    assert time.monotonic() - began < TIMEOUT + 10
    line = str(caught.value)
    assert line.isprintable() and ";" in line
    told = "".join(traceback.format_exception(caught.value))
    assert without_key(told)
    return line


def test_openai_is_asked(server: ModelServer) -> None:
    server.reply = " tide\nebb "
    assert ask(settings("openai", server), "what moves the sea \ud800") == "tide\nebb"
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "what moves the sea ?"}],
        "temperature": 0,
        "max_tokens": MAX_TOKENS,
    }


@pytest.mark.parametrize("base", ["", "/v1", "/v1/"])
def test_anthropic_is_asked(server: ModelServer, base: str) -> None:
    assert ask(settings("anthropic", server, url=server.url + base), "x") == "an answer"
    (asked,) = server.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert asked.body["max_tokens"] == MAX_TOKENS and asked.body["temperature"] == 0


@pytest.mark.parametrize("model", ["gpt-5-mini", "o3", "openai/gpt-5"])
def test_models_that_think_are_asked_otherwise(server: ModelServer, model: str) -> None:
    ask(settings("openai", server, model=model), "x")
    assert "max_completion_tokens" in server.asked[0].body
    assert not {"temperature", "max_tokens"} & set(server.asked[0].body)


@pytest.mark.few(3)
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("mood", [*BROKEN, "no text"])
def test_a_server_that_misbehaves(server: ModelServer, provider: str, mood: str) -> None:
    server.mood = mood
    assert failure(settings(provider, server)).startswith(f"{provider} at 127.0.0.1:")
    assert 1 <= len(server.asked) <= TRIES


@pytest.mark.parametrize("provider", PROVIDERS)
def test_nobody_listens(server: ModelServer, provider: str) -> None:
    config = settings(provider, server, url=f"http://127.0.0.1:{free_port()}")
    line = failure(config)
    assert "connection refused" in line and line.endswith("or set llm.url")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_without_a_key(server: ModelServer, provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{provider.upper()}_API_KEY"
    monkeypatch.delenv(name)
    line = failure(settings(provider, server, url=None))
    assert line.endswith(f"needs a key; set {name} in the environment")
    assert "set MINE" in failure(settings(provider, server, key_env="MINE"))
    # A server of one's own may want none.
    assert ask(settings(provider, server), "x") == "an answer"
    assert not {"authorization", "x-api-key"} & set(server.asked[0].headers)


def test_a_key_that_no_header_can_hold(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n{KEY}")
    assert "OPENAI_API_KEY does not contain a valid key" in failure(settings("openai", server))
    assert not server.asked


def test_without_a_model() -> None:
    with pytest.raises(ConfigError, match=r"llm\.model is not set"):
        ask(LlmConfig(), "x")
