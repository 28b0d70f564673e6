"""Readers that fail in the ways that files make readers fail: the first word of a file chooses."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from djinn_memory.documents.document import (
    Document,
    Locked,
    ReadRequest,
    ReportPages,
    Unreadable,
)
from djinn_memory.errors import Remedy

CHILD_BOMB = """
import time
held = []
while True:
    held.append(bytes([1]) * 10_000_000)
    time.sleep(0.02)
"""


def read(request: ReadRequest, report: ReportPages) -> Document:
    word, _, rest = request.path.read_text().partition(" ")
    return TRICKS[word](request, report, rest)


def document(*pages: str) -> Document:
    return Document(pages, title=f"by {os.getpid()}")


def good(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    for page in range(3):
        report(page + 1, 3)
    return document(rest)


def echo(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    return document(str(request.path), request.name, request.password or "", str(request.ocr))


def slow(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    time.sleep(float(rest))
    return document(rest)


def hang(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    while True:
        time.sleep(0.01)


def hang_in_c(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    """Backtrack for longer than the sun will shine, with the interpreter's lock held."""
    re.match(r"(a*)*b", "a" * 100)
    return document(rest)


def hang_with_child(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    Path(rest).with_suffix(".part").write_text(
        str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
    )
    Path(rest).with_suffix(".part").rename(rest)
    return hang(request, report, rest)


def bomb(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    held = []
    while True:
        held.append(b"x" * 1_000_000)


def bomb_at_once(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    return document(str(len(bytearray(10**12))))


def bomb_in_child(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    subprocess.run([sys.executable, "-c", CHILD_BOMB], check=False)
    return document(rest)


def hoard(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    """Keep memory that should have been given back, as a library's cache does."""
    HOARD.append(b"x" * int(rest))
    return document("kept")


HOARD: list[bytes] = []


def leave(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    os._exit(int(rest))


def leave_a_child(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    """End, while a copy of this process keeps its end of the pipe open."""
    if os.fork() == 0:
        time.sleep(600)
    os._exit(4)


def segfault(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    ctypes.string_at(0)
    return document(rest)


def die(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    os.kill(os.getpid(), getattr(signal, rest))
    time.sleep(60)
    return document(rest)


def fail(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    raise ValueError("no \x1b[31mtable\nand a second line")


def fail_silently(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    raise ValueError


def quit_python(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    sys.exit(3)


def locked(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    raise Locked("wants a password", Remedy(arguments={"password": None}))


def unreadable(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    raise Unreadable("is no PDF; convert it first")


def nothing(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    return None  # type: ignore[return-value]


def pipes() -> list[int]:
    """The ends of pipes that this process has: the standard ones lead nowhere."""
    descriptors = []
    for descriptor in range(64):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                descriptors.append(descriptor)
        except OSError:
            continue
    return descriptors


def say(line: bytes) -> None:
    for descriptor in pipes():
        try:
            os.write(descriptor, line)
        except OSError:
            continue


def garble(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    say(b"\x80\x04\x95garbage\n")
    time.sleep(60)
    return document(rest)


def lie(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    say(b'{"type":"gave","document":{"content_type":1,"pages":"none"}}\n')
    time.sleep(60)
    return document(rest)


def start_again(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    say(b'{"type":"broken","why":"so there"}\n')
    time.sleep(60)
    return document(rest)


def flood(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    while True:
        say(b"x" * 1_000_000)


def fall_silent(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    os.closerange(3, 64)
    time.sleep(60)
    return document(rest)


def huge(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    return document(*["é word " * 100_000] * int(rest))


def surrogates(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    return document("a\udc80b", "\ud83d\ude00")


def many_pages(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    for page in range(200_000):
        report(page, 200_000)
    return document(rest)


def limits(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    import resource

    kinds = (resource.RLIMIT_CPU, resource.RLIMIT_CORE, resource.RLIMIT_AS)
    return document(*(str(resource.getrlimit(kind)[0]) for kind in kinds))


def noise(request: ReadRequest, report: ReportPages, rest: str) -> Document:
    print("printed", flush=True)
    print("printed", file=sys.stderr, flush=True)
    os.write(1, b"written\n")
    os.write(2, b"written\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    return document(str(sys.stdin.read()) if sys.stdin else "")


Trick = Callable[[ReadRequest, ReportPages, str], Document]
TRICKS: dict[str, Trick] = {
    name: trick for name, trick in globals().items() if callable(trick) and name.islower()
}
