"""In a generated vault, each link leads to the same note after a rename as before it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, UsageError
from djinn_memory.home.home import Home
from tests.examples import examples

NAMES = ("lamp", "harbour lamp", "Über", "a (b)", "it's", "lamp.v2")
FOLDERS = ("", "x/", "x/y/", "lamp/")
FORMS = (
    "[[{name}]]", "[[{name}|shown]]", "[[{path}]]", "[[{path}#Head]]", "![[{name}#^b1]]",
    "[x]({url})", "[x](<{path}.md#head>)", "[x](/{url})", "[r]\n\n[r]: {url}",
    "`[[{name}]]`", "> [[{name}]]", "| [[{name}\\|b]] |", "%% [[{name}]] %%", "[[{title}]]",
)  # fmt: skip
FRONT = ("", '---\nsee: "[[{name}]]"\n---\n', "---\nsee:\n    - '[[{path}|x]]'\nup: [a]\n---\n")
LINK = re.compile(
    r"!?\[\[[^\]\n]+\]\]|\]\((?:<[^>\n]*>|[^\n]*?\.md[^\s]*\))|^\[r\]: .*$", re.MULTILINE
)


@dataclass
class File:
    """A generated note: its place, its title, and links to other notes."""

    path: str
    title: str
    links: list[tuple[int, str]]
    front: tuple[int, str]
    newline: str


@st.composite
def vaults(draw: st.DrawFn) -> list[File]:
    places = draw(st.lists(
        st.tuples(st.sampled_from(FOLDERS), st.sampled_from(NAMES)),
        min_size=2, max_size=6, unique_by=lambda place: (place[0] + place[1]).lower(),
    ))  # fmt: skip
    number = st.integers(0, len(places) - 1)
    return [
        File(
            f"{folder}{name}.md",
            draw(st.sampled_from(("", name, f"The {name}"))),
            draw(st.lists(st.tuples(number, st.sampled_from(FORMS)), max_size=5)),
            draw(st.tuples(number, st.sampled_from(FRONT))),
            draw(st.sampled_from(("\n", "\r\n"))),
        )
        for folder, name in places
    ]


def write(root: Path, files: list[File]) -> None:
    def filled(form: str, to: File) -> str:
        stem = to.path.removesuffix(".md")
        url = to.path.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
        name = stem.rpartition("/")[2]
        return form.format(name=name, path=stem, url=url, title=to.title or name)

    for file in files:
        text = filled(file.front[1], files[file.front[0]])
        if file.title:
            text += f"# {file.title}\n\n"
        text += "\n\n".join(filled(form, files[to]) for to, form in file.links) + "\n  end "
        place = root / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.replace("\n", file.newline).encode())


def led(djinn: Djinn) -> dict[str, list[str | None]]:
    """Where the links of each note lead, in order."""
    djinn.index()
    with djinn.runtime.index(djinn.runtime.home.vaults) as index:
        memories = {each.memory_id: each for each in index.memories()}
        listed: dict[str, list[tuple[int, int, str | None]]] = {
            each.path: [] for each in memories.values()
        }
        for link in index.links([*memories]):
            to = memories.get(link.target or 0)
            where = (link.line, link.start, to.path if to else None)
            listed[memories[link.source].path].append(where)
    return {path: [to for *_, to in sorted(links, key=str)] for path, links in listed.items()}


@pytest.mark.hypothesis
@settings(
    max_examples=examples(10), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(vaults(), st.sampled_from((*NAMES, "Pier/lamp", "new")), st.sampled_from((*FOLDERS, None)))
def test_each_link_leads_to_the_same_note(
    tmp_path_factory: pytest.TempPathFactory, home_template: Path, files: list[File], title: str,
    folder: str | None,
) -> None:  # fmt: skip

    root = tmp_path_factory.mktemp("vault") / "home"
    shutil.copytree(home_template, root)
    shared = root / "vaults" / "shared"
    write(shared, files)
    kept = {path: path.read_bytes() for path in shared.rglob("*.md")}
    with Djinn(Home(root)) as djinn:
        before = led(djinn)
        name = f"shared:{files[0].path}"
        try:
            if folder is None:
                done = djinn.memories.rename(name, title)
            else:
                done = djinn.memories.move(name, f"/{folder}")
        except (Refused, UsageError):
            assert {path: path.read_bytes() for path in shared.rglob("*.md")} == kept
            return
        after, new = led(djinn), done.memory.path
        assert done.left == () and done.problems == ()
        moved = {files[0].path: new}
        expected = {
            moved.get(path, path): [moved.get(to or "", to) for to in links]
            for path, links in before.items()
        }
        for path, links in expected.items():
            assert [a for a, b in zip(after[path], links, strict=True) if b and a != b] == []
        for path, data in kept.items():
            relative = path.relative_to(shared).as_posix()
            if relative != files[0].path:
                texts = (data.decode(), path.read_bytes().decode())
                first, second = (LINK.sub("LINK", text) for text in texts)
                assert first == second
        djinn.changes.undo(done.change)
    assert {path: path.read_bytes() for path in shared.rglob("*.md")} == kept
