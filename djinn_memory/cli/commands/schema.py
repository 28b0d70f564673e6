"""djinn schema."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.cli.command import Call, NoRequest, command
from djinn_memory.cli.output import say
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import NotFound, Remedy


class ShowSchema(Struct, frozen=True):
    """Which schema to print."""

    name: Annotated[
        str | None,
        Meta(
            description="The schema, such as gap.list or djinn.gap.list/1. Default: list all names."
        ),
    ] = None


def names() -> list[str]:
    """The names of all schemas."""
    folder = files("djinn_memory") / "schemas"
    return sorted(file.name.removesuffix(".json") for file in folder.iterdir())


def _print(call: Call) -> None:
    if call.request.name is None:
        for name in names():
            say(name)
        return
    name = call.request.name.removeprefix("djinn.").partition("/")[0]
    if name not in names():
        remedy = Remedy("schema", purpose="list the names")
        raise NotFound(f"no schema {call.request.name!r}", remedy)
    sys.stdout.write((files("djinn_memory") / "schemas" / f"{name}.json").read_text("utf-8"))


@command(
    "schema",
    request=ShowSchema,
    arguments=["name"],
    fields={"name": Field("[NAME]", names)},
    prints=NoRequest,
    run=_print,
)
def schema(call: Call, answer: Struct) -> None:
    """Print the JSON Schema of the output of a command.

    With `--json` a command prints one object. Its `schema` field names the schema of the object.

    Examples:
        djinn schema
        djinn schema memory.list
    """
