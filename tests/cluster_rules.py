"""The rules of a Citus cluster for one statement, beside that of one scope in `tests.routing`.

* A message holds one statement. Citus passes the text of a message on to other nodes as a whole.
* Workers compute what an insert does on a conflict, and what a change returns. Citus refuses
  functions there whose value may change.
* Workers compute the functions of a query, with their own clocks, sessions and numbers of objects.
  The coordinator computes those of a change, except keywords such as `current_timestamp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.pq import DiagnosticField

from djinn_memory.store.postgres import catalog

Cursor = psycopg.Cursor[Any]

READS_OR_WRITES = re.compile(r"\s*(?:select|with|insert|update|delete)\b", re.IGNORECASE)
"""The statements that read or write rows."""

_LITERALS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_WORDS = re.compile(r"[a-z_]\w*")
_CALLS = re.compile(r"\b([a-z_]\w*)\s*\(")
_NUMBERS = re.compile(r"::\s*(reg\w+)")
"""A cast of a name to the number of an object."""
_COMMAND = re.compile(r"\b(select|insert|update|delete)\b")
_BY_WORKER = re.compile(r"\bon conflict\b|\breturning\b")

KEYWORDS = {
    "current_catalog", "current_date", "current_schema", "current_time", "current_timestamp",
    "localtime", "localtimestamp",
}  # fmt: skip
"""Functions that are called without parentheses, and whose value each node has its own of."""

USERS = {"current_role", "current_user", "session_user", "user"}
"""Keywords for the user, as whom Citus connects to the workers."""

OF_SESSION = ("age", "current_setting", "pg_has_role", "row_security_active")
"""Functions that have arguments, and whose value depends on the clock or the session too."""


def violations(cursor: Cursor, statement: str) -> list[str]:
    """What a cluster would refuse or compute differently in a statement, which does not run."""
    if _is_several(cursor, statement):
        return ["several statements in one message"]
    text = _LITERALS.sub("''", statement).lower()
    if not READS_OR_WRITES.match(text) or not _is_scoped(cursor, text):
        return []
    return [*_refused(cursor, text), *_different(cursor, text)]


def _is_several(cursor: Cursor, statement: str) -> bool:
    # A server prepares one statement at a time, and says so before it looks at names.
    result = cursor.connection.pgconn.prepare(b"", statement.encode())
    return b"multiple commands" in (result.error_field(DiagnosticField.MESSAGE_PRIMARY) or b"")


def _is_scoped(cursor: Cursor, text: str) -> bool:
    """Whether a statement names a table whose rows, or copies, are on the nodes of a cluster."""
    cursor.execute(catalog.SCOPED.encode())
    tables = {*catalog.UNSCOPED, *(name for (name,) in cursor)}
    return not tables.isdisjoint(_WORDS.findall(text))


def _refused(cursor: Cursor, text: str) -> Iterator[str]:
    """The functions that Citus refuses."""
    clause = _BY_WORKER.search(text)
    if clause:
        for name in _called(cursor, text[clause.start() :], "provolatile <> 'i'"):
            yield f"{name} after `{clause[0]}`, where its value must not change"


def _different(cursor: Cursor, text: str) -> Iterator[str]:
    """The functions that a worker would compute differently."""
    names = set(_WORDS.findall(text)) & KEYWORDS
    if _command(text) == "select":
        names |= set(_NUMBERS.findall(text))
        own = "provolatile = 'v' or provolatile = 's' and (pronargs = 0 or proname = any(%s) "
        names |= _called(cursor, text, own + "or proname like 'to\\_reg%%')", [*OF_SESSION])
    for name in sorted(names - USERS):
        yield f"{name}, whose value each node has its own of"


def _called(cursor: Cursor, text: str, which: str, *values: object) -> set[str]:
    """The functions that a text calls, of those that meet a condition, and keywords."""
    cursor.execute(
        f"select distinct proname from pg_proc where ({which}) and proname = any(%s)".encode(),
        (*values, _CALLS.findall(text)),
    )
    return {name for (name,) in cursor} | set(_WORDS.findall(text)) & (KEYWORDS | USERS)


def _command(text: str) -> str:
    """What a statement does as a whole, whatever the queries inside it do."""
    while (outer := re.sub(r"\([^()]*\)", " ", text)) != text:
        text = outer
    found = _COMMAND.search(text)
    return found[0] if found else ""
