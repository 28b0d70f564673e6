from djinn_memory.notes.ids import ID, new_id


def test_ids_are_what_they_say() -> None:
    made = [new_id() for _ in range(2000)]
    assert len(set(made)) == 2000
    assert all(ID.fullmatch(one) for one in made)
    # Every digit comes in every place, so no bit is fixed.
    for place in range(4, 20):
        assert len({one[place] for one in made}) == 32


def test_what_is_no_id() -> None:
    for text in ("mem_", "mem_7k2m9q4dxw30hv5", "mem_7k2m9q4dxw30hv5t0", "mem_7k2m9q4dxw30hv5i",
                 "mem_7K2M9Q4DXW30HV5T", "mem_7k2m9q4dxw30hv5t\n", "7k2m9q4dxw30hv5t"):  # fmt: skip
        assert not ID.fullmatch(text)
