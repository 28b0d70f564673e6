"""SIGKILL at any moment: whole notes, nothing lost that was reported, and the next run goes on."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.system.locks import is_locked
from tests.indexing.vaults import fill
from tests.processes.commands import HANG, end, family, outlived, start, strays
from tests.processes.site import (
    KINDS,
    Kind,
    Site,
    clean,
    complete,
    delete,
    djinn_does,
    first_opening,
    hold,
    ingest,
    kept,
    promote,
    remember,
    remove,
    reprocess,
    revise,
    said_once,
    scary_here,
    watch,
    whole,
)
from tests.servers import ModelServer

pytestmark = pytest.mark.skipif(os.name != "posix", reason="has no SIGKILL")


@pytest.fixture
def site(home: Home, shared: Path, tmp_path: Path, server: ModelServer) -> Iterator[Site]:
    fill(shared, 50)
    home.edit((("search", "sweep_ms"), 5000))
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    made = Site(home, incoming, server, random.Random(11))
    made.written |= {path.read_text() for path in shared.iterdir()}
    (made.me / "documents").mkdir()
    Djinn(home).index()
    djinn_does(made, "ingest", made.file("paper-0.txt"))
    yield made


def shoot(site: Site, kind: Kind, typical: float) -> tuple[float, bool]:
    """Kill a command at some moment; how long it lived, and whether it was killed.

    It is run again then, or people go on with other things.
    """
    said = set(site.said)
    arguments = kind(site)
    before = site.events()
    process = start(site.home, *arguments)
    began = time.monotonic()
    wait = site.dice.uniform(0.05, typical)
    while process.poll() is None and time.monotonic() - began < wait:
        time.sleep(0.002)
    crew = family(process)
    hit = process.poll() is None
    if hit:
        end(process, group=site.dice.random() < 0.5)
    out, err = process.communicate(timeout=HANG)
    assert hit or process.returncode == 0, (arguments, process.returncode, err)
    assert not scary_here(err), (arguments, err)
    lived = time.monotonic() - began
    assert outlived(crew) == []
    assert [one for one in site.home.state.rglob("*.lock") if is_locked(one)] == []
    whole(site)
    kept(site, out, arguments)
    assert site.events()[: len(before)] == before
    if site.dice.random() < 0.7:
        # A watch would go on for ever: what it left is done by an index run.
        again = ("index",) if kind is watch else arguments
        kept(site, djinn_does(site, *again), again)
        if kind is first_opening:
            # A question alone reads some notes of many, and knows no documents yet.
            djinn_does(site, "index")
        site.acknowledged |= site.said - said
    else:
        site.save()
    complete(site)
    clean(site)
    whole(site)
    return lived, hit


def bombard(site: Site, shots: int, *, compare: int) -> None:
    """So many kills, of all kinds; every `compare`th the index is compared with a fresh one."""
    typical = dict.fromkeys(KINDS, 1.5)
    hits = rounds = 0
    while hits < shots:
        kind = KINDS[rounds % len(KINDS)] if rounds < len(KINDS) else site.dice.choice(KINDS)
        rounds += 1
        lived, hit = shoot(site, kind, typical[kind])
        hits += hit
        if not hit:
            typical[kind] = lived * 1.02
        if hit and hits % compare == 0 and site.hashing:
            djinn_does(site, "index")
            assert strays(site.home) == []
    print(f"{hits} kills in {rounds} commands, {site.reports} writes reported")
    assert site.reports >= shots * 0.3
    djinn_does(site, "index", "--model", "hashing")
    assert strays(site.home) == []
    for fields in site.fields:
        # What nobody ran again after its kill is ingested now.
        djinn_does(site, "ingest", site.incoming / fields["filename"])
    for fields in site.fields:
        source = site.incoming / fields["filename"]
        assert hashlib.sha256(source.read_bytes()).hexdigest() == fields["sha256"]


@pytest.mark.soak
def test_a_kill_of_each_kind(site: Site) -> None:
    bombard(site, len(KINDS), compare=8)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_fifty_kills_ten_times(site: Site, seed: int) -> None:
    site.dice.seed(seed)
    bombard(site, 50, compare=5)


POINTS = """
import os, signal, sys
left = int(sys.argv.pop(1))
events = {"open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.symlink"}
place = sys.argv[sys.argv.index("--home") + 1]

def count(event, arguments):
    global left
    if event in events and str(arguments[0]).startswith(place):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

from djinn_memory.cli.start import main
sys.addaudithook(count)
main()
"""
"""Kills itself before the n-th time that it touches a file of the home."""


def step_by_step(site: Site, kind: Kind, stride: int) -> None:
    """Kill a command before every `stride`th step that it takes on the disk."""
    for point in count(1, stride):
        arguments = kind(site)
        before = site.events()
        done = subprocess.run(
            [sys.executable, "-c", POINTS, str(point), "--home", str(site.home.root),
             *map(str, arguments)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in (0, -signal.SIGKILL), done
        assert not scary_here(done.stderr)
        whole(site)
        kept(site, done.stdout, arguments)
        assert site.events()[: len(before)] == before
        djinn_does(site, *arguments)
        whole(site)
        complete(site)
        said_once(site, site.said)
        if done.returncode == 0:
            break
    print(f"{point} steps")
    djinn_does(site, "index")
    assert strays(site.home) == []


@pytest.mark.soak
def test_a_kill_before_some_steps_on_the_disk(site: Site) -> None:
    for kind in (ingest, reprocess, delete, remove, remember, revise):
        step_by_step(site, kind, 29)


@pytest.mark.soak
@pytest.mark.parametrize(
    "kind", [ingest, reprocess, delete, remove, remember, revise, hold, promote]
)
def test_a_kill_before_each_step_on_the_disk(site: Site, kind: Kind) -> None:
    step_by_step(site, kind, 1)
