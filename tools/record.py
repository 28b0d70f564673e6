"""Records the demo as an animated SVG: docs/demo.svg, or the file that is named.

Each command of `tools/demo.py` is run in a terminal of its own and becomes a scene. It needs no
network, and a system with pseudo-terminals.

Run: `python tools/record.py`
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from demo import DJINN, ROOT, STEPS, prepare
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS, ROWS = 92, 24
CELL, LEADING, MARGIN, SIZE = 8.0, 18, 16, 13
"""Width and height of a character, the space around all of them, and the font, in pixels."""

TYPING = 0.03
"""Seconds to type a character."""
PAUSE = 0.5
"""Seconds between a command and what it prints."""
READING = 1.0
"""Seconds that a scene stands for each five lines."""

HIDDEN_CURSOR = "\x1b[?25l"
"""Stands in an output with a progress bar."""
PROGRESS = re.compile(r".*\u2501.*\x1b\[36m[-: \d]+\x1b\[0m")
"""A bar and the time that is left, drawn with heavy lines."""

FOREGROUND, BACKGROUND = "#d9d9d9", "#1b1b1b"

CONSOLE = Console(width=COLUMNS)


class Scene(NamedTuple):
    """A command and what it prints."""

    about: str
    typed: Sequence[Text]
    printed: Sequence[Text]

    @property
    def answered(self) -> float:
        """Seconds until the output appears."""
        return sum(map(len, self.typed)) * TYPING + PAUSE

    @property
    def seconds(self) -> float:
        """How long it stands."""
        return self.answered + 2.0 + READING * len(self.printed) / 5


def scenes(home: Path, user: Path) -> Iterator[Scene]:
    """Run the commands of the demo."""
    for step in STEPS:
        for command in step.commands:
            typed = list(Text(f"$ {command}", "bold").wrap(CONSOLE, COLUMNS))
            rows = [
                row
                for line in run(command, home, user).split("\n")
                for row in line.wrap(CONSOLE, COLUMNS)
            ]
            space = ROWS - len(typed) - 1
            if len(rows) > space:
                rows[space - 1 :] = [Text("...")]
            yield Scene(step.about, typed, rows)


def run(command: str, home: Path, user: Path) -> Text:
    """Run a command in a terminal; returns what stays on the screen, in its colours."""
    screen, side = pty.openpty()
    variables = {
        **{name: text for name, text in os.environ.items() if not name.startswith("DJINN_")},
        "DJINN_HOME": str(home), "DJINN_CONFIG_DIR": str(user), "COLUMNS": str(COLUMNS),
        "TERM": "xterm-256color",
    }  # fmt: skip
    process = subprocess.Popen(
        [DJINN, *shlex.split(command)[1:]], cwd=ROOT, env=variables, stdin=subprocess.DEVNULL,
        stdout=side, stderr=side,
    )  # fmt: skip
    os.close(side)
    output = b""
    while part := read(screen):
        output += part
    os.close(screen)
    text = output.decode().replace("\r\n", "\n")
    if process.wait():
        sys.exit(f"{command}: exit code {process.returncode}\n{text}")
    text = without_progress(text)
    # Links show the text alone.
    text = re.sub(r"\x1b\]8;.*?\x1b\\", "", text)
    return Text.from_ansi(text.replace(str(home), "~/djinn").rstrip())


def without_progress(text: str) -> str:
    """An output without the lines of progress bars, which remove themselves at the end."""
    if HIDDEN_CURSOR not in text:
        return text
    text = re.sub(r"\x1b\[(\?25[lh]|1A|2K)", "", text)
    lines = (PROGRESS.sub("", line) for line in re.split(r"[\r\n]+", text))
    return "\n".join(line for line in lines if line)


def read(screen: int) -> bytes:
    """What a terminal shows next; empty at its end."""
    try:
        return os.read(screen, 65_536)
    except OSError:  # Linux says so when the other side is closed.
        return b""


def fill(style: Style) -> str:
    """The attributes of a text in a style."""
    colour = style.color.get_truecolor(MONOKAI).hex if style.color else FOREGROUND
    attributes = f' fill="{colour}"' if colour != FOREGROUND else ""
    if style.bold:
        attributes += ' font-weight="bold"'
    return attributes + (' opacity=".6"' if style.dim else "")


def drawn(line: Text, row: int, attributes: str = "") -> str:
    """A line of the screen."""
    spans = "".join(
        f"<tspan{fill(segment.style or Style())}>{escape(segment.text, quote=False)}</tspan>"
        for segment in line.render(CONSOLE)
        if segment.text
    )
    return f'<text x="{MARGIN}" y="{MARGIN + LEADING * (row + 1)}"{attributes}>{spans}</text>'


def shown(name: str, start: float, stop: float, total: float) -> str:
    """The style of a class that is visible from `start` to `stop` seconds of each turn."""
    begin, end = 100 * start / total, 100 * stop / total
    steps = f"{begin:.2f}%{{opacity:1}}{end:.2f}%{{opacity:0}}"
    return (
        f"@keyframes {name}{{0%{{opacity:0}}{steps}100%{{opacity:0}}}}"
        f".{name}{{animation:{name} {total:.1f}s step-end infinite}}"
    )


def svg(recorded: Sequence[Scene]) -> str:
    """The scenes, one after the other, again and again."""
    total = sum(scene.seconds for scene in recorded)
    # Where nothing may move, the first search stands still.
    styles, drawings, clock = ["g{opacity:0}.s3,.s3 g{opacity:1}"], [], 0.0
    for number, scene in enumerate(recorded, 1):
        end = clock + scene.seconds
        styles.append(shown(f"s{number}", clock, end, total))
        parts = [drawn(Text(f"# {scene.about}", "cyan"), 0)]
        at = clock
        for row, line in enumerate(scene.typed, 1):
            name = f"s{number}t{row}"
            styles.append(shown(name, at, end, total))
            parts.append(f'<g class="{name}">{drawn(line, row)}</g>')
            at += len(line) * TYPING
        styles.append(shown(f"s{number}p", clock + scene.answered, end, total))
        rows = (drawn(line, row) for row, line in enumerate(scene.printed, len(scene.typed) + 1))
        parts.append(f'<g class="s{number}p">\n' + "\n".join(rows) + "\n</g>")
        drawings.append(f'<g class="s{number}">\n' + "\n".join(parts) + "\n</g>")
        clock = end
    width, height = COLUMNS * CELL + 2 * MARGIN, (ROWS + 1) * LEADING + MARGIN
    styles.append("@media(prefers-reduced-motion:reduce){g{animation:none!important}}")
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}">',
        "<title>djinn in a terminal</title>",
        "<style>text{white-space:pre;font-family:ui-monospace,Menlo,Consolas,monospace;"
        f"font-size:{SIZE}px;fill:{FOREGROUND}}}",
        *styles,
        "</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
        *drawings,
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    """Record the demo in a home of its own."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "demo.svg"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "djinn")
        prepare(home)
        target.write_text(svg(list(scenes(home, Path(folder, "user")))), encoding="utf-8")


if __name__ == "__main__":
    main()
