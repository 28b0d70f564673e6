"""What notes, front matter, queries and dates are made of: for strategies and the fuzzer."""

from __future__ import annotations

UUID = "64f0c2a8-1111-4222-8333-444455556666"

YAML = [
    "a: 1\n", "title: x\n", "tags: [a, b]\n", "- ", "? ", ": ", "&a ", "*a", "<<: *a\n",
    "!!python/name:os.system ",
    "!!binary ", "!!float ", "| \n", ">-\n", "  ", "\t", "\n", "\r\n", "\r", "#", "'", '"', "[",
    "]", "{", "}", ",",
    "{{x}}", "---\n", "...\n", "%YAML 1.1\n", "@", "`", "~", "null", "2026-02-30", "9" * 400,
    ".inf", "0x1f",
    "\u2028", "\x85", "\ufeff", "é", "id: mem_0123456789abcdef\n", "type: document\n",
    "chunk_strategy: words\n",
    "chunk_size: 64\n", "aliases:\n", "date: 2026-01-02\n", "a: b: c\n", "key with space: v\n",
    "a : b\n", "\x7f",
]  # fmt: skip

MARKDOWN = [
    "# ", "## h\n", "a\n===\n", "b\n---\n", "- ", "1. ", "> ", "\t", "    ", "\n", "\n\n", "\r",
    "`", "```", "~~~\n",
    "$", "$$", "%%", "<!--", "-->", "<div>", "</div>", "<pre>", "<a href='", "[[", "]]", "[[x]]",
    "![[x#y|z]]", "|",
    "\\", "[a](b.md)", "](", "(", ")", "[", "]", "<", ">", "#tag", "#a/b", "^block",
    "key:: value\n", "id:: ",
    f"(({UUID}))", "{{embed ", "{{query ", "}}", "#+BEGIN_QUERY", "#+END_QUERY", ":LOGBOOK:",
    ":END:", "[//begin]: # x\n",
    "[//end]: # x\n", "[x]: y.md\n", "dendron://v/n", "*Page 1* ^p1\n", "*Page 2* ^p2\n",
    "| a | b |\n|---|---|\n",
    "word. ", "word ", "日本語。", "ไทย", "e\u0301", "\u202e", "\u200b", "\x1b[31m", "\x00", "🎉",
    "x" * 150, "...",
    "../../etc/passwd", "/etc/passwd", "%00", "data:image/png;base64,QUJD",
]  # fmt: skip

QUERY = [
    '"', "-", "tag:", "type:", "path:", "TAG:#", "words:", " meaning: ", "\nwords: ", "a", "b ",
    " ", "\n", "\t", "\0",
    "*", "^", "(", ")", "+", "~", "'", "\\", "/", "#", "[", "]", "{", "}", "%", "_", "AND ", "OR ",
    "NOT ", "NEAR(",
    "body:", "日本", "é", "e\u0301", "\u0301", "\u202e", "\ud800", "🎉", "the ", "x" * 300, ",",
    "?", ";", "--",
]  # fmt: skip

DATES = [
    "2026", "-02-", "30", "-", "/", ".", "T", " ", "12:30", ":59", ".5", "Z", "+01:00", "-2359",
    "d", " weeks ago",
    "today", "yesterday", "9", "99999", "0000", "٣", "²", "months",
]  # fmt: skip

SEEDS: dict[str, list[str]] = {
    "front_matter": [
        "a---\ntitle: Old  # why\ntags: [a, b]\nlist:\n  - x\n  - y: z\n---\n# Body\n",
        "b---\r\na: &x [1, 2]\r\nb: *x\r\ntext: |\r\n  more\r\n...\r\nbody",
        "c---\n{a: {b: c}, d: 'e'}\n---\n",
        "d---\ntitle: a: b\ntags: [x\n? [k]\n: v\n---\ntext",
    ],
    "note": [
        "\x00---\ntitle: A\naliases: [b]\n---\n# A\n\ntext [[b#c|d]] and `[[code]]`.\n\n"
        "## B\n- one\n  - two #tag\n",
        "\x01# F\n\n[[a]]\n\n[//begin]: # \"x\"\n[a]: a.md \"A\"\n[//end]: # \"x\"\n",
        "\x02---\nid: x\ncreated: 1700000000000\n---\n[[shown|a.b.c#h:#i]] ![[x]]\n",
        f"\x03- alias:: a, b\n  id:: {UUID}\n- one [[two]] (({UUID}))\n"
        "\t- {{embed [[x]]}}\n\t\t- #+BEGIN_QUERY\n",
        "\x04[a](b.md#c) ![p](q.png)\n\n| a | b |\n|---|---|\n| 1 | $2$ |\n\n"
        "~~~\ncode\n~~~\n<div>\n\nx\n",
        "\x00---\ntype: document\nchunk_strategy: words\nchunk_size: 100\n---\n"
        "*Page 1* ^p1\nwords.\n*Page 2* ^p2\n",
    ],
    "query": [
        'how do "exact words" stand -draft tag:#a/b type:decision path:"my notes"',
        "boats words: hull keel meaning: a ship's bottom\nmeaning: x",
        '-"two words" -tag:x ""  the meaning: of',
    ],
    "dates": [
        "2026-03-04T10:00:59.5+01:00", "2 weeks ago", "2026/3/4", "2026-13", "MyApp: Tech Stack",
    ],
}  # fmt: skip

DICTIONARIES: dict[str, list[str]] = {
    "front_matter": YAML, "note": MARKDOWN + YAML, "query": QUERY, "dates": DATES
}  # fmt: skip
