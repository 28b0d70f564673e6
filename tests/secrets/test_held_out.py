"""How many of sixty secrets are caught, and of sixty lookalikes are taken for one."""

from __future__ import annotations

from djinn_memory.secrets import find, mask
from tests.secrets.held_out import LOOKALIKES, SECRETS


def between(text: str) -> str:
    return f"First line.\n{text}\nLast line."


def test_secrets_are_caught_whole() -> None:
    left = [
        text for text, *values in SECRETS if any(value in mask(between(text)) for value in values)
    ]
    assert len(SECRETS) == 60 and len(SECRETS) - len(left) >= 57, "\n".join(left)


def test_lookalikes_pass() -> None:
    taken = [text for text in LOOKALIKES if find(between(text))]
    assert len(LOOKALIKES) == 60 and len(taken) <= 1, "\n".join(taken)
