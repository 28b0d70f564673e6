"""Requests to the chat model that the settings name."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from djinn_memory.errors import ConfigError, Unavailable
from djinn_memory.home.config import variable
from djinn_memory.home.settings import LlmConfig
from djinn_memory.system.http_client import HttpServer

MAX_TOKENS = 512
"""Maximum tokens of an answer. djinn asks for a few lines."""

THINKING_TOKENS = 4096
"""Maximum tokens of an answer including hidden reasoning, which some models write first."""

TRIES = 2

_DEFAULT = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class _Message(Struct):
    content: str | None = None


class _Choice(Struct):
    message: _Message


class _OpenAi(Struct):
    choices: list[_Choice]


class _Block(Struct):
    text: str = ""


class _Anthropic(Struct):
    content: list[_Block]


def ask(config: LlmConfig, prompt: str, timeout: float | None = None) -> str:
    """The answer of the configured model to `prompt`, within `timeout` seconds.

    `config.timeout` is an upper limit. Raises `Unavailable` when there is no answer, and
    `ConfigError` when no model is configured.
    """
    if not config.model:
        raise ConfigError("llm.model is not set; set it to the name of a model")
    name = config.key_env or _KEYS[config.provider]
    key = variable(name)
    url = (config.url or _DEFAULT[config.provider]).rstrip("/")
    server = HttpServer(
        config.provider,
        url.removesuffix("/v1") if config.provider == "anthropic" else url,
        section="llm",
        timeout=config.timeout,
        key=key,
        key_name=name,
        needs_key=bool(config.key_env) or url == _DEFAULT[config.provider],
        headers=_headers(config.provider, key),
    )
    body: dict[str, Any] = {
        "model": config.model,
        "messages": [{"role": "user", "content": prompt.encode(errors="replace").decode()}],
    }
    if config.provider == "openai" and re.match(r"(.*/)?(o\d|gpt-5)", config.model):
        # These refuse a temperature, and the older name of the limit.
        body["max_completion_tokens"] = THINKING_TOKENS
    else:
        body |= {"max_tokens": MAX_TOKENS, "temperature": 0}
    if config.provider == "anthropic":
        message = server.post("/v1/messages", body, _Anthropic, timeout=timeout, tries=TRIES)
        text = "".join(block.text for block in message.content)
    else:
        reply = server.post("/chat/completions", body, _OpenAi, timeout=timeout, tries=TRIES)
        text = (reply.choices[0].message.content if reply.choices else "") or ""
    if not text.strip():
        raise Unavailable(f"{server.name} returned no text; try another llm.model")
    return text.strip()


def _headers(provider: str, key: str | None) -> dict[str, str]:
    if provider == "anthropic":
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
    return {"authorization": f"Bearer {key}"} if key else {}
