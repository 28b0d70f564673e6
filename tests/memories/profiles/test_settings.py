"""The keys of a profile, as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.profiles.requests import ProfileKeyName
from djinn_memory.memories.profiles.settings import KEYS, ProfileSettings, read_settings
from djinn_memory.notes import frontmatter


def settings_of(yaml: str) -> tuple[ProfileSettings, dict[str, str]]:
    return read_settings(frontmatter.read(f"---\n{yaml}\n---\n").fields)


def test_every_key() -> None:
    settings, wrong = settings_of(
        "identity: Keeps the log.\nvoice: brief\nrules: [Ask first., Be kind.]\n"
        'projects: ["[[Harbour lamp]]", Pier]\nworking_hours: [mon-fri 09:00-17:00]\n'
        "time_zone: Europe/Oslo\ndefault_domain: work\ndefault_budget: 1500\n"
        "default_recall_profile: planning"
    )
    assert wrong == {}
    assert settings == ProfileSettings(
        "Keeps the log.", "brief", ("Ask first.", "Be kind."), ("[[Harbour lamp]]", "[[Pier]]"),
        ("mon-fri 09:00-17:00",), "Europe/Oslo", "work", 1500, "planning",
    )  # fmt: skip
    assert set(KEYS) == set(ProfileSettings.__struct_fields__)
    assert [*KEYS] == [*ProfileKeyName.__args__]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("yaml", "key", "value"),
    [
        ("Working-Hours:\n  mon-fri: 09:00-17:00\n  sat: 10:00-12:00", "working_hours",
         ("mon-fri 09:00-17:00", "sat 10:00-12:00")),
        ("projects:\n  - [[Pier]]", "projects", ("[[Pier]]",)),
        ("projects: [[Pier]]", "projects", ("[[Pier]]",)),
        ("rules: One rule.", "rules", ("One rule.",)),
        ("voice: |\n  Dry,\n  but friendly.", "voice", "Dry, but friendly."),
        ("identity:", "identity", None),
        ("identity: ~", "identity", None),
    ],
)  # fmt: skip
def test_other_ways_to_write_it(yaml: str, key: str, value: object) -> None:
    settings, wrong = settings_of(yaml)
    assert getattr(settings, key) == value
    assert wrong == {}


@pytest.mark.parametrize(
    ("yaml", "key", "why"),
    [
        ("voice: {brief: yes}", "voice", "it is nested; write text"),
        ("voice: [brief, dry]", "voice", "it takes one value; the others are ignored"),
        ("rules: [{a: b}, Ask.]", "rules", "it is nested; write text or a list of text"),
        ("working_hours: [mon 9-17]", "working_hours",
         "'mon 9-17': '9-17' is no time; write it as 09:00-17:00"),
        ("working_hours: always", "working_hours",
         "'always': write days and times, such as mon-fri 09:00-17:00"),
        ("time_zone: Oslo", "time_zone", "'Oslo' is no time zone; write Europe/Oslo or UTC"),
        ("time_zone: ../../etc/passwd", "time_zone",
         "'../../etc/passwd' is no time zone; write Europe/Oslo or UTC"),
        ("default_budget: lots", "default_budget",
         "'lots': write a number of tokens from 100 to 1,000,000"),
        ("default_budget: 99", "default_budget",
         "'99': write a number of tokens from 100 to 1,000,000"),
        ("projects: ['[[Pier]']", "projects", "'[[Pier]' is no link; write [[Name of the note]]"),
        (f"identity: {'x' * 501}", "identity",
         "'xxxxxxxxxxxxxxxxxxxx'... has 501 characters; 500 are allowed"),
        (f"rules: [{', '.join(map(str, range(51)))}]", "rules",
         "it takes at most 50 values; the others are ignored"),
        ("voise: brief", "voise", "unknown key; did you mean voice?"),
        ("timezone: UTC", "timezone", "unknown key; did you mean time_zone?"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_one_line(yaml: str, key: str, why: str) -> None:
    _, wrong = settings_of(f"title: me\ntype: profile\n{yaml}")
    assert wrong == {key: why}


def test_what_is_right_beside_a_wrong_value_counts() -> None:
    settings, wrong = settings_of("rules: [Ask., {a: b}]\nvoice: brief\ntime_zone: Mars")
    assert settings == ProfileSettings(voice="brief", rules=("Ask.",))
    assert [*wrong] == ["rules", "time_zone"]


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.text(max_size=40) | st.sampled_from(["~", "", "brief", "mon 09:00-10:00", "UTC"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*KEYS]) | st.text(max_size=12), VALUES))
def test_no_front_matter_breaks_it(fields: dict[str, Any]) -> None:
    settings, wrong = read_settings(fields)
    assert isinstance(settings, ProfileSettings)
    assert all("\n" not in why for why in wrong.values())
