"""Values in the forms that Postgres accepts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


def json_value(value: Any) -> Any:
    """A value for a column of type `jsonb`."""
    from psycopg.types.json import Jsonb

    return Jsonb(cleaned(value))


def vector_text(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map('%.9g'.__mod__, vector.tolist()))}]"


def clean(text: str) -> str:
    """A text that Postgres can keep: without NULs and lone surrogates."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cleaned(value: Any) -> Any:
    """A JSON value that Postgres can keep. A number that is none becomes null."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [*map(cleaned, value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def comparable(value: Any) -> str:
    """A text that is equal for equal values, whether they were read from a server or not."""
    if isinstance(value, datetime):
        return repr(value.timestamp())
    if isinstance(value, Mapping):
        return repr(sorted((key, comparable(inner)) for key, inner in value.items()))
    if isinstance(value, list | tuple):
        return repr([*map(comparable, value)])
    if isinstance(value, int | float):
        return repr(float(value))
    return str(value)
