"""Which files of a vault are its notes."""

import os
import shutil
import socket
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from djinn_memory.errors import ConfigError, NotFound, Refused
from djinn_memory.models import Vault
from djinn_memory.notes.vault import MAX_BYTES, VaultListing, attachments, read, trash, walk
from tests.examples import examples


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def paths(listing: VaultListing) -> list[str]:
    return [file.path for file in listing.files]


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    (tmp_path / "vault").mkdir()
    return Vault("v", tmp_path / "vault", "id")


def test_only_notes_are_listed(vault: Vault) -> None:
    write(vault.root, "a.md", "B.MD", "sub/deep/c.md", "node_modules.md", "d.txt", "md",
          "e.markdown", ".hidden.md", ".git/x.md", ".obsidian/x.md", ".trash/x.md",
          "node_modules/p/x.md", "sub/.git/x.md", "sub/node_modules/x.md")  # fmt: skip
    (vault.root / "folder.md").mkdir()
    write(vault.root, "folder.md/inner.md")
    listing = walk(vault)
    assert paths(listing) == [
        "B.MD",
        "a.md",
        "folder.md/inner.md",
        "node_modules.md",
        "sub/deep/c.md",
    ]
    assert listing.complete
    assert not listing.problems
    assert sorted(attachments(vault)) == ["d.txt", "e.markdown", "md"]


def test_a_listing_tells_a_touched_file(vault: Vault) -> None:
    write(vault.root, "a.md")
    before = walk(vault).files
    assert walk(vault).files == before
    assert before[0].size == 4
    write(vault.root, "b.md")
    (vault.root / "b.md").replace(vault.root / "a.md")
    assert walk(vault).files != before


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (["templates/"], ["a.draft.md", "a.md", "sub/b.md"]),
        (["*.draft.md"], ["a.md", "sub/b.md", "sub/templates/t.md", "templates/t.md"]),
        (["/templates"], ["a.draft.md", "a.md", "sub/b.md", "sub/templates/t.md"]),
        (["*", "!a.md"], ["a.md"]),
        (["sub/**"], ["a.draft.md", "a.md", "templates/t.md"]),
        (["# comment", ""], ["a.draft.md", "a.md", "sub/b.md", "sub/templates/t.md",
                             "templates/t.md"]),
    ],
)  # fmt: skip
def test_exclude(vault: Vault, exclude: list[str], left: list[str]) -> None:
    write(vault.root, "a.md", "a.draft.md", "sub/b.md", "sub/templates/t.md", "templates/t.md",
          "templates/t.png")  # fmt: skip
    assert paths(walk(vault, exclude)) == left
    assert ("templates/t.png" in attachments(vault, exclude)) == ("templates/t.md" in left)


@pytest.mark.parametrize("pattern", ["!", "a\\", "[z-a]"])
def test_a_pattern_that_is_none_is_a_config_error(vault: Vault, pattern: str) -> None:
    with pytest.raises(ConfigError, match="exclude"):
        walk(vault, [pattern])


def test_links_are_not_followed(vault: Vault, tmp_path: Path) -> None:
    write(tmp_path, "out/secret.md", "vault/a.md", "vault/sub/b.md")
    root = vault.root
    (root / "out").symlink_to(tmp_path / "out")
    (root / "secret.md").symlink_to(tmp_path / "out" / "secret.md")
    (root / "again.md").symlink_to("a.md")
    (root / "sub" / "up").symlink_to("..")
    (root / "self").symlink_to(".")
    (root / "loop.md").symlink_to("loop.md")
    (root / "gone.md").symlink_to("nothing.md")
    (root / "astray.md").symlink_to(tmp_path / "nothing.md")
    write(root, ".trash/t.md", "data.txt")
    (root / "old.md").symlink_to(".trash/t.md")
    (root / "data.md").symlink_to("data.txt")
    (root / ".private").symlink_to(tmp_path / "out")
    (root / "picture.png").symlink_to(tmp_path / "nothing.png")
    listing = walk(vault)
    assert paths(listing) == ["a.md", "sub/b.md"]
    told = {problem.what.removeprefix("v/"): problem.why for problem in listing.problems}
    assert len(told) == len(listing.problems)
    assert set(told) == {"out", "secret.md", "loop.md", "gone.md", "astray.md", "old.md", "data.md"}
    assert "`djinn vault add NAME " in told["out"]
    assert "leads out of the vault" in told["secret.md"]
    assert "in a loop" in told["loop.md"]
    assert "which is not a note" in told["data.md"]
    assert "to a missing file" in told["gone.md"]
    assert not [path for path in attachments(vault) if "secret" in path]


def test_a_link_to_another_vault_hides_nothing(vault: Vault, tmp_path: Path) -> None:
    write(tmp_path, "out/in/b.md", "else/c.md")
    for name, target in (("x", "out"), ("y", "out/in"), ("b.md", "out/in/b.md"), ("z", "else")):
        (vault.root / name).symlink_to(tmp_path / target)
    known = replace(vault, others=frozenset({tmp_path / "out"}))
    assert [problem.what for problem in walk(known).problems] == ["v/z"]


def test_a_vault_behind_a_link(vault: Vault, tmp_path: Path) -> None:
    write(vault.root, "a.md")
    (tmp_path / "link").symlink_to("vault")
    linked = Vault("v", tmp_path / "link", "id")
    assert paths(walk(linked)) == ["a.md"]
    assert read(linked, "a.md") == b"a.md"


def test_what_is_no_file_is_left_alone(vault: Vault) -> None:
    write(vault.root, "a.md")
    os.mkfifo(vault.root / "fifo.md")
    os.mkfifo(vault.root / "fifo.txt")
    place = os.getcwd()  # noqa: PTH109
    os.chdir(vault.root)  # a socket's path has 108 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.md")
    finally:
        os.chdir(place)
    listing = walk(vault)
    assert paths(listing) == ["a.md"]
    assert {problem.what: problem.why.partition(",")[0] for problem in listing.problems} == {
        "v/fifo.md": "is a FIFO",
        "v/socket.md": "is a socket",
    }
    with pytest.raises(Refused):
        read(vault, "fifo.md")


def test_names_of_all_kinds(vault: Vault) -> None:
    names = ["-rf.md", "a\nb.md", "'\"`$(x).md", "e\u0301.md", "\u00e9.md", "小明 🎉.md", " .md",
             "a..md", "#[[x]].md", "c" * 252 + ".md"]  # fmt: skip
    write(vault.root, *names)
    assert paths(walk(vault)) == sorted(names)
    assert all(read(vault, name).decode() == name for name in names)


def test_a_name_that_is_no_text_is_a_problem(vault: Vault) -> None:
    write(vault.root, "a.md")
    (vault.root / "caf\udce9.md").write_text("x")
    (vault.root / "caf\udce9.png").write_text("x")
    listing = walk(vault)
    assert paths(listing) == ["a.md"]
    assert [problem.why for problem in listing.problems] == [
        "the file name is not valid UTF-8; rename the file"
    ]
    listing.problems[0].what.encode()
    assert list(attachments(vault)) == []


def test_what_is_too_large_is_a_problem(vault: Vault) -> None:
    with (vault.root / "big.md").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    listing = walk(vault)
    assert paths(listing) == []
    assert "too large" in listing.problems[0].why
    assert len(read(vault, "big.md")) == MAX_BYTES


def test_a_folder_that_cannot_be_read_is_a_problem(vault: Vault) -> None:
    write(vault.root, "a.md")
    # Deeper than a path may be long: that stops root too, whom no permission stops.
    at = os.open(vault.root, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=at)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    listing = walk(vault)
    assert paths(listing) == ["a.md"]
    [folder] = listing.unseen
    assert folder.startswith("d" * 250)
    assert "cannot be read" in listing.problems[0].why
    shutil.rmtree(vault.root)


def test_a_vault_that_is_gone(vault: Vault) -> None:
    vault.root.rmdir()
    with pytest.raises(NotFound, match="run `djinn vault remove v` to remove the vault"):
        walk(vault)


def test_a_walk_ends_at_its_deadline(vault: Vault) -> None:
    write(vault.root, "a.md")
    assert not walk(vault, deadline=time.monotonic() - 1).complete
    assert walk(vault, deadline=time.monotonic() + 60).complete


def test_notes_that_vanish(vault: Vault) -> None:
    with pytest.raises(FileNotFoundError):
        read(vault, "gone.md")
    with pytest.raises(NotFound):
        trash(vault, "gone.md")


NAMES = st.sampled_from(["a", "b.md", "c.MD", ".d", ".e.md", "node_modules", "f.txt", "é.md"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))
@given(st.sets(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=12))
def test_each_note_is_listed_once(vault: Vault, names: set[str]) -> None:
    made = set()
    for name in sorted(names, key=len, reverse=True):
        file = vault.root / name
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("x")
        except OSError:
            continue
        made.add(name)
    assert paths(walk(vault)) == sorted(
        name
        for name in made
        if name.lower().endswith(".md")
        and not any(part[0] == "." or part == "node_modules" for part in name.split("/"))
    )
    shutil.rmtree(vault.root)
    vault.root.mkdir()


@pytest.mark.parametrize(
    ("only", "found"),
    [
        (["a.md"], ["a.md"]),
        (["a.md", "a.md"], ["a.md"]),
        (["sub", "sub/b.md", "sub/deep/c.md"], ["sub/b.md", "sub/deep/c.md"]),
        (["sub/deep"], ["sub/deep/c.md"]),
        (["gone.md", "gone", "picture.png"], []),
        ([".git/d.md", "node_modules/e.md", ".trash"], []),
        (["drafts/f.md", "drafts"], []),
        (["link/b.md", "link"], []),
        ([], []),
    ],
)
def test_only_some_paths(vault: Vault, only: list[str], found: list[str]) -> None:
    write(
        vault.root, "a.md", "sub/b.md", "sub/deep/c.md", ".git/d.md", "node_modules/e.md",
        "drafts/f.md", "picture.png",
    )  # fmt: skip
    (vault.root / "link").symlink_to(vault.root / "sub")
    listing = walk(vault, ["drafts/"], only=only)
    assert paths(listing) == found
    assert listing.problems == []
    assert set(paths(walk(vault, ["drafts/"]))) >= set(found)


def test_what_cannot_be_looked_at_costs_only_itself(vault: Vault) -> None:
    write(vault.root, "a.md")
    # To ask for a name that is too long fails as it does in a folder that is shut.
    shut = [f"{'x' * 300}.md", f"{'y' * 300}/b.md"]
    listing = walk(vault, only=["a.md", *shut])
    assert paths(listing) == ["a.md"]
    assert sorted(listing.unseen) == shut
    assert len(listing.problems) == 2
