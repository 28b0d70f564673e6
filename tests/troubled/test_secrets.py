"""No text of a request brings a secret into a file, whichever field of which operation has it.

The fields are read from the request structs, and the arguments of tools from their schemas, so a
new one is covered as soon as its operation has a call in `operations` or `tools`.
"""

from __future__ import annotations

import re
import secrets
import types
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from mcp import Client, MCPError

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.operations import OPERATIONS
from tests.mcp.clients import asked
from tests.troubled import operations, tools
from tests.troubled.home import Troubled

MARK = secrets.token_hex(6)
"""Begins what is secret in each token. Names of files are in lower case."""
FOUND = re.compile(rf"{MARK}([0-9a-f]{{4}})")
LITTLE = (int, float, bool, types.NoneType)


def planted(hint: Any, text: str) -> Iterator[Any]:
    """Values of a type that hold a text, one for each place in which it can hold one."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is str or hint is Any:
        yield text
    elif hint is Path:
        yield Path(text)
    elif origin is Annotated:
        yield from planted(args[0], text)
    elif origin in (Union, types.UnionType):
        for part in args:
            yield from planted(part, text)
    elif origin in (Sequence, tuple, list):
        for value in planted(args[0], text):
            yield (value,)
    elif origin in (Mapping, dict):
        yield {text: "burns"}
        for value in planted(args[1], text):
            yield {"lamp": value}
            yield {"lamp": [{"wick": value}]}
    else:
        assert origin is Literal or hint in LITTLE, f"say how {hint} holds a text"


def token(number: int) -> str:
    """A token of GitHub that has a number."""
    return f"ghp_{MARK}{number:04x}{secrets.token_hex(9)}7z"


def leaked(folder: Path) -> dict[int, set[str]]:
    """The files below a folder that hold a token, by its number: in their names or their bytes."""
    files: dict[int, set[str]] = defaultdict(set)
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        text = path.read_bytes().decode("latin-1") if path.is_file() else ""
        for number in FOUND.findall(f"{name}\n{text}".lower()):
            files[int(number, 16)].add(name)
    return files


def leaks(place: Troubled, folder: Path, forms: Sequence[str]) -> Iterator[str]:
    """The fields whose token is in a file after a call, with the files."""
    fields: list[str] = []
    seen: set[int] = set()
    with Djinn(Home(place.root)) as djinn:
        for name, given, _ in (*operations.READING, *operations.WRITING):
            operation, base = OPERATIONS[name], place.request(given)
            hints = get_type_hints(operation.request, include_extras=True)
            for field, form in product(hints, forms):
                for value in planted(hints[field], form.format(token(len(fields)))):
                    with suppress(DjinnError):
                        operation.bind(djinn)(operation.request(**{**base, field: value}))
                fields.append(f"{name} {field} {form}")
            found = leaked(folder)
            yield from (f"{fields[each]}: {found[each]}" for each in found.keys() - seen)
            seen |= found.keys()
            with suppress(DjinnError):
                operation.bind(djinn)(operation.request(**base))


@pytest.fixture
def elsewhere(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another current folder: a planted path, such as that of a backup, is a file of the caller.

    The cache of models lies beside the home, so that it is looked through too.
    """
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    monkeypatch.setenv("DJINN_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("elsewhere")
def test_no_field_of_a_request_stores_a_secret(place: Troubled, tmp_path: Path) -> None:
    assert not [*leaks(place, tmp_path, ["{}"])]


@pytest.mark.soak
@pytest.mark.usefixtures("elsewhere")
def test_no_field_stores_a_secret_within_a_text(place: Troubled, tmp_path: Path) -> None:
    assert not [*leaks(place, tmp_path, ["note={}", "see {} there"])]


def arguments(schema: Mapping[str, Any], text: str) -> Iterator[Any]:
    """Values of a JSON schema that hold a text."""
    for one in schema.get("anyOf", ()):
        yield from arguments(one, text)
    match schema.get("type"):
        case "array":
            yield from ([value] for value in arguments(schema["items"], text))
        case "object":
            yield from ({text: "burns"}, {"lamp": text})
        case "string":
            yield text
        case None if "anyOf" not in schema:
            yield text


@pytest.mark.soak
def test_no_argument_of_a_tool_stores_a_secret(place: Troubled, tmp_path: Path) -> None:
    schemas = {tool.name: tool.input_schema()["properties"] for tool in TOOLS}
    fields: list[str] = []

    async def work(client: Client) -> None:
        for name, given, _ in (*tools.READING, *tools.REFUSED, *tools.WRITING):
            # The audit keeps the arguments of every call, unknown ones too.
            for field, schema in {**schemas[name], "unknown": {}}.items():
                for value in arguments(schema, token(len(fields))):
                    with suppress(MCPError):
                        await client.call_tool(name, {**place.filled(given), field: value})
                fields.append(f"{name} {field}")
            await client.call_tool(name, place.filled(given))

    asked(Home(place.root), work, agent="me")
    found = leaked(tmp_path)
    assert not [f"{fields[number]}: {files}" for number, files in found.items()]
