"""The list of operations: every entry loads, and says what it takes and gives."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from inspect import signature
from operator import attrgetter
from pathlib import Path
from pydoc import plaintext, render_doc
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct
from msgspec.json import schema

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused
from djinn_memory.memories.facts.verbs import Facts
from djinn_memory.memories.proposals.gaps import CloseGap, ReportGap
from djinn_memory.operations import OPERATIONS, imported
from djinn_memory.operations.checks import RawText
from djinn_memory.operations.operation import Namespace, operation
from tests.pages.fenced import ROOT


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_a_request_and_an_answer(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation.name == name
    assert issubclass(operation.request, Struct)
    assert issubclass(operation.answer, Struct)
    assert imported(operation.path).method.__doc__
    for kind in (operation.request, operation.answer):
        assert schema(kind, schema_hook=_text)["$ref"]


def _text(kind: type) -> dict[str, object]:
    """The schema of a path, which is printed as text."""
    assert kind is Path
    return {"type": "string"}


def test_the_list_imports_no_operation() -> None:
    code = (
        "import sys; import djinn_memory.operations; "
        "print(*(name for name in sys.modules if name.startswith('djinn_memory')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert loaded == ["djinn_memory", "djinn_memory.operations"]


def test_the_table_is_made_from_the_code() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "verb_table.py", "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_request_and_its_fields_mean_the_same(djinn: Djinn) -> None:
    by_request = djinn.gaps.report(ReportGap("who owns the shed"))
    by_fields = djinn.gaps.report("no word on tides", query="tides")
    by_name = OPERATIONS["gaps.report"].bind(djinn)(ReportGap("nothing on tea"))
    assert len({by_request.gap_id, by_fields.gap_id, by_name.gap_id}) == 3
    assert djinn.gaps.close(CloseGap(by_fields.gap_id)).gap.query == "tides"
    with pytest.raises(NotFound):
        djinn.gaps.close(gap=by_fields.gap_id)


class NamedNote(Struct, frozen=True):
    """A request as a new operation has it."""

    title: Annotated[str, Meta(max_length=500)] = ""
    tags: Sequence[str] = ()
    fields: Mapping[str, Any] = {}
    value: Any = None
    name: Annotated[RawText | None, Meta(description="The note.")] = None
    places: Sequence[RawText] = ()
    mode: Literal["short", "long"] = "short"


class NamedSecret(NamedNote, frozen=True):
    allow_secret: bool = False


class Notes(Namespace):
    @operation(NamedNote)
    def add(self, request: NamedNote) -> NamedNote:
        return request

    @operation(NamedSecret)
    def allow(self, request: NamedSecret) -> NamedSecret:
        return request


TOKEN = f"ghp_{'x7Kq2mZt' * 4}9aB1"


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"title": TOKEN}, "the title"),
        ({"tags": ("calm", f"see {TOKEN}")}, "tags"),
        ({"fields": {"note": ["calm", {"wick": TOKEN}]}}, "the wick"),
        ({"fields": {TOKEN: 1}}, "a key of fields"),
        ({"value": {"wick": TOKEN}}, "the wick"),
    ],
)
def test_a_field_of_a_new_request_takes_no_secret(
    djinn: Djinn, given: dict[str, Any], what: str
) -> None:
    notes = Notes(djinn.runtime)
    with pytest.raises(Refused, match=f"{what} contains what looks like a GitHub token") as refused:
        notes.add(**given)
    assert TOKEN not in str(refused.value) and not refused.value.remedies
    with pytest.raises(Refused) as refused:
        notes.allow(**given)
    assert refused.value.remedies
    assert notes.allow(**given, allow_secret=True)


def test_a_field_that_selects_takes_any_text(djinn: Djinn) -> None:
    assert Notes(djinn.runtime).add(name=TOKEN, places=(TOKEN,)).name == TOKEN


def test_help_shows_the_fields_of_the_request(djinn: Djinn) -> None:
    text = render_doc(djinn.facts.get, renderer=plaintext)
    assert re.search(r"get\(category: .+, key: str, expired: bool = False, .+\) -> 'Fact' ", text)
    assert "\n    key: The name of the fact in its category.\n" in text
    assert "get(self, category: " in render_doc(Facts, renderer=plaintext)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_field_is_explained(name: str, djinn: Djinn) -> None:
    method = attrgetter(name)(djinn)
    for field in signature(method).parameters:
        assert f"\n{field}: " in method.__doc__


def test_a_wrong_keyword_is_a_type_error(djinn: Djinn) -> None:
    with pytest.raises(TypeError):
        djinn.gaps.report("x", nonsense=True)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("top_k", "limit"), ("n_results", "limit"), ("vault", "vaults"), ("tag", "tags"),
     ("user_id", "agent"), ("limitt", "limit"), ("colour", "query")],
)  # fmt: skip
def test_an_unknown_keyword_names_the_right_one(djinn: Djinn, wrong: str, right: str) -> None:
    with pytest.raises(TypeError, match=rf"^search\(\) has no argument `{wrong}`; .*`{right}`"):
        djinn.search("lamps", **{wrong: 3})  # type: ignore[call-overload]
