"""A home under fire: the commands that are killed in it, and what must hold after each kill."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.library.catalog import text_of
from djinn_memory.notes import frontmatter
from djinn_memory.store import index as schemas
from djinn_memory.store.ledger import Ledger
from djinn_memory.store.sqlite import load_vectors
from djinn_memory.system.yaml_edit import load
from tests.processes.commands import HANG, scary, start
from tests.servers import ModelServer

Arguments = tuple[object, ...]


@dataclass
class Site:
    """A home under fire, and all that may lie in it."""

    home: Home
    incoming: Path
    server: ModelServer
    dice: random.Random
    written: set[str] = field(default_factory=set)
    """What was saved as a note, by hand."""
    texts: dict[str, str] = field(default_factory=dict)
    """What was to be ingested, by its hash."""
    said: set[str] = field(default_factory=set)
    """What was to be remembered, once."""
    spoken: set[str] = field(default_factory=set)
    """What was to be remembered, each time that it is said."""
    acknowledged: set[str] = field(default_factory=set)
    """What a command reported as remembered."""
    reports: int = 0
    """How many writes commands have reported."""
    rounds: int = 0

    @property
    def shared(self) -> Path:
        return self.home.root / "vaults" / "shared"

    @property
    def me(self) -> Path:
        return self.home.root / "vaults" / "me"

    def save(self) -> Path:
        """Change the shared vault as a person would: a note more, one less, one otherwise."""
        self.rounds += 1
        text = f"# Saved {self.rounds}\n\n" + "tide kettle [[note-00003]]\n" * 40
        self.written.add(text)
        path = self.shared / f"saved-{self.rounds}.md"
        path.write_text(text)
        notes = sorted(self.shared.glob("*.md"))
        old = [note for note in notes[50:] if note != path]
        if len(notes) > 60:
            self.dice.choice(old).unlink()
        other = self.dice.choice(sorted(self.shared.glob("*.md")))
        text = other.read_text() + "more\n"
        self.written.add(text)
        other.write_text(text)
        return path

    def file(self, name: str) -> Path:
        """A file to be ingested, with new content."""
        self.rounds += 1
        text = f"version {self.rounds} " + " ".join(self.dice.choices(["harbour", "tide"], k=4000))
        self.texts[hashlib.sha256(text.encode()).hexdigest()] = text
        path = self.incoming / name
        path.write_text(text)
        return path

    def sentence(self) -> str:
        """One that nobody has said yet, and nobody says in other words."""
        self.rounds += 1
        words = " ".join(random.Random(self.rounds).choices(["mole", "lamp", "quay", "gull"], k=8))
        return f"round {self.rounds}: {words}"

    def document(self) -> str:
        """The file name of a document there is."""
        names = sorted(one["filename"] for one in self.fields)
        if not names:
            djinn_does(self, "ingest", self.file("again.txt"))
            return "again.txt"
        return str(self.dice.choice(names))

    @property
    def notes(self) -> list[Path]:
        return sorted((self.me / "documents").glob("*.md"))

    @property
    def fields(self) -> list[Mapping[str, Any]]:
        """What the documents say of themselves."""
        return [frontmatter.read(one.read_text()).fields for one in self.notes]

    @property
    def hashing(self) -> bool:
        self.home.reread()
        return self.home.config.embedding.provider == "hashing"

    def events(self) -> list[tuple[object, ...]]:
        """All that the ledger has."""
        connection = apsw.Connection(str(self.home.ledger_path))
        return connection.execute("select * from event order by id").fetchall()


def ingest(site: Site) -> Arguments:
    names = site.dice.sample([f"paper-{n}.txt" for n in range(8)], 3)
    return "ingest", *(site.file(name) for name in names)


def index(site: Site) -> Arguments:
    site.save()
    return "index", *site.dice.choice([(), ("--vault", "shared")])


def rebuild(site: Site) -> Arguments:
    site.save()
    return "index", "--rebuild"


def other_model(site: Site) -> Arguments:
    if site.hashing:
        site.home.edit(
            (("embedding", "provider"), "ollama"),
            (("embedding", "model"), "nomic-embed-text"),
            (("embedding", "url"), site.server.url),
        )
        site.home.trust(site.home.untrusted)
        return ("index",)
    return "index", "--model", "hashing"


def first_opening(site: Site) -> Arguments:
    for leftover in site.home.state.glob(site.dice.choice(["index.db*", "*e*d*.db*", "index.db"])):
        if not leftover.name.startswith("ledger"):
            leftover.unlink()
    return site.dice.choice([("index",), ("memory", "search", "kettle"), ("status",)])


def migration(site: Site) -> Arguments:
    for leftover in site.home.state.glob("index.db*"):
        leftover.unlink()
    scripts = sorted((Path(schemas.__file__).parent / "schema").glob("[0-9]*.sql"))
    connection = apsw.Connection(str(site.home.index_path))
    load_vectors(connection)
    for version, script in enumerate(scripts[: site.dice.randint(1, len(scripts) - 1)], 1):
        connection.execute(script.read_text())
        connection.pragma("user_version", version)
    connection.close()
    return ("index",)


def delete(site: Site) -> Arguments:
    path = site.save()
    return "memory", "delete", f"shared:{path.name}", "--yes"


def remove(site: Site) -> Arguments:
    return "document", "remove", site.document(), "--yes"


def reprocess(site: Site) -> Arguments:
    size = site.dice.randint(150, 400)
    return "document", "reprocess", site.document(), "--chunk-size", size


def setting(site: Site) -> Arguments:
    return "config", "set", "search.limit", site.dice.randint(5, 50)


def describe(site: Site) -> Arguments:
    return "vault", "describe", "me", f"sentence {site.dice.random()}"


def watch(site: Site) -> Arguments:
    site.save()
    return "watch", "--log"


def remember(site: Site) -> Arguments:
    site.said.add(text := site.sentence())
    return "remember", "lesson", f"Lesson {site.rounds}", text


def revise(site: Site) -> Arguments:
    site.spoken.add(text := site.sentence())
    return "remember", "plan", "The plan", text, "--revise", "--force"


def checkpoint(site: Site) -> Arguments:
    site.spoken.add(text := site.sentence())
    return "checkpoint", text


def hold(site: Site) -> Arguments:
    text = site.sentence()
    return "session", "working", "set", f"held-{site.dice.randint(1, 3)}", text, "--ttl", 3600


def promote(site: Site) -> Arguments:
    djinn = Djinn(Home(site.home.root))
    for number in range(3):
        site.said.add(text := site.sentence())
        djinn.working.set(f"seen-{number}", text, short=True)
        for _ in range(3):
            djinn.working.get(f"seen-{number}")
    djinn.close()
    return ("maintain",)


def extract(site: Site) -> Arguments:
    djinn = Djinn(Home(site.home.root))
    for _ in range(3):
        text = site.sentence()
        # Also as the extraction writes it.
        site.spoken |= {text, text.capitalize()}
        djinn.episodes.record_interaction(message=f"Lesson learned: {text}", session="said")
    djinn.close()
    return "session", "extract", "--session", "said"


Kind = Callable[[Site], Arguments]

KINDS: tuple[Kind, ...] = (
    ingest, index, rebuild, other_model, first_opening, migration, delete, remove, reprocess,
    setting, describe, watch, remember, revise, checkpoint, hold, promote, extract,
)  # fmt: skip
"""What is killed: each prepares something and gives the command."""


def djinn_does(site: Site, *arguments: object) -> str:
    """Run a command to its end; what it has to do may be done already."""
    process = start(site.home, *arguments)
    out, err = process.communicate(timeout=HANG)
    done: dict[Arguments, int] = {
        ("memory", "delete"): 4,
        ("document", "remove"): 4,
        ("remember", "lesson"): 3,
    }
    allowed = (0, done.get(arguments[:2], 0))
    assert process.returncode in allowed, (arguments, out, err)
    assert process.returncode or not scary_here(err), (arguments, err)
    return out


def scary_here(err: str) -> list[str]:
    """As `scary`; but that an index that was just made has no vectors is true."""
    return [line for line in scary(err) if "no note is embedded yet" not in line]


def kept(site: Site, out: str, arguments: Arguments) -> None:
    """Whatever a command reported is so, and is counted."""
    if arguments[0] == "ingest":
        latest = Ledger(site.home.ledger_path).latest("document")
        done = {text_of(one, "name") for one in latest if one.kind == "document.done"}
        for name, place in re.findall(r"^(\S+): .* -> me/(\S+)$", out, re.MULTILINE):
            fields = frontmatter.read((site.me / place).read_text()).fields
            [path] = [one for one in arguments[1:] if isinstance(one, Path) and one.name == name]
            assert fields["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
            assert name in done
            site.reports += 1
    for place, trash in re.findall(r"^moved shared/(\S+) to (\S+)$", out, re.MULTILINE):
        assert not (site.shared / place).exists()
        assert Path(trash).is_file()
        site.reports += 1
    for note in re.findall(r"^removed \S+  \(me/(\S+)\)$", out, re.MULTILINE):
        assert not (site.me / note).exists()
        site.reports += 1
    for cut in re.findall(r"^(\S+): \d+ chunks?, (?!.*->)", out, re.MULTILINE):
        assert arguments[:2] == ("document", "reprocess")
        [size] = [one["chunk_size"] for one in site.fields if one["filename"] == cut]
        assert size == str(arguments[-1])
        site.reports += 1
    for key in re.findall(r"^(held-\d)  session", out, re.MULTILINE):
        # A value outside of any session may have the key, too.
        assert Djinn(Home(site.home.root)).working.get(key).value == arguments[4], out
        site.reports += 1
    for path in re.findall(r"^mem_\w{16}  me/(\S+)$", out, re.MULTILINE):
        text = (site.me / path).read_text()
        sentences = {sentence for sentence in site.said | site.spoken if sentence in text}
        assert sentences, path
        site.acknowledged |= sentences & site.said
        site.reports += 1
    config = load(site.home.config_path.read_text())
    for limit in re.findall(r"^search.limit: (\d+)$", out, re.MULTILINE):
        assert config["search"]["limit"] == int(limit)
        site.reports += 1
    for sentence in re.findall(r"^me: (sentence .*)$", out, re.MULTILINE):
        assert config["vaults"]["me"]["contexts"][""] == sentence
        site.reports += 1


def whole(site: Site) -> None:
    """No note is torn, wherever it lies."""
    for path in (site.home.root / "vaults").rglob("*.md"):
        text = path.read_text()
        if text in site.written:
            continue
        front = frontmatter.read(text)
        assert front.problem is None, path
        if "sha256" not in front.fields:
            assert any(one in text for one in site.said | site.spoken), path
            continue
        assert site.texts[front.fields["sha256"]] in text[front.body :], path


def said_once(site: Site, wanted: set[str]) -> None:
    """Each of these sentences is remembered; none is there twice."""
    notes = [path.read_text() for path in site.me.rglob("*.md") if ".trash" not in path.parts]
    for sentence in site.said:
        times = sum(sentence in text for text in notes)
        assert times == 1 or (times == 0 and sentence not in wanted), sentence


def clean(site: Site) -> None:
    """After an index run `doctor` finds nothing to do, and what was reported is there."""
    djinn_does(site, "index")
    djinn_does(site, "doctor")
    said_once(site, site.acknowledged)


def complete(site: Site) -> None:
    """Every document has the file that it was made from; nothing is there twice."""
    hashes = []
    for note in site.notes:
        fields = frontmatter.read(note.read_text()).fields
        original = note.with_name(fields["original"][2:-2])
        assert hashlib.sha256(original.read_bytes()).hexdigest() == fields["sha256"], note
        hashes.append(fields["filename"])
    assert len(hashes) == len(set(hashes))
    beside = {one for one in (site.me / "documents").iterdir() if one.is_file()}
    assert len([one for one in beside if not one.name.startswith(".djinn-")]) == 2 * len(hashes)
