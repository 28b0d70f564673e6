import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.link_resolution import (
    LinkTarget,
    NameSearch,
    Resolution,
    Resolver,
    lookup_keys,
    wanted_keys,
)
from tests.growth import assert_linear


def resolver(*paths: str, vault: str = "v") -> Resolver:
    """Notes keyed by their place in `paths`, titled like their file; other files as attachments."""
    return Resolver(
        LinkTarget(key, vault, path, None, title_of(path), ()) for key, path in enumerate(paths)
    )


def title_of(path: str) -> str | None:
    return posixpath.basename(path).removesuffix(".md") if path.endswith(".md") else None


def look(found: Resolver, target: str, source: str = "x.md", kind: str = "wiki") -> Resolution:
    return found.resolve(
        target, source_vault="v", source_path=source, kind="wiki" if kind == "wiki" else "markdown"
    )


PATHS = (
    "b.md",
    "one/b.md",
    "one/c.md",
    "two/c.md",
    "two/deep/one/c.md",
    "img/p.png",
    "two/only.md",
)


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        ("", "one/c.md", Resolution(2, "self")),
        ("", "gone.md", Resolution(None, None)),
        ("/b", "one/x.md", Resolution(0, "path")),
        ("/c", "one/x.md", Resolution(None, None)),
        ("b", "one/x.md", Resolution(0, "path")),
        ("one/c", "two/deep/x.md", Resolution(2, "path")),
        ("deep/one/c", "x.md", Resolution(4, "suffix")),
        ("only", "x.md", Resolution(6, "name")),
        ("ONLY.md", "x.md", Resolution(6, "name")),
        ("c", "two/x.md", Resolution(3, "name", (2, 3, 4))),
        ("c", "two/deep/one/x.md", Resolution(4, "name", (2, 3, 4))),
        ("c", "x.md", Resolution(2, "name", (2, 3, 4))),
        ("p.png", "x.md", Resolution(5, "name")),
        ("img/p.png", "x.md", Resolution(5, "path")),
        ("p", "x.md", Resolution(None, None)),
        ("nothing", "x.md", Resolution(None, None)),
    ],
)
def test_obsidians_steps(target: str, source: str, expected: Resolution) -> None:
    assert look(resolver(*PATHS), target, source) == expected


@pytest.mark.parametrize(
    ("source", "key"),
    [("a/home.md", 1), ("a/x/home.md", 1), ("b/home.md", 0), ("home.md", 0), ("c/home.md", 0),
     ("a/xy/home.md", 0), ("B/home.md", 0)],
)  # fmt: skip
def test_candidates_in_or_below_the_own_folder_come_first(source: str, key: int) -> None:
    found = resolver("b/T.md", "a/x/T.md", "a/x/y/T.md")
    assert look(found, "T", source) == Resolution(key, "name", (0, 1, 2))


def test_the_root_contains_every_folder() -> None:
    found = Resolver(
        LinkTarget(key, "v", path, None, "T", ())
        for key, path in enumerate(["a-long-name.md", "a/b.md"])
    )
    assert look(found, "T", "home.md") == Resolution(1, "title", (0, 1))


def test_the_same_suffix_twice() -> None:
    found = resolver("p/a/b.md", "longer/a/b.md", "q/a/b.md")
    assert look(found, "a/b") == Resolution(0, "suffix", (0, 1, 2))
    assert look(found, "a/b", "q/a/x.md") == Resolution(2, "suffix", (0, 1, 2))


@pytest.mark.parametrize(
    ("target", "source", "key"),
    [
        ("./c", "one/x.md", 2),
        ("../b", "one/x.md", 0),
        ("../one/./c", "two/x.md", 2),
        ("../../b", "one/x.md", None),
        ("../../etc/passwd", "one/x.md", None),
        ("/../b", "one/x.md", None),
        ("..", "one/x.md", None),
        (".", "one/x.md", None),
    ],
)
@pytest.mark.parametrize("kind", ["wiki", "markdown"])
def test_relative_targets_stay_inside(target: str, source: str, key: int | None, kind: str) -> None:
    found = resolver(*PATHS, "etc/passwd.md")
    assert look(found, target, source, kind) == Resolution(key, None if key is None else "path")


def test_markdown_links_start_at_their_folder() -> None:
    found = resolver(*PATHS)
    assert look(found, "b", "one/x.md", "markdown") == Resolution(1, "path")
    assert look(found, "b", "two/x.md", "markdown") == Resolution(0, "path")
    assert look(found, "deep/one/c", "two/x.md", "markdown") == Resolution(4, "path")
    assert look(found, "/b.md", "one/x.md", "markdown") == Resolution(0, "path")
    assert look(found, "only", "one/x.md", "markdown") == Resolution(6, "name")


def test_a_markdown_link_is_an_address_and_no_title() -> None:
    found = Resolver([LinkTarget(1, "v", "a.md", None, "Some title", ())])
    assert look(found, "Some title") == Resolution(1, "title")
    assert look(found, "Some title", kind="markdown") == Resolution(None, None)


def test_what_djinn_adds_in_order() -> None:
    found = Resolver(
        [
            LinkTarget(1, "v", "x/first.md", "mem_1", "MyApp: Tech Stack", ("stack", "Stack")),
            LinkTarget(2, "v", "x/second.md", "mem_2", "mem_1", ("MyApp: Tech Stack", "stack two")),
            LinkTarget(3, "v", "x/a-third-note.md", None, "Different", ("stack two",)),
        ]
    )
    assert look(found, "mem_1") == Resolution(1, "id")
    assert look(found, "myapp: tech stack") == Resolution(1, "title")
    assert look(found, "STACK") == Resolution(1, "alias")
    assert look(found, "stack two") == Resolution(2, "alias", (2, 3))
    assert look(found, "MyApp - Tech Stack") == Resolution(1, "slug")
    assert look(found, "A third_note") == Resolution(3, "slug")


@pytest.mark.parametrize(
    "target",
    ["x.*", "x.??", "x.", "x-", "*", "??", "...", "x*", "x!", "<x>", "x (y)", "{x}", "x.<y>", "@x"],
)
def test_a_placeholder_is_no_note(target: str) -> None:
    found = resolver("x.md", "x y.md", "-.md", "note-x.md", "dendron.topic.md")
    assert look(found, target) == Resolution(None, None)
    assert look(found, f"dendron.topic.{target}") == Resolution(None, None)


@pytest.mark.parametrize(
    "target", ["dendron topic", "Dendron-Topic", "DENDRON_TOPIC", "dendron: topic"]
)
def test_case_and_separators_may_differ(target: str) -> None:
    assert look(resolver("a/dendron.topic.md"), target) == Resolution(0, "slug")


def test_names_are_compared_folded() -> None:
    found = resolver("Cafe\u0301 STRASSE.MD".replace(".MD", ".md"))
    assert look(found, "caf\u00e9 straße") == Resolution(0, "path")


VAULTS = [
    LinkTarget(1, "added", "a.md", None, "a", ()),
    LinkTarget(2, "shared", "a.md", None, "a", ()),
    LinkTarget(3, "anna", "n/a.md", None, "a", ()),
    LinkTarget(4, "added", "b.md", None, "b", ()),
    LinkTarget(5, "later", "b.md", None, "b", ()),
    LinkTarget(6, "bert", "secret.md", "mem_6", "Secret", ("hidden",)),
    LinkTarget(7, "diary", "own.md", None, "own", ()),
    LinkTarget(8, "diary", "a.md", None, "a", ()),
    LinkTarget(9, "diary", "b.md", None, "b", ()),
]


@pytest.mark.parametrize(
    ("target", "vault", "key"),
    [
        ("a", "anna", 3),
        ("a", "shared", 2),
        ("a", "bert", 2),
        ("a", "added", 1),
        ("a", "unknown", 2),
        ("b", "anna", 4),
        ("b", "later", 5),
        ("secret", "bert", 6),
        ("own", "anna", 7),
        ("a", "diary", 8),
        ("b", "anna", 4),
        ("n/a", "diary", 3),
        ("./own", "anna", None),
        *((name, vault, None) for name in ("secret", "/secret", "mem_6", "hidden", "Secret!")
          for vault in ("shared", "anna", "added", "diary")),
        *(("own", vault, None) for vault in ("shared", "bert", "added", "unknown")),
    ],
)  # fmt: skip
def test_vaults(target: str, vault: str, key: int | None) -> None:
    found = Resolver(VAULTS, reserved={"anna": "anna", "bert": "bert", "diary": "anna"})
    assert found.resolve(target, source_vault=vault, source_path="x.md").key == key


def test_a_relative_target_means_its_own_vault() -> None:
    found = Resolver(VAULTS)
    for kind in ("wiki", "markdown"):
        assert look(found, "./a", kind=kind).key is None


def test_the_linking_folder_counts_in_its_own_vault_only() -> None:
    shared = [
        LinkTarget(key, "shared", path, None, "n", ())
        for key, path in enumerate(["p/n.md", "q/n.md"])
    ]
    assert look(Resolver(shared), "n", "q/x.md") == Resolution(0, "name", (0, 1))


PARTS = st.sampled_from(["a", "B", "c d", "..", ".", "é"])


@given(st.lists(PARTS, min_size=1, max_size=5).map("/".join), st.sampled_from(["wiki", "markdown"]))
def test_a_path_is_found_wherever_it_is(target: str, kind: str) -> None:
    paths = ("a.md", "a/B.md", "c d/é.md", "c d/a/B.md")
    found = look(resolver(*paths), target, "a/x.md", kind)
    assert look(resolver(*reversed(paths)), target, "a/x.md", kind).how == found.how
    inside = posixpath.normpath(f"a/{target}")
    if {"..", "."} & set(target.split("/")) and inside.startswith(".."):
        assert found == Resolution(None, None)
    if f"{target}.md" in paths and kind == "wiki":
        assert found == Resolution(paths.index(f"{target}.md"), "path")


@pytest.mark.soak
def test_a_large_vault_is_quick() -> None:
    def work(size: int) -> None:
        resolver = Resolver(
            LinkTarget(
                key,
                "v",
                f"f{key % 97}/g{key % 11}/Note {key}.md",
                f"mem_{key}",
                f"Title: {key}",
                (f"alias {key}",),
            )
            for key in range(size)
        )
        for key in range(0, size, 50):
            assert look(resolver, f"Note {key}").key == key
            assert look(resolver, f"Missing {key}").key is None

    assert_linear(work, 50_000)


_PIECES = ["a", "A", "ß", "b c", "b-c", "b_c", "b: c", "é", "e\u0301", "x.md", "one", ".", ".."]
_NAMES = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=3)


@given(
    st.lists(
        st.tuples(_NAMES.map("/".join), _NAMES.map(" ".join), st.lists(_NAMES.map("/".join))),
        max_size=6,
        unique_by=lambda note: note[0],
    ),
    st.one_of(_NAMES.map("/".join), _NAMES.map(" ".join), _NAMES.map("-".join)),
    st.sampled_from(["{}", "/{}", " {} ", "{}.md", "../{}", " "]),
    st.sampled_from(["wiki", "markdown"]),
    st.sampled_from(["", "a.md", "one/a.md", "A/b c/x.md"]),
)
def test_a_link_means_only_targets_with_one_of_its_keys(
    notes: list[tuple[str, str, list[str]]], written: str, form: str, kind: str, source: str
) -> None:
    targets = [
        LinkTarget(key, "v", f"{path}.md", f"mem_{path}", title, tuple(aliases))
        for key, (path, title, aliases) in enumerate(notes)
    ]
    link = form.format(written)
    keys = wanted_keys(link, RULES["obsidian"], source)
    assert keys
    near = [target for target in targets if lookup_keys(target) & keys]
    assert {target.key for target in near} <= {
        each.key for each in NameSearch(targets).sharing(keys)
    }
    assert look(Resolver(near), link, source, kind) == look(Resolver(targets), link, source, kind)
