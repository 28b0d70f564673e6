"""Every kind of hostile thing that a vault may hold, and what djinn is to make of each."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

Make = Callable[[Path, float], None]


class Kind(Struct, frozen=True):
    """One kind: how it is made in a folder of a vault, and what is to be seen of it."""

    name: str
    make: Make
    """Gets the folder, and a size: 1 for the largest, less for a test that is to be short."""
    finds: tuple[str, ...] = ("needle",)
    """Words by each of which something of it is found; empty where there is no text."""
    warns: Mapping[str, str] = {}
    """What is told and why, each a part of one warning; nothing else is told."""
    powerless: bool = False
    """Whether it is only met by one who may not read everything, as root may."""


KINDS: list[Kind] = []


def _add(name: str, make: Make, finds: tuple[str, ...] = ("needle",), **warns: str) -> None:
    told = {what.replace("__", "."): why for what, why in warns.items()}
    KINDS.append(Kind(name, make, finds, told))


def _note(
    name: str, text: str | bytes, *finds: str, why: str | None = None, file: str = "x.md"
) -> None:
    data = text if isinstance(text, bytes) else text.encode()

    def make(folder: Path, size: float) -> None:
        (folder / file).write_bytes(data)

    KINDS.append(Kind(name, make, finds or ("needle",), {"x.md": why} if why else {}))


def _front(name: str, block: str | bytes, *finds: str, why: str | None = None) -> None:
    data = block if isinstance(block, bytes) else block.encode()
    _note(name, b"---\n" + data + b"\n---\nneedle\n", *finds, why=why)


def _large(
    name: str,
    unit: str,
    most: int,
    *finds: str,
    head: str = "needle ",
    tail: str = "",
    why: str | None = None,
) -> None:
    """A note of `most` units, less where the test is to be short."""

    def make(folder: Path, size: float) -> None:
        with (folder / "x.md").open("w", encoding="utf-8", newline="") as file:
            file.write(head + unit * int(most * size) + tail)

    KINDS.append(Kind(name, make, finds or ("needle",), {"x.md": why} if why else {}))


def _numbered(name: str, form: str, most: int, head: str = "needle\n") -> None:
    """A note of `most` units, each with its number."""

    def make(folder: Path, size: float) -> None:
        with (folder / "x.md").open("w", encoding="utf-8", newline="") as file:
            file.write(head)
            file.writelines(form.format(number) for number in range(int(most * size)))

    KINDS.append(Kind(name, make))


# --- front matter

_LAUGHS = "a0: &a0 [lol, lol]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)
_BROKEN = "invalid front matter"
_DATA = "characters of data or minified text are not embedded (keyword matches only)"

_front("billion laughs", _LAUGHS, why="expands to too many values")
_front("quadratic bomb", f"a: &a {'x' * 80_000}\nb: [{','.join(['*a'] * 20_000)}]", why=_BROKEN)
_front("alias of itself", "x: &x [*x]\ntitle: tide", "needle", "tide", why=_BROKEN)
_front("mapping of itself", "x: &x\n  y: *x\ntitle: tide", "needle", "tide", why=_BROKEN)
_front("alias of nothing", "x: *nobody\ntitle: tide", "needle", "tide", why="undefined alias")
_front("alias with a long name", "x: *" + "n" * 5000 + "\ntitle: tide", "tide", why="undefined")
_front("20,000 brackets, open", "x: " + "[" * 20_000, why=_BROKEN)
_front("20,000 brackets, closed", "x: " + "[" * 20_000 + "]" * 20_000, why="nested too deeply")
_front("20,000 braces", "{a: " * 20_000, why=_BROKEN)
_front("20,000 dashes", "- " * 20_000, why=_BROKEN)
_front("python object", "a: !!python/object/apply:os.system ['touch pwned']\ntitle: tide", "tide",
       why="the YAML tag !!python/object/apply:os.system, which is ignored")  # fmt: skip
_front("python name", "a: !!python/name:os.system\ntitle: tide", "tide", why="which is ignored")
_front("other tags", "a: !!binary x\nb: !!float x\nc: !mine x\nd: !!set {e}\ntitle: tide", "tide")
_front(
    "dates that are none",
    "created: 2026-02-30\nupdated: 0000-00-00\ndate: 2026-13-45T99:99:99Z",
    why="created: 2026-02-30 is not a date; updated: 0000-00-00 is not a date; date: 2026-13-45T99",
)
_front(
    "dates at the end of time",
    "created: 9999-12-31T23:59:59-23:59\ndate: 0001-01-01T00:00+14:00",
    why="is not a date",
)
_front("number of 6,000 digits", f"importance: {'9' * 6000}\nid: {'7' * 6000}\ntitle: tide", "tide")
_front("numbers that are none", "importance: .nan\nconfidence: -.inf\ndue: 1e999\nx: 0x\ny: 0o9")
_front("keys written twice", "title: ebb\ntitle: tide", "tide", why="has title more than once")
_front("keys that are no text", "1: a\ntrue: b\n~: c\n2026-01-01: d\ntitle: tide", "tide")
_front("keys that are lists", "? [a]\n: b\ntitle: tide", "tide", why="key")
_front(
    "keys that are long",
    f"{'k' * 2000}: v\n? {'l' * 2000}\n: w\ntitle: tide",
    "needle",
    why=_BROKEN,
)
_front("tabs", "a: 1\n\tb: 2\ntitle: tide", "tide", why=_BROKEN)
_front("block that never ends a quote", "title: 'tide\nx: y", why=_BROKEN)
_note(
    "block that is never closed",
    "---\ntitle: tide\nneedle\n",
    "tide",
    "needle",
    why="front matter is not closed",
)
_note("marks alone", "---\n---\n---\n---\nneedle")
_note("byte order mark", "\ufeff---\ntitle: tide\n---\nneedle", "tide", "needle")
_note("two byte order marks", "\ufeff\ufeff---\ntitle: tide\n---\nneedle", "tide", "needle")
_note("carriage returns", "---\r\ntitle: tide\r\n---\r\nneedle\r\n", "tide", "needle")
_note("old Mac line ends", "---\rtitle: tide\r---\rneedle\r", "tide", "needle")
_front("anchors and merge keys", "a: &a {x: 1}\nb:\n  <<: *a\ntitle: &t tide\nalias: *t", "tide")
_front("merge of itself", "a: &a\n  <<: *a\ntitle: tide", "tide", why=_BROKEN)
_front("block of 140 kB", "title: tide\ntext: |\n" + "  ebb flow\n" * 13_000, "tide")
_front("block of 400 kB", "text: |\n" + "  ebb flow\n" * 36_000, why="characters) and was not read")
_front("12,000 fields", "".join(f"k{n}: v\n" for n in range(12_000)), why="too many values")
_front("zero bytes in the block", b"title: ti\0de\nb: c", why="NUL")
_front(
    "controls in the block",
    "title: tide \x1b[31m\x07\ntags: ['\x1b]0;x\x07', \u202egnp]",
    why=_BROKEN,
)
_front("escaped controls", 'title: "tide \\e[2J\\u202e\\0"\naliases: ["\\e]0;x\\a"]', "tide")
_front("templates", "title: {{title}}\ndate: {{date:YYYY}}\ntags:\n- {{x}}")
_front(
    "lists in lists",
    "tags: [[[[[a]]]], {b: [c]}]\naliases: [[x, y], {z: w}]\ntitle: [[tide]]",
    "tide",
)
_front("YAML directive", "%YAML 9.9\n%TAG ! tag:x:\ntitle: tide", "needle", why=_BROKEN)
_front("two documents", "title: tide\n--- \nb: c", "tide")
_front("an id like SQL", 'id: "\'; drop table note; --"\ntype: "\' or 1=1 --"\ntitle: tide', "tide")
_front("a type of 140 kB", "type: " + "t" * 140_000 + "\ntitle: tide", "tide")
_front("a title of 140 kB", "title: tide " + "t" * 140_000, "tide")
_front("10,000 aliases", "aliases: [" + ",".join(f"alias{n}" for n in range(9_900)) + "]", "alias7")

# --- text

_note("zero bytes", b"nee\0dle tide\0\n\0needle", "needle", why="NUL")
_note("a tail of zeros", b"needle in the tide" + bytes(4096), "needle", why="NUL")
_note(
    "escape sequences", "needle \x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[0m \x9b5n \x1bP1;1|x\x1b\\"
)
_note("a title of escape sequences", "# needle \x1b]8;;http://x\x07link\x1b]8;;\x07 \x9b2J\n")
_note("bidirectional controls", "needle \u202etxt.exe\u202c \u2066x\u2069 \u200f\u200e\u061c")
_note("zero width", "tide\u200b\u200c\u200d\u2060 nee\u00addle needle\ufeff", "needle", "tide")
_note("all control characters", "".join(map(chr, range(1, 32))) + " needle " + "\x7f\x80\x85\x9f")
_note("line separators", "needle\u2028tide\u2029ebb\x0bflow\x0cslack\x85neap", "needle", "slack")
_note("lone surrogates", b"needle \xed\xa0\x80\xed\xb0\x80 tide", "needle", "tide", why="not UTF-8")
_note("overlong UTF-8", b"needle \xc0\xaf\xe0\x80\xaf tide", "needle", "tide", why="not UTF-8")
_note(
    "beyond Unicode", b"needle \xf4\x90\x80\x80\xf8\x88\x80\x80\x80 tide", "tide", why="not UTF-8"
)
_note("truncated UTF-8", "needle été".encode()[:-1], "needle", why="not UTF-8")
_note("Latin-1", "needle café".encode("latin-1"), "needle", "café", why="not UTF-8")
_note("UTF-16 with a mark", "# Tide\n\nneedle".encode("utf-16"), "tide", "needle")
_note("UTF-16 without a mark", "# Tide\n\nneedle".encode("utf-16-le"), "tide", why="UTF-16")
_note("UTF-16, odd", "needle é".encode("utf-16") + b"\x00", "needle", why="UTF-16")
_note("UTF-32", "# Tide\n\nneedle".encode("utf-32"), "tide", "needle")
_note("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 20, "x", why="binary")
_note("empty", "", "x")
_note("only spaces", " \t\r\n " * 1000, "x")
_note("only marks", "# \n## \n- \n> \n```\n", "x")
_note("an emoji flood", "needle " + "👨‍👩‍👧‍👦🏳️‍🌈" * 20_000)
_note("a flood of combining marks", "needle " + ("e" + "\u0301\u0489\u0303" * 30 + " ") * 2_000)
_note("a flag flood", "needle " + "\U0001f1e6" * 50_000)
_note("ideographs without end", "needle " + "記憶検索" * 20_000, "needle", "検索")
_note("Thai without end", "needle " + "ความจำ" * 15_000, "needle")
_note("private use and no characters", "needle \ue000\uf8ff\ufffe\uffff\U0010ffff")
_note(
    "base64",
    "needle\n![](data:image/png;base64," + "QUJDRA" * 100_000 + ")\ntide",
    "tide",
    why=_DATA,
)
_note("a fence that never ends", "needle\n```\n" + "code\n" * 20_000)
_note("a comment that never ends", "needle\n<!--\n" + "hidden\n" * 20_000)
_note("comments of comments", "needle " + "<!-- %% " * 20_000)
_note("quotes 100,000 deep", ">" * 100_000 + " needle")
_note("lists 100,000 deep", "- " * 100_000 + "needle")
_note("lists that step in", "\n".join(" " * n + "- needle" for n in range(700)))
_note("lists and quotes in turn", "> - " * 30_000 + "needle")
_note("tables without end", "| a | b |\n|---|---|\n" + "| needle | x |\n" * 20_000)
_note("a table of 100,000 columns", "|" + " a |" * 100_000 + "\n|" + "-|" * 100_000 + "\nneedle")
_note("HTML without end", "needle " + "<a " * 50_000 + "<div>\n" * 20_000)
_note("scripts", "<script>alert(1)</script>\n\nneedle <img src=x onerror=alert(1)>")
_note("maths without end", "needle " + "$a" * 50_000 + "$$" * 50_000)
_note("backticks", "needle " + "".join("`" * n + " " for n in range(600)))
_note("stars", "needle " + "*a **b _c " * 20_000)
_note("backslashes", "needle " + "\\" * 200_000)
_note("definitions", "needle\n" + "[a]: b.md 'x'\n" * 20_000)
_note("footnotes", "needle " + "[^1]" * 20_000 + "\n[^1]: x\n" * 5_000)
_note("terminal hyperlinks", "[needle](\x1b]8;;file:///etc/passwd\x1b\\)")
_note("SQL and FTS", 'needle\' OR 1=1; DROP TABLE note; -- NEAR("a" b) * ^ body:x')
_note("formats", "needle %s %n {0} {self.__class__} ${HOME} $(touch pwned) `id`")
_large("one line of 50 MB", "lorem ipsum dolor sit amet ", 1_850_000)
_large("one word of 10 MB", "a", 10_000_000, why=_DATA)
_large("one word of digits", "7", 10_000_000, why=_DATA)
_large("40 MB of spaces", " ", 40_000_000, head="", tail="needle")
_large("40 MB of newlines", "\n", 40_000_000, head="needle")
_large("40 MB of returns", "\r", 40_000_000, head="needle")
_large("zero widths", "\u200b", 5_000_000)
_large("one letter with 5 million accents", "\u0301", 5_000_000, head="needle e")
_large("open brackets", "[", 5_000_000)
_large("open links", "[[a|", 2_000_000)
_large("a heading of 20 MB", "tide ", 4_000_000, head="# needle ")
_numbered("a million links", "[[The tide at the harbour {}]]\n", 1_000_000)
_numbered("a million Markdown links", "[tide at the harbour {0}](n{0}.md) ", 1_000_000)
_numbered("a million headings", "# The tide at the harbour {}\n", 1_000_000)
_numbered("a million sections", "## The tide {0}\nhigh at the harbour {0}\n", 1_000_000)
_numbered("100,000 tags", "#tide-{} at the harbour ", 100_000)
_numbered("a million block ids", "the tide at the harbour ^b{}\n", 1_000_000)


def _sparse(folder: Path, size: float) -> None:
    with (folder / "x.md").open("wb") as file:
        file.truncate(2_000_000_000)


_add("a sparse file of 2 GB", _sparse, (), x__md="too large")

# --- names

_TEXT = "needle in a note"


def _file(name: str) -> Make:
    def make(folder: Path, size: float) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(_TEXT)

    return make


def _named(name: str, file: str) -> None:
    _add(name, _file(file))


_named("a name of 255 bytes", "n" * 252 + ".md")
_named("a name of 255 bytes in emoji", "🎉" * 63 + ".md")
_named("a newline in the name", "a\nb\r\nc.md")
_named("quotes in the name", "'\"`;$(touch pwned)&|<>.md")
_named("a name with a dash first", "-rf --help.md")
_named("a name like an option", "--json.md")
_named("escapes in the name", "\x1b[2J\x1b]0;x\x07tide.md")
_named("bidirectional controls in the name", "\u202etxt\u202c\u2066.md")
_named("a name that ends in spaces and dots", "a . . .md")
_named("spaces at both ends", " a /  b .md")
_named("percent signs", "%00%2e%2e%2f%s%n.md")
_named("a query and a fragment", "a?b#c&d=e.md")
_named("device names of Windows", "CON.md")
_named("devices and streams of Windows", "aux.txt:stream|x.md")
_named("a backslash", "a\\b\\..\\c.md")
_add("two dots", _file("..md.md"), ())
_add("dots around", _file("...a...md"), ())
_named("an upper-case suffix", "A.MD")
_named("a link as a name", "[[a]]|b#c^d.md")
_named("a glob as a name", "*[!a]?{b}.md")
_named("a tilde", "~root.md")
_named("a name of controls", "".join(map(chr, range(1, 32))) + "\x7f.md")
_named("zero width names", "\u200b\u2060.md")
_named("a name of combining marks", "e" + "\u0301" * 100 + ".md")
_named("a folder named like a note", "folder.md/inner.md")
_named("a folder with strange names", "\x1b[1m/\n/-x/' \"/a.md")
_named("200 folders deep", "d/" * 200 + "x.md")
_add("hidden", _file(".md"), ())
_add("hidden, in a hidden folder", _file(".obsidian/x.md"), ())
_add("a lock file", _file(".#x.md"), ())
_add("a name that is no UTF-8", _file("caf\udce9.md"), (), udce9="not valid UTF-8")


def _twins(*names: str) -> Make:
    def make(folder: Path, size: float) -> None:
        for name in names:
            (folder / name).write_text(f"{_TEXT} {name} [[{name}]]")

    return make


_add("twins by normal form", _twins("\u00e9.md", "e\u0301.md"))
_add("twins by case", _twins("tide.md", "TIDE.md", "Tide.MD"))
_add("twins by what case folding makes", _twins("strasse.md", "straße.md", "ﬀ.md", "ff.md", "İ.md"))

# --- files


def _special(kind: int) -> Make:
    def make(folder: Path, size: float) -> None:
        os.mknod(folder / "x.md", kind | 0o600, os.makedev(1, 5 if kind == stat.S_IFCHR else 0))

    return make


def _socket(folder: Path, size: float) -> None:
    # Its path may have 108 bytes, and that of a test's folder has more.
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as server:
        Path(short, "s").symlink_to(folder)
        server.bind(f"{short}/s/x.md")


def _can_make_devices() -> bool:
    """Whether this user may: not everybody who runs the tests is root."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            _special(stat.S_IFCHR)(Path(folder), 1)
        except OSError:
            return False
        return True


def _linked(**links: str) -> Make:
    """Symbolic links by name; `{out}` is a folder beside the vault's, with notes."""

    def make(folder: Path, size: float) -> None:
        out = folder.parent.parent.parent / "out"
        (out / "inner").mkdir(parents=True, exist_ok=True)
        (out / "secret.md").write_text("secret")
        (out / "inner" / "secret.md").write_text("secret")
        (folder / "a.md").write_text(_TEXT)
        for name, target in links.items():
            (folder / name.replace("__", ".")).symlink_to(target.format(out=out))

    return make


_add("a FIFO", lambda folder, _: os.mkfifo(folder / "x.md"), (), x__md="is a FIFO")
_add("a socket", _socket, (), x__md="is a socket")
if _can_make_devices():
    _add("a device", _special(stat.S_IFCHR), (), x__md="is a device")
    _add("a disk", _special(stat.S_IFBLK), (), x__md="is a device")
_add("a FIFO that is no note", lambda folder, _: os.mkfifo(folder / "x.txt"), ())
_add("a link to itself", _linked(x__md="x.md"), x__md="in a loop")
_add("two links to each other", _linked(x__md="y.md", y__md="x.md"), x__md="loop", y__md="loop")
_add("a link to its own folder", _linked(around="."))
_add("a symbolic link to a missing file", _linked(x__md="gone.md"), x__md="link to a missing file")
_add(
    "a symbolic link to a missing file outside",
    _linked(x__md="/nowhere/gone.md"),
    x__md="link to a missing file",
)
_add("a link out of the vault", _linked(x__md="{out}/secret.md"), x__md="leads out of the vault")
_add("a link to /etc/passwd", _linked(x__md="/etc/passwd"), x__md="leads out of the vault")
_add("a link to a device", _linked(x__md="/dev/zero"), x__md="leads out of the vault")
_add("a folder out of the vault", _linked(x="{out}"), x="djinn vault add")
_add("a link to the root", _linked(x="/"), x="djinn vault add")
_add("a link around in the vault", _linked(x__md="a.md"))
_add("a hidden link out of the vault", _linked(__x="{out}", __x__md="{out}/secret.md"))


def _many(folder: Path, size: float) -> None:
    for number in range(int(20_000 * size)):
        (folder / f"{number}.md").write_text(f"needle {number}")


def _hard_links(folder: Path, size: float) -> None:
    (folder / "a.md").write_text(_TEXT)
    for number in range(20):
        (folder / f"{number}.md").hardlink_to(folder / "a.md")


def _locked(folder: Path, size: float) -> None:
    (folder / "a.md").write_text(_TEXT)
    (folder / "x.md").write_text("locked")
    (folder / "x.md").chmod(0)


def _locked_folder(folder: Path, size: float) -> None:
    (folder / "a.md").write_text(_TEXT)
    (folder / "x").mkdir()
    (folder / "x" / "b.md").write_text("locked")
    (folder / "x").chmod(0)


def _old(moment: int) -> Make:
    def make(folder: Path, size: float) -> None:
        (folder / "a.md").write_text(_TEXT)
        os.utime(folder / "a.md", (moment, moment))

    return make


_add("20,000 files in a folder", _many)
_add("hard links", _hard_links)
KINDS += [
    Kind("a file that cannot be read", _locked, warns={"x.md": "Permission"}, powerless=True),
    Kind("a folder that cannot be read", _locked_folder, warns={"x": "Permission"}, powerless=True),
]
_add("a time before 1970", _old(-(2**31)))
_add("a time beyond all calendars", _old(2**33 + 2**31))

# --- links

_note("links out of the vault", "needle [[../../etc/passwd]] [[/etc/passwd]] [[../out/secret]]")
_note(
    "embeds out of the vault", "needle ![[../../../etc/passwd]] ![[/etc/passwd]] ![x](../../y.md)"
)
_note("escaped paths", "needle [a](%2e%2e%2f%2e%2e%2fetc%2fpasswd.md) [b](file:///etc/passwd.md)")
_note("link with zero bytes", "needle [[a%00b]] [x](a%00b.md) [[a\\0b]]")
_note(
    "a target of 100 kB", "needle [[" + "x/" * 50_000 + "]] [y](" + "z" * 50_000 + ".md)", why=_DATA
)
_note("targets with controls", "needle [[\x1b[2J\x07]] [[\u202ex|\u2066]] [\x1b](\x9b.md)")
_note("targets of dots", "needle [[.]] [[..]] [[...]] [[/]] [[//]] [[./../.]] [[#]] [[|]] [[^]]")
_note("addresses", "needle [x](javascript:alert(1).md) [[http://x/y.md]] [z](//host/share.md)")
_note("a link to itself in a name", "needle [[x]] ![[x]] [[x#needle]] [[x#^b|x]] ^b")
_note("brackets in brackets", "needle " + "[[[[a]]]] [[[b]](c.md)](d.md) " * 5_000)

# --- documents

_DOCUMENT = "---\ntype: document\nchunk_strategy: {}\nchunk_size: {}\nchunk_overlap: {}\n---\n"
_MARKS = "".join(f"*Page {n}* ^p{n}\nneedle {n}.\n" for n in (1, 2, 2, 1, 0, 9_999_999, 99_999_999))

_note("page marks in disorder", _DOCUMENT.format("page_based", 64, 0) + _MARKS)
_note(
    "pages of nothing", _DOCUMENT.format("page_based", 64, 0) + "*Page 1* ^p1\n" * 5_000 + "needle"
)
_note("a chunk size of 6,000 digits", _DOCUMENT.format("fixed", "9" * 6000, 0) + _MARKS)
_note("a chunk size below zero", _DOCUMENT.format("words", -5, -10) + _MARKS)
_note("a chunk size of no number", _DOCUMENT.format("semantic", "[a, {b: c}]", ".nan") + _MARKS)
_note("digits of other scripts", _DOCUMENT.format("recursive", "٣٣٣", "²") + _MARKS)
_note("a strategy that is none", _DOCUMENT.format("'; drop table'", 64, 64) + _MARKS)
_note("an overlap beyond the size", _DOCUMENT.format("words", 100, 5000) + _MARKS)
_note(
    "a document's fields as lists",
    "---\ntype: [document]\ntotal_pages: [x]\npages: {}\n---\n" + _MARKS,
)
_note("a document of one word", _DOCUMENT.format("words", 100, 50) + "x" * 200_000 + " needle")
