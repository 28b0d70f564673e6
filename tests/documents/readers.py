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

from djinn_memory.documents.document import Document, Locked, ReadRequest, Tell, Unreadable

CHILD_BOMB = """
import time
held = []
while True:
    held.append(bytes([1]) * 10_000_000)
    time.sleep(0.02)
"""


def read(order: ReadRequest, tell: Tell) -> Document:
    word, _, rest = order.path.read_text().partition(" ")
    return TRICKS[word](order, tell, rest)


def document(*pages: str) -> Document:
    return Document("text/plain", pages, title=f"by {os.getpid()}")


def good(order: ReadRequest, tell: Tell, rest: str) -> Document:
    for page in range(3):
        tell(page + 1, 3)
    return document(rest)


def asked(order: ReadRequest, tell: Tell, rest: str) -> Document:
    return document(str(order.path), order.name, order.password or "", str(order.ocr))


def slow(order: ReadRequest, tell: Tell, rest: str) -> Document:
    time.sleep(float(rest))
    return document(rest)


def hang(order: ReadRequest, tell: Tell, rest: str) -> Document:
    while True:
        time.sleep(0.01)


def hang_in_c(order: ReadRequest, tell: Tell, rest: str) -> Document:
    """Backtrack for longer than the sun will shine, with the interpreter's lock held."""
    re.match(r"(a*)*b", "a" * 100)
    return document(rest)


def hang_with_child(order: ReadRequest, tell: Tell, rest: str) -> Document:
    Path(rest).with_suffix(".part").write_text(
        str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
    )
    Path(rest).with_suffix(".part").rename(rest)
    return hang(order, tell, rest)


def bomb(order: ReadRequest, tell: Tell, rest: str) -> Document:
    held = []
    while True:
        held.append(b"x" * 1_000_000)


def bomb_at_once(order: ReadRequest, tell: Tell, rest: str) -> Document:
    return document(str(len(bytearray(10**12))))


def bomb_in_child(order: ReadRequest, tell: Tell, rest: str) -> Document:
    subprocess.run([sys.executable, "-c", CHILD_BOMB], check=False)
    return document(rest)


def hoard(order: ReadRequest, tell: Tell, rest: str) -> Document:
    """Keep memory that should have been given back, as a library's cache does."""
    HOARD.append(b"x" * int(rest))
    return document("kept")


HOARD: list[bytes] = []


def leave(order: ReadRequest, tell: Tell, rest: str) -> Document:
    os._exit(int(rest))


def leave_a_child(order: ReadRequest, tell: Tell, rest: str) -> Document:
    """End, while a copy of this process keeps its end of the pipe open."""
    if os.fork() == 0:
        time.sleep(600)
    os._exit(4)


def segfault(order: ReadRequest, tell: Tell, rest: str) -> Document:
    ctypes.string_at(0)
    return document(rest)


def die(order: ReadRequest, tell: Tell, rest: str) -> Document:
    os.kill(os.getpid(), getattr(signal, rest))
    time.sleep(60)
    return document(rest)


def fail(order: ReadRequest, tell: Tell, rest: str) -> Document:
    raise ValueError("no \x1b[31mtable\nand a second line")


def fail_silently(order: ReadRequest, tell: Tell, rest: str) -> Document:
    raise ValueError


def quit_python(order: ReadRequest, tell: Tell, rest: str) -> Document:
    sys.exit(3)


def locked(order: ReadRequest, tell: Tell, rest: str) -> Document:
    raise Locked("wants a password; give it with --password")


def unreadable(order: ReadRequest, tell: Tell, rest: str) -> Document:
    raise Unreadable("is no PDF; convert it first")


def nothing(order: ReadRequest, tell: Tell, rest: str) -> Document:
    return None  # type: ignore[return-value]


def pipes() -> list[int]:
    """The ends of pipes that this process has: the standard ones lead nowhere."""
    found = []
    for descriptor in range(64):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                found.append(descriptor)
        except OSError:
            continue
    return found


def say(line: bytes) -> None:
    for descriptor in pipes():
        try:
            os.write(descriptor, line)
        except OSError:
            continue


def garble(order: ReadRequest, tell: Tell, rest: str) -> Document:
    say(b"\x80\x04\x95garbage\n")
    time.sleep(60)
    return document(rest)


def lie(order: ReadRequest, tell: Tell, rest: str) -> Document:
    say(b'{"type":"gave","document":{"content_type":1,"pages":"none"}}\n')
    time.sleep(60)
    return document(rest)


def start_again(order: ReadRequest, tell: Tell, rest: str) -> Document:
    say(b'{"type":"broken","why":"so there"}\n')
    time.sleep(60)
    return document(rest)


def flood(order: ReadRequest, tell: Tell, rest: str) -> Document:
    while True:
        say(b"x" * 1_000_000)


def fall_silent(order: ReadRequest, tell: Tell, rest: str) -> Document:
    os.closerange(3, 64)
    time.sleep(60)
    return document(rest)


def huge(order: ReadRequest, tell: Tell, rest: str) -> Document:
    return document(*["é word " * 100_000] * int(rest))


def surrogates(order: ReadRequest, tell: Tell, rest: str) -> Document:
    return document("a\udc80b", "\ud83d\ude00")


def many_pages(order: ReadRequest, tell: Tell, rest: str) -> Document:
    for page in range(200_000):
        tell(page, 200_000)
    return document(rest)


def limits(order: ReadRequest, tell: Tell, rest: str) -> Document:
    import resource

    kinds = (resource.RLIMIT_CPU, resource.RLIMIT_CORE, resource.RLIMIT_AS)
    return document(*(str(resource.getrlimit(kind)[0]) for kind in kinds))


def noise(order: ReadRequest, tell: Tell, rest: str) -> Document:
    print("printed", flush=True)
    print("printed", file=sys.stderr, flush=True)
    os.write(1, b"written\n")
    os.write(2, b"written\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    return document(str(sys.stdin.read()) if sys.stdin else "")


Trick = Callable[[ReadRequest, Tell, str], Document]
TRICKS: dict[str, Trick] = {
    name: trick for name, trick in globals().items() if callable(trick) and name.islower()
}
