"""The pages of a server of 5,000 notes: the time until each is answered, and its size.

Run: `python benchmarks/pages.py`
"""

from __future__ import annotations

import gzip
import http.client
import re
import signal
import statistics
import subprocess
import time
from importlib.resources import files
from pathlib import Path

from common import PROGRAM, compile_all, home_with, machine, need_data, table
from server import NOTES, memories, queries

from djinn_memory.djinn import Djinn

RUNS = 60

SAMPLE = Path(__file__).resolve().parent.parent / "docs" / "samples" / "tide-gauge-manual.pdf"


def more(folder: Path) -> None:
    """100 entities with aliases, and 100 facts."""
    for number in range(100):
        front = (
            f"type: person\naliases: [P{number}]\nconfidence: 0.9\nknows: '[[Person {number + 1}]]'"
        )
        write(folder / f"people/person-{number}.md", front, f"# Person {number}\n\nA sailor.\n")
        front = f"type: fact\ncategory: boat{number % 10}\nkey: k{number}\nvalue: v{number}"
        write(folder / f"facts/fact-{number}.md", front, f"boat{number % 10}/k{number}: v\n")


def write(note: Path, front: str, text: str) -> None:
    """Write a note with front matter."""
    note.parent.mkdir(exist_ok=True)
    note.write_text(f"---\n{front}\n---\n{text}")


class Browser:
    """A browser that is logged in and keeps its connection."""

    def __init__(self, address: str, key: str) -> None:
        self._connection = http.client.HTTPConnection(address)
        form = {
            "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin",
        }  # fmt: skip
        self._connection.request("POST", "/login", f"key={key}", form)
        answer = self._connection.getresponse()
        answer.read()
        cookie = str(answer.getheader("Set-Cookie")).partition(";")[0]
        self._headers = {"Cookie": cookie, "Accept-Encoding": "gzip", "Accept": "text/html"}

    def get(self, path: str) -> tuple[float, bytes]:
        """The milliseconds until a page was answered, and its bytes, gzipped."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status}")
        return (time.perf_counter() - began) * 1000, body


def main() -> None:
    """Print the table."""
    print(f"## Pages\n\n`python benchmarks/pages.py` on {machine()}\n")
    compile_all()
    data = need_data()
    static = files("djinn_memory.web") / "static"
    shared = sum(
        len(gzip.compress((static / name).read_bytes())) for name in ("style.css", "pages.js")
    )
    rows = []
    with home_with() as home:
        folder = home.personal("me").root
        memories(data, folder)
        more(folder)
        with Djinn(home) as djinn:
            djinn.index()
            djinn.documents.ingest([SAMPLE])
            for number in range(200):
                djinn.episodes.record_interaction(
                    f"What of part {number}?", "It is done.", session=f"day-{number // 4}"
                )
            key = djinn.keys.add("pages", scope="administer").secret
        process = subprocess.Popen(
            [*PROGRAM, "--home", str(home.root), "serve", "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr
        address = re.search(r"http://(\S+)/", process.stderr.readline())
        assert address
        browser = Browser(address[1], key)
        asked = ["+".join(query.split()[:6]) for query in queries(data)[:20]]
        notes = [f"/note/me/{number // 100:02}/{number}.md" for number in range(20)]
        pages = {
            "start": ["/"],
            "search, each question again": [f"/search?query={query}" for query in asked],
            "note": notes,
            "more about a note": [f"/more{note}" for note in notes],
            "edit": [f"/edit{note}" for note in notes],
        }
        start = browser.get("/")[1]
        menu = re.search(rb'<nav aria-label="Pages">.*?</nav>', gzip.decompress(start), re.DOTALL)
        for path in re.findall(r'href="(/\w+)"', menu[0].decode() if menu else ""):
            pages[path[1:]] = [path]
            page = gzip.decompress(browser.get(path)[1]).decode()
            inner = [
                link for link in re.findall(r'<a href="(/[^"?#]+)"', page)
                if link.startswith((f"{path}/", f"{path.rstrip('s')}/", "/entity/", "/fact/"))
            ]  # fmt: skip
            if inner and path != "/docs":
                pages[f"{path[1:]}, one of them"] = inner[:20]
        del pages["docs"]
        for name, paths in pages.items():
            for path in paths:
                browser.get(path)
            answers = [browser.get(paths[run % len(paths)]) for run in range(RUNS)]
            times = sorted(milliseconds for milliseconds, _ in answers)
            size = max(len(body) for _, body in answers)
            rows.append([
                name, f"{statistics.median(times):.0f} ms",
                f"{times[int(RUNS * 0.95)]:.0f} ms", f"{(size + shared) / 1000:.0f} kB",
            ])  # fmt: skip
        process.send_signal(signal.SIGTERM)
        process.wait()
    print(f"{NOTES:,} notes. Bars: 50 ms, 120 ms, 150 kB at the first visit.\n")
    table(["page", "median", "95th percentile", "first visit, gzipped"], rows)


if __name__ == "__main__":
    main()
