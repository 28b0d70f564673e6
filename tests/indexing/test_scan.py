from djinn_memory.indexing.scan import changes
from djinn_memory.notes.walk import FileStat, Listing
from djinn_memory.store.index.memories import Known


def known(*paths: str) -> dict[str, Known]:
    return {
        path: Known(number, FileStat(path, 1, 1, 1, 1), 10**18, b"", None)
        for number, path in enumerate(paths)
    }


def test_notes_of_a_folder_that_cannot_be_read_are_not_gone() -> None:
    before = known("a.md", "x/b.md", "xy.md", "x/in/c.md", "y/d.md")
    assert changes(before, Listing([], unseen=["x/"])).gone == ("a.md", "xy.md", "y/d.md")
    assert changes(before, Listing([], unseen=["x/", ""])).gone == ()
    assert changes(before, Listing([], complete=False)).gone == ()
    assert changes(before, Listing([])).gone == tuple(before)
