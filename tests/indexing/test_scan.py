import pytest

from djinn_memory.indexing.scan import RACY_NS, changes, seen_again
from djinn_memory.notes.vault import FileStat, VaultListing
from djinn_memory.store.index.memories import IndexedFile


def known(*paths: str) -> dict[str, IndexedFile]:
    return {
        path: IndexedFile(number, FileStat(path, 1, 1, 1, 1), 10**18, b"", None, None)
        for number, path in enumerate(paths)
    }


def test_notes_of_a_folder_that_cannot_be_read_are_not_gone() -> None:
    before = known("a.md", "x/b.md", "xy.md", "x/in/c.md", "y/d.md")
    assert changes(before, VaultListing([], unseen=["x/"])).gone == ("a.md", "xy.md", "y/d.md")
    assert changes(before, VaultListing([], unseen=["x/", ""])).gone == ()
    assert changes(before, VaultListing([], complete=False)).gone == ()
    assert changes(before, VaultListing([])).gone == tuple(before)


NOW = 10**18


@pytest.mark.parametrize("written", [NOW, NOW + 10**14, 2**63 - 1], ids=["now", "ahead", "never"])
@pytest.mark.parametrize("later", [RACY_NS + 1, -(10**13)], ids=["later", "set back"])
def test_a_second_look_proves_that_a_file_is_the_same(written: int, later: int) -> None:
    """However its times, or the clock between the looks, are wrong."""
    file = FileStat("a.md", 1, written, 1, 1)
    before = IndexedFile(1, file, NOW, b"", None, None)
    assert changes({"a.md": before}, VaultListing([file])).racy == (file,)
    soon = IndexedFile(1, file, seen_again(before, file, NOW + RACY_NS), b"", None, None)
    assert changes({"a.md": soon}, VaultListing([file])).racy == (file,)
    after = IndexedFile(1, file, seen_again(soon, file, NOW + later), b"", None, None)
    assert 0 < after.seen_ns < 2**63
    assert changes({"a.md": after}, VaultListing([file])) == changes({}, VaultListing([]))
