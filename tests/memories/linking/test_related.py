"""Memories that are near in meaning and not linked yet."""

from __future__ import annotations

from pathlib import Path

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from tests.conftest import Run

TIDE = "The tide comes in at noon and the harbour fills with water."


def test_the_nearest_without_a_link_either_way(djinn: Djinn, shared: Path) -> None:
    notes = {
        "a": f"{TIDE} [[linked]]",
        "linked": TIDE,
        "back": f"{TIDE} [[a]]",
        "near": f"{TIDE} So.",
        "far": "Bake bread with rye flour.",
    }
    for name, text in notes.items():
        (shared / f"{name}.md").write_text(f"{text}\n")
    (shared / "old.md").write_text(f"---\nstatus: superseded\n---\n{TIDE}\n")
    djinn.index()
    answer = djinn.memories.related("a")
    assert [memory.title for memory in answer.related] == ["near", "far"]
    near, far = answer.related
    assert 0.7 < near.similarity <= 1.01 and far.similarity < 0.3
    assert len(djinn.memories.related("a", limit=1).related) == 1
    assert djinn.memories.related("a", agent="me").problems == ()


def test_without_vectors_one_line_says_so(djinn: Djinn, shared: Path, run: Run) -> None:
    (shared / "a.md").write_text(f"{TIDE}\n")
    answer = djinn.memories.related("a")
    assert answer.related == () and len(answer.problems) == 1
    assert "no note is embedded yet" in answer.problems[0].why
    done = run("memory", "related", "a", home=djinn.home.root)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 1)


def test_a_new_note_is_embedded_when_it_is_asked_about(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text(f"{TIDE}\n")
    djinn.index()
    (shared / "b.md").write_text(f"{TIDE} Again.\n")
    with Djinn(Home(djinn.home.root)) as opened:
        [memory] = opened.memories.related("b").related
    assert memory.title == "a"


def test_only_memories_that_the_agent_sees(djinn: Djinn, shared: Path) -> None:
    add_agent(djinn.home, "finn")
    with Djinn(Home(djinn.home.root)) as both:
        (shared / "a.md").write_text(f"{TIDE}\n")
        both.remember("lesson", "Secret", TIDE, agent="finn", force=True)
        both.index()
        assert both.memories.related("a", agent="me").related == ()
        [memory] = both.memories.related("a", agent="finn").related
        assert memory.title == "Secret"
