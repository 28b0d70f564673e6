from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from djinn_memory.notes import journal
from djinn_memory.notes.encoding import decode, writable
from djinn_memory.notes.note_file import NoteFile, parse_file

PATH = "journal/2026-11-20.laptop.md"
HEADER = journal.header("2026-11-20", "laptop")

marked = st.sampled_from([
    "\n", "\r\n", "\r", "# ", "## ", "## 09:30 x", "%%", "%% {} %%", "%% {\"a\": 1} %%", "^abc",
    "[[Note]]", "![[Note]]", "[a](b.md)", "#tag", "> ", "```", "~~~", "<!--", "-->", "$$", "---",
    "===", "|", "\\", " ", "\t", "\0", "\ud800", "\u2028", "\x85", "\x0c", "word", "Wort", "日本語",
])  # fmt: skip
spoken = st.lists(st.one_of(marked, st.text(max_size=8)), max_size=12).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | spoken,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(spoken, inner, max_size=3),
    max_leaves=6,
)
data = st.dictionaries(spoken, values, max_size=4)


def written(text: str) -> str:
    """A spoken text as a journal holds it."""
    return writable(text).replace("\r\n", "\n").replace("\r", "\n")


def read(data: bytes) -> NoteFile:
    return parse_file(PATH, data)


def speech(record: journal.JournalRecord) -> str:
    quoted = (record.text[start:stop] for start, stop in record.quoted)
    return "\n".join(line[1:].removeprefix(" ") for line in quoted)


def three(text: str = "Hello", title: str = "Greeted") -> str:
    """A journal of three records, the second of which holds a text."""
    parts = [
        journal.compose("09:30", "First", "one", "Before", {"type": "interaction"}),
        journal.compose("09:31", title, "two", text, {"type": "observation"}),
        journal.compose("09:32", "Last", "three", "After [[x]]", {"about": ["[[MyApp]]"]}),
    ]
    return HEADER + "".join(parts)


@given(spoken, spoken, data)
@example("", "", {})
@example("%% {} %%\n\n## 09:30 x\n\n> y\n\n^z\n\n%% {} %%\n", "%% {} %% ^x", {"%%%%": "%%%"})
def test_any_text_comes_back_and_nothing_in_it_is_structure(
    text: str, title: str, fields: dict[str, object]
) -> None:
    before = journal.compose("09:30", "First", "a", "Before", {})
    record = journal.compose("09:31", title, "b", text, {"type": "interaction", **fields})
    after = journal.compose("09:32", "Last", "c", "After", {})
    encoded = (HEADER + before + record + after).encode()
    decoded = decode(encoded)[0]
    content = journal.read(PATH, decoded)
    assert (content.torn, content.problem) == (None, None)
    assert [one.block for one in content.records] == ["a", "b", "c"]
    assert [speech(record) for record in content.records] == ["Before", written(text), "After"]
    assert decoded[slice(*content.records[1].span)] == record.strip("\n")
    assert set(content.records[1].data) == {writable(key) for key in ("type", *fields)}
    file = read(encoded)
    assert [memory.block for memory in file.memories] == ["a", "b", "c"]
    alone = read((HEADER + record).encode())
    assert alone.memories[0].parse().links == file.memories[1].parse().links


@given(spoken, spoken)
def test_links_and_tags_in_speech_and_titles_do_not_count(text: str, title: str) -> None:
    file = read(three(text, title).encode())
    note = file.memories[1].parse()
    assert (note.links, note.tags, note.blocks) == ((), (), ())
    assert (note.type, note.date) == ("observation", "2026-11-20")
    assert "%%" not in note.searched.replace(text, "") or "%%" in title + text
    [link] = file.memories[2].parse().links
    assert (link.target, link.field) == ("MyApp", "about")


def test_links_beside_the_speech_count() -> None:
    text = three().replace("^two", "It is about [[MyApp]] #release\n\n^two")
    note = read(text.encode()).memories[1].parse()
    assert [link.target for link in note.links] == ["MyApp"]
    assert note.tags == ("release",)
    assert note.searched[note.body :].strip() == "> Hello\n\nIt is about [[MyApp]] #release"


@given(spoken, spoken, st.data())
def test_a_journal_cut_anywhere_loses_its_last_record_only(
    text: str, title: str, choice: st.DataObject
) -> None:
    first = HEADER + journal.compose("09:30", "First", "one", "Before", {"type": "interaction"})
    record = journal.compose("09:31", title, "two", text, {"type": "observation"})
    start, encoded = len(first.encode()), (first + record).encode()
    whole = read(first.encode())
    cut = choice.draw(st.integers(start, len(encoded)))
    file = read(encoded[:cut])
    kept = [(memory.block, memory.digest) for memory in file.memories]
    if cut >= len(encoded) - 1:
        assert [block for block, _ in kept] == ["one", "two"]
        assert file.problem is None
    else:
        assert kept == [(memory.block, memory.digest) for memory in whole.memories]
        torn = bool(encoded[start:cut].strip())
        assert (file.problem is not None) == torn
        assert not torn or (file.problem or "").startswith("line 16: the last record")


def test_every_cut_of_the_first_append_is_recognised() -> None:
    text = HEADER + journal.compose("09:30", "First", "one", "Before", {})
    for cut in range(len(text) - 1):
        content = journal.read(PATH, text[:cut])
        assert content.records == ()
        assert (content.torn is None) == (text[:cut] in ("", HEADER, f"{HEADER}\n")), cut


def test_zeros_that_were_never_written_are_a_torn_record() -> None:
    text = HEADER + journal.compose("09:30", "First", "one", "Before", {})
    torn = text.encode() + "\n## 09:31 Zwölf\n\n> f\u00fc".encode()[:-1] + bytes(5000)
    file = read(torn)
    assert [memory.block for memory in file.memories] == ["one"]
    assert file.problem == "line 16: the last record is incomplete and was not read"


def test_what_a_person_writes_stays_text() -> None:
    own = "Rainy.\n\n## Thoughts\n\n> quoted by hand\n"
    for text in (three() + f"\n{own}", HEADER + f"\n{own}" + three().removeprefix(HEADER)):
        file = read(text.encode())
        assert file.problem is None
        assert len(file.memories) == 4 if "Rainy" in text.partition("## 09:30")[0] else 3
    other = read((HEADER + f"\n{own}" + three().removeprefix(HEADER)).encode()).memories[-1]
    note = other.parse()
    assert (other.block, note.title, note.type) == (None, "2026-11-20", "journal")
    assert note.searched[note.body :].split() == ["#", "2026-11-20", *own.split()]


def test_a_second_section_of_one_block_id_is_text() -> None:
    text = three() + journal.compose("10:00", "Copied", "TWO", "Again", {})
    file = read(text.encode())
    assert [memory.block for memory in file.memories] == ["one", "two", "three", None]
    assert "an earlier section also has the block id TWO" in (file.problem or "")
    assert "Again" in file.memories[3].parse().searched


def test_data_that_is_no_json_is_text() -> None:
    file = read(three().replace('{"type": "observation"}', "{type}").encode())
    assert [memory.block for memory in file.memories] == ["one", "three", None]
    assert "line 16: the data in %% is not a JSON object" in (file.problem or "")


def test_which_files_are_journals() -> None:
    named, typed = "journal/2026-11-20.laptop.md", "journal/monday.md"
    assert journal.is_journal(named, None)
    assert journal.is_journal(typed, "journal")
    for path in (typed, "journal/2026-11-20.md", "daily/2026-11-20.laptop.md", "journal.md"):
        assert not journal.is_journal(path, None)
    plain = parse_file("daily/2026-11-20.laptop.md", three().encode()).memories
    assert [memory.block for memory in plain] == [None]
    assert len(parse_file("journal/2026-11-20.md", three().encode()).memories) == 3
    assert [memory.block for memory in read(HEADER.encode()).memories] == [None]


def test_an_append_changes_no_hash_of_the_others() -> None:
    before = read(three().encode()).memories
    after = read((three() + journal.compose("10:00", "New", "n", "x", {})).encode()).memories
    assert [memory.digest for memory in after[:3]] == [memory.digest for memory in before]
    assert [(one.line, one.offset) for one in after[:3]] == [
        (one.line, one.offset) for one in before
    ]


def test_a_record_says_its_own_fields() -> None:
    fields = {
        "id": "mem_7k2m9q4dxw30hv5t", "type": "outcome", "created": "2026-11-20T09:31:07Z",
        "importance": 0.7, "done": True, "nothing": None, "tags": ["a", "b/c"],
        "of": {"tool": "grep"},
    }  # fmt: skip
    text = HEADER + journal.compose("09:31", "Tried [[it]]", "two", "It worked", fields)
    note = read(text.encode()).memories[0].parse()
    assert (note.id, note.type, note.title) == (fields["id"], "outcome", "Tried [[it]]")
    assert note.created == note.date == "2026-11-20T09:31:07Z"
    assert note.tags == ("a", "b/c")
    assert dict(note.fields)["importance"] == "0.7"
    assert dict(note.fields)["done"] == "true"
    assert dict(note.fields)["of.tool"] == "grep"
    assert "nothing" not in dict(note.fields)


@given(message=spoken, response=spoken)
def test_the_words_of_a_record_are_without_its_marks(message: str, response: str) -> None:
    message, response = written(message), written(response)
    text, data = f"{message}\n---\n{response}", {"response": message.count("\n") + 2}
    record = journal.compose("09:30", "Greeted", "a", text, data)
    [read] = journal.read(PATH, HEADER + record).records
    assert read.words.strip() == f"{message}\n\n{response}".strip()


def test_what_a_person_adds_to_a_record_is_among_its_words() -> None:
    record = journal.compose("09:30", "Greeted", "a", "Hello", {}).replace(
        "\n^a", "\n  Added.\n\n^a"
    )
    [read] = journal.read(PATH, HEADER + record).records
    assert read.words == "Hello\n\n  Added."


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("journal/a.md", "---\ntype: journal\n---\n# Day\n\nZebras\n\n## 10:30 The otter\n"),
        ("journal/b.md", "---\ntype: journal\n---\n## 10:30 Walked the otter\n"),
        (PATH, "Zebras\n\n## 11:00 Met the otter\n\n> said hello\n"),
        (PATH, "## 11:00 Met the otter\n"),
        ("journal/c.md", "---\ntype: journal\ntags: [x]\n---\nAn otter\n\n## 2024\n\n#"),
    ],
)  # fmt: skip
def test_a_note_of_a_person_is_read_whole(path: str, text: str) -> None:
    file = parse_file(path, text.encode())
    assert file.problem is None
    [memory] = file.memories
    assert memory.block is None
    assert "otter" in memory.parse().searched


def test_the_end_of_a_journal_without_the_header_is_text() -> None:
    record = journal.compose("09:30", "First", "one", "Before", {})
    front = "---\ntype: journal\n---\n"
    file = parse_file("journal/a.md", f"{front}{record}\n## 10:30 Walked the otter\n".encode())
    assert [memory.block for memory in file.memories] == ["one", None]
    assert file.memories[1].parse().searched.endswith("## 10:30 Walked the otter\n")
    assert (file.problem or "").endswith("the last record is incomplete and was not read")
