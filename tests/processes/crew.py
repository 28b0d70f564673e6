"""Who works on one home at once: each has files of its own and knows what must be in them.

A new kind of writer is a class with `step` and `check`, named in `WRITERS`; a watch runs all the
while beside them.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from djinn_memory.home.home import Home
from djinn_memory.notes import frontmatter
from djinn_memory.system.yaml_edit import load
from tests.processes.commands import HANG, scary, start


class Site:
    """A home, and what went wrong in it."""

    def __init__(self, home: Home, folder: Path, seconds: float) -> None:
        self.home = home
        self.folder = folder
        self.faults: list[str] = []
        self.ran: dict[str, int] = {}
        self.waits: list[float] = []
        """The seconds that each command has waited for locks."""
        self.until = time.monotonic() + seconds
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        return time.monotonic() > self.until

    def fault(self, what: str) -> None:
        with self._lock:
            self.faults.append(what)

    def run(self, *arguments: object) -> str:
        """What a command said on stdout; it must succeed, and say nothing that frightens."""
        process = start(self.home, "--timings", *arguments)
        try:
            out, err = process.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fault(f"{arguments} hung: {err}")
        if process.returncode or scary(err):
            self.fault(f"{arguments} exit {process.returncode}: {err}")
        waits = re.findall(
            r"^timings: .* ([\d.]+) s of it waiting for locks; run by this process$",
            err,
            re.MULTILINE,
        )
        with self._lock:
            self.waits += map(float, waits)
            kind = " ".join(str(one) for one in arguments[:2] if str(one).isalpha())
            self.ran[kind] = self.ran.get(kind, 0) + 1
        return out

    def search(self, word: str) -> tuple[set[str], bool]:
        """Where a word is found, and whether the answer says that notes are left unread."""
        # By meaning the hashing model finds others that it takes for nearer.
        out = self.run("memory", "search", word, "--mode", "words", "--json")
        if not out:
            return set(), True
        found = json.loads(out)
        return {hit["path"] for hit in found["hits"]}, bool(found["pending"])


def word_of(*parts: object) -> str:
    """A word that nobody else uses."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return "q" + "".join(chr(97 + byte % 26) for byte in digest[:12])


class Writer(ABC):
    """Changes files of its own, step by step."""

    def __init__(self, site: Site, number: int) -> None:
        self.site = site
        self.number = number
        self.dice = random.Random(f"{type(self).__name__} {number}")
        self.steps = 0

    def work(self) -> None:
        """Go on until the time is over."""
        try:
            while not self.site.over:
                self.steps += 1
                self.step()
        except Exception as error:
            self.site.fault(f"{type(self).__name__}: {error!r}")

    @abstractmethod
    def step(self) -> None: ...

    def check(self) -> None:  # noqa: B027 - who only asks leaves nothing to be looked at
        """Report what is not as it was left."""


class Ingester(Writer):
    """Ingests new files and new versions, cuts them anew, removes them."""

    def __init__(self, site: Site, number: int) -> None:
        super().__init__(site, number)
        self.folder = site.folder / f"in{number}"
        self.folder.mkdir()
        self.texts: dict[str, str] = {}
        self.gone: set[str] = set()

    def step(self) -> None:
        there = sorted(self.texts)
        what = self.dice.choices(["new", "version", "reprocess", "remove"], [5, 2, 2, 1])[0]
        if what == "new" or not there:
            self._ingest([f"ing{self.number}x{self.steps}y{n}.txt" for n in range(2)])
        elif what == "version":
            self._ingest([self.dice.choice(there)])
        elif what == "reprocess":
            name = self.dice.choice(there)
            size = self.dice.choice(["200", "300", "400"])
            self.site.run("document", "reprocess", name, "--chunk-size", size)
            self._found(name)
        else:
            name = self.dice.choice(there)
            self.site.run("document", "remove", name, "--yes")
            word = self.texts.pop(name).split()[0]
            self.gone.add(name)
            if self.site.search(word)[0]:
                self.site.fault(f"{name} is removed, and found")

    def _ingest(self, names: list[str]) -> None:
        for name in names:
            word = word_of(self.number, self.steps, name)
            body = " ".join(self.dice.choices(["harbour", "tide", "kettle", "ledger"], k=300))
            self.texts[name] = f"{word} {body}\n"
            (self.folder / name).write_text(self.texts[name])
        said = self.site.run("ingest", *(self.folder / name for name in names))
        for name in names:
            if f"{name}: " not in said or " -> " not in said:
                self.site.fault(f"{name} was not ingested: {said}")
            self._found(name)

    def _found(self, name: str) -> None:
        found, _ = self.site.search(self.texts[name].split()[0])
        if len(found) != 1:
            self.site.fault(f"{name} is found at {found}")

    def check(self) -> None:
        notes = documents(self.site.home)
        for name, text in self.texts.items():
            mine = [note for note, fields, _ in notes if fields["filename"] == name]
            if len(mine) != 1:
                self.site.fault(f"{name} is {len(mine)} documents")
                continue
            [(note, fields, body)] = [one for one in notes if one[0] == mine[0]]
            whole = fields["sha256"] == hashlib.sha256(text.encode()).hexdigest()
            original = note.with_name(fields["original"][2:-2])
            if not whole or text not in body or original.read_text() != text:
                self.site.fault(f"{note} is not what was ingested last")
        for note, fields, _ in notes:
            if fields["filename"] in self.gone - set(self.texts):
                self.site.fault(f"{note} is still there")


class Editor(Writer):
    """Saves notes as editors do: in place, through another file, bit by bit; moves and removes."""

    def __init__(self, site: Site, number: int) -> None:
        super().__init__(site, number)
        self.folder = site.home.root / "vaults" / "shared" / f"ed{number}"
        self.folder.mkdir()
        self.texts: dict[str, str] = {}

    def step(self) -> None:
        there = sorted(self.texts)
        what = self.dice.choices(["save", "move", "unlink"], [8, 1, 1])[0]
        if what == "save" or not there:
            self._save(self.dice.choice([f"n{self.steps}.md", *there]))
        elif what == "move":
            old, new = self.dice.choice(there), f"m{self.steps}.md"
            (self.folder / old).rename(self.folder / new)
            self.texts[new] = self.texts.pop(old)
            self._found(new)
        else:
            name = self.dice.choice(there)
            (self.folder / name).unlink()
            if self.site.search(self.texts.pop(name).split()[1])[0]:
                self.site.fault(f"{name} is gone, and found")

    def _save(self, name: str) -> None:
        text = f"# {word_of(self.number, self.steps)}\n" + "tide and kettle\n" * 50
        path = self.folder / name
        style = self.dice.choice(["in place", "rename", "bit by bit"])
        if style == "in place":
            path.write_text(text)
        elif style == "rename":
            path.with_suffix(".tmp").write_text(text)
            path.with_suffix(".tmp").replace(path)
        else:
            with path.open("w") as file:
                for part in (text[:100], text[100:300], text[300:]):
                    file.write(part)
                    file.flush()
                    time.sleep(0.01)
        self.texts[name] = text
        self._found(name)

    def _found(self, name: str) -> None:
        found, unread = self.site.search(self.texts[name].split()[1])
        if found != {f"{self.folder.name}/{name}"} and not unread:
            self.site.fault(f"{name} is found at {found}")

    def check(self) -> None:
        there = {path.name: path.read_text() for path in self.folder.iterdir()}
        if there != self.texts:
            self.site.fault(f"{self.folder} is not what was saved")


class MassEditor(Writer):
    """Changes two hundred notes at once, as a checkout or a replacement in all files does."""

    NOTES = 200

    def __init__(self, site: Site, number: int) -> None:
        super().__init__(site, number)
        self.folder = site.home.root / "vaults" / "shared" / f"mass{number}"
        self.folder.mkdir()
        self.word = ""

    def step(self) -> None:
        self.word = word_of("mass", self.number, self.steps)
        for note in range(self.NOTES):
            (self.folder / f"note-{note}.md").write_text(f"# Mass {note}\n\n{self.word} kettle\n")
        found, unread = self.site.search(self.word)
        if not found and not unread:
            self.site.fault(f"{self.word} is found nowhere")
        time.sleep(2)

    def check(self) -> None:
        texts = [path.read_text() for path in self.folder.iterdir()]
        if len(texts) != self.NOTES or not all(self.word in text for text in texts):
            self.site.fault(f"{self.folder} is not what was saved")


class Deleter(Writer):
    """Writes notes and deletes them by djinn."""

    def __init__(self, site: Site, number: int) -> None:
        super().__init__(site, number)
        self.folder = site.home.root / "vaults" / "shared" / f"del{number}"
        self.folder.mkdir()
        self.texts: dict[str, str] = {}

    def step(self) -> None:
        name, word = f"d{self.number}x{self.steps}.md", word_of("deleter", self.number, self.steps)
        self.texts[name] = f"# {word}\n\nkettle\n"
        (self.folder / name).write_text(self.texts[name])
        # Reading may be left to another process; then it is not known yet by its name.
        self.site.run("index", "--vault", "shared")
        said = self.site.run("memory", "delete", f"shared:{self.folder.name}/{name}", "--yes")
        if "moved" not in said or self.site.search(word)[0]:
            self.site.fault(f"{name} was not deleted: {said}")

    def check(self) -> None:
        trash = self.folder.parent / ".trash" / self.folder.name
        there = {path.name: path.read_text() for path in trash.glob("*")}
        if list(self.folder.iterdir()) or there != self.texts:
            self.site.fault(f"{trash} is not what was deleted")


class Rememberer(Writer):
    """Remembers, adds, says otherwise, and says where the work stands."""

    def __init__(self, site: Site, number: int) -> None:
        super().__init__(site, number)
        self.texts: dict[str, list[str]] = {}
        self.stands: list[str] = []

    def step(self) -> None:
        word = word_of("rememberer", self.number, self.steps)
        what = self.dice.choices(["new", "add", "checkpoint"], [3, 1, 1])[0]
        if what == "checkpoint":
            self.stands.append(word)
            self.site.run("checkpoint", f"{word} is what is worked on")
        elif what == "new" or not self.texts:
            self.texts[word] = [word]
            # Lessons that differ in one word are nearly the same, and refused.
            others = " ".join(word_of(word, number) for number in range(8))
            self.site.run("remember", "lesson", word, f"{word}: {others}")
        else:
            title = self.dice.choice(sorted(self.texts))
            self.texts[title].append(word)
            said = f"{word} was added to it"
            self.site.run("remember", "lesson", title, said, "--append", "--force")
        found, unread = self.site.search(word)
        if len(found) != 1 and not unread:
            self.site.fault(f"{word} is found at {found}")

    def check(self) -> None:
        notes = [path.read_text() for path in (self.site.home.root / "vaults/me").rglob("*.md")]
        for words in [*self.texts.values(), *([one] for one in self.stands)]:
            if sum(all(word in text for word in words) for text in notes) != 1:
                self.site.fault(f"{words} are not in one note")


class Holder(Writer):
    """Holds values of its own, and adds to a list that is everybody's."""

    def __init__(self, site: Site, number: int) -> None:
        super().__init__(site, number)
        self.value = ""
        self.added: list[str] = []

    def step(self) -> None:
        word = word_of("holder", self.number, self.steps)
        self.site.run("session", "working", "set", f"own {self.number}", word, "--ttl", 3600)
        self.value = word
        self.site.run("session", "working", "set", "all", word, "--append", "--task", "crew")
        self.added.append(word)
        if self.site.run("session", "working", "get", f"own {self.number}").strip() != word:
            self.site.fault(f"own {self.number} is not what was set")

    def check(self) -> None:
        held = json.loads(self.site.run("session", "working", "get", "all", "--task", "crew"))
        mine = [word for word in held if word in self.added]
        # It keeps the last 50.
        if mine != self.added[-len(mine) :] or (len(held) < 50 and mine != self.added):
            self.site.fault(f"the list lost {self.added}: {held}")


class Indexer(Writer):
    """Indexes, now and then from nothing."""

    def step(self) -> None:
        self.site.run("index", *self.dice.choice([(), (), ("--vault", "me"), ("--rebuild",)]))


class Settler(Writer):
    """Changes settings and describes folders."""

    def __init__(self, site: Site, number: int) -> None:
        super().__init__(site, number)
        self.said: dict[str, str] = {}
        self.limit = 0

    def step(self) -> None:
        folder = f"area{self.number}x{self.steps}"
        (self.site.home.root / "vaults" / "me" / folder).mkdir(parents=True)
        self.said[f"{folder}/"] = f"sentence {self.steps}"
        self.site.run("vault", "describe", f"me/{folder}", self.said[f"{folder}/"])
        self.limit = self.dice.randrange(5, 50)
        self.site.run("config", "set", f"search.per_{('note', 'document')[self.number % 2]}",
                      self.limit)  # fmt: skip

    def check(self) -> None:
        config = load(self.site.home.config_path.read_text())
        contexts = config["vaults"]["me"]["contexts"]
        key = f"per_{('note', 'document')[self.number % 2]}"
        if not self.said.items() <= contexts.items() or config["search"][key] != self.limit:
            self.site.fault(f"config.yaml lost what was set: {contexts}")


class Reader(Writer):
    """Asks."""

    QUESTIONS: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("memory", "search", "kettle tide"),
        ("memory", "search", "harbour", "--mode", "words"),
        ("memory", "search", "ledger", "--json"),
        ("memory", "list"),
        ("memory", "show", "Note 1"),
        ("memory", "stats"),
        ("status",),
        ("document", "list", "--json"),
    )

    def step(self) -> None:
        said = self.site.run(*self.dice.choice(self.QUESTIONS))
        if not said:
            self.site.fault("a question without an answer")


WRITERS: tuple[type[Writer], ...] = (
    Ingester, Editor, Rememberer, Holder, Indexer, Deleter, Settler, Ingester,
)  # fmt: skip


def documents(home: Home) -> list[tuple[Path, dict[str, Any], str]]:
    """The documents of the personal vault: path, front matter, text."""
    found = []
    for note in sorted((home.root / "vaults" / "me" / "documents").glob("*.md")):
        text = note.read_text()
        front = frontmatter.read(text)
        found.append((note, dict(front.fields), text[front.body :]))
    return found


@contextmanager
def watch(site: Site) -> Iterator[None]:
    """`djinn watch` beside the block, ended by SIGTERM: it must exit 0 and tell no fault."""
    process = start(site.home, "watch", "--log")
    assert process.stdout
    lines: list[str] = []
    # A pipe that nobody reads would stop it.
    listener = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
    listener.start()
    try:
        yield
        process.send_signal(signal.SIGTERM)
        code, told = process.wait(HANG), scary("".join(lines))
        if code or told:
            site.fault(f"watch exit {code}: {told}")
        site.ran["watch"] = len(lines)
    finally:
        process.kill()
        listener.join()
        process.communicate()


def work(home: Home, folder: Path, *, seconds: float, writers: int, readers: int) -> Site:
    """Let a crew work for so long; what went wrong is in the site that it gives."""
    site = Site(home, folder, seconds)
    crew: list[Writer] = [WRITERS[n % len(WRITERS)](site, n) for n in range(writers)]
    crew += [Reader(site, n) for n in range(readers)]
    crew.append(MassEditor(site, len(crew)))
    with watch(site):
        threads = [threading.Thread(target=one.work) for one in crew]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for one in crew:
        one.check()
    return site
