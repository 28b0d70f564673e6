"""Notes as resources, and the prompts."""

from __future__ import annotations

import pytest
from mcp import Client, MCPError

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.mcp import resources
from tests.mcp.clients import asked

NAMES = ["a b#c?.md", "日本/語.md", "100%/%41.md", "q&a;'\".md", "line\nbreak.md", "[x](y).md"]


def test_every_note_is_listed_and_read(pair: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "PAGE", 3)
    shared = pair.root / "vaults" / "shared"
    for name in (*NAMES, ".hidden.md", ".trash/gone.md"):
        (shared / name).parent.mkdir(exist_ok=True)
        (shared / name).write_bytes(f"# T {name}\r\n\xe9".encode("utf-8", "surrogateescape"))

    async def work(client: Client) -> dict[str, str]:
        found, cursor = {}, None
        while True:
            page = await client.list_resources(cursor=cursor)
            assert len(page.resources) <= 3
            for one in page.resources:
                assert one.uri.isascii() and " " not in one.uri
                [content] = (await client.read_resource(one.uri)).contents
                assert one.name not in found
                found[one.name] = str(getattr(content, "text", ""))
            cursor = page.next_cursor
            if not cursor:
                return found

    found = asked(pair, work)
    expected = {f"shared/{name}": f"# T {name}\n\xe9" for name in NAMES}
    assert {name: found[name] for name in expected} == expected
    assert set(found) == {*expected, "shared/harbour.md", "finn/keeper.md"}


@pytest.mark.parametrize(
    "uri",
    [
        "djinn://grace/hidden.md", "djinn://finn/../grace/hidden.md",
        "djinn://shared/%2e%2e/grace/hidden.md", "djinn://shared/.trash/gone.md",
        "djinn://shared/.hidden.md", "djinn://shared/nothing.md", "djinn://shared/",
        "djinn://shared", "djinn:shared/harbour.md", "file:///etc/passwd", "djinn:///etc/passwd",
        "djinn://shared/harbour.md/", "djinn://shared/Harbour light", "djinn://shared/%ff%fe.md",
        "djinn://shared/harbour.md%00", "",
    ],
)  # fmt: skip
def test_all_else_is_no_resource(pair: Home, uri: str) -> None:
    """What is hidden from the agent is told in the same words as what is not there."""
    shared = pair.root / "vaults" / "shared"
    (shared / ".trash").mkdir()
    for name in (".trash/gone.md", ".hidden.md"):
        (shared / name).write_text("# x")

    async def work(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert (
            str(caught.value) == f"no resource {uri!r}; call resources/list to list the resources"
        )

    asked(pair, work)


def test_a_wrong_cursor(pair: Home) -> None:
    async def work(client: Client) -> None:
        for cursor in ("x", "-1", "9" * 30):
            with pytest.raises(MCPError, match="unknown cursor"):
                await client.list_resources(cursor=cursor)
        assert not (await client.list_resources(cursor="100000")).resources

    asked(pair, work)


def test_sections_of_a_journal_are_resources(pair: Home) -> None:
    with Djinn(pair) as djinn:
        for text in ("The lamp is lit.", "The lamp is out."):
            djinn.episodes.record_observation(text=text, agent="finn")

    async def work(client: Client) -> None:
        listed = (await client.list_resources()).resources
        sections = [each for each in listed if "journal" in each.uri]
        assert len({each.uri for each in sections}) == len(sections) == 2
        for section in sections:
            [content] = (await client.read_resource(section.uri)).contents
            assert str(section.title) in str(getattr(content, "text", ""))

    asked(pair, work)


def test_the_template_fits(pair: Home) -> None:
    from mcp import UriTemplate

    async def work(client: Client) -> None:
        [one] = (await client.list_resource_templates()).resource_templates
        template = UriTemplate.parse(one.uri_template)
        for resource in (await client.list_resources()).resources:
            assert template.match(resource.uri), resource.uri

    asked(pair, work)


def test_prompts(pair: Home) -> None:
    (pair.root / "vaults" / "finn" / "plan.md").write_text(
        "---\ntype: commitment\n---\n# Oil the lamp\n\nBefore winter.\n"
    )

    async def work(client: Client) -> None:
        names = [one.name for one in (await client.list_prompts()).prompts]
        assert names == ["start_session", "end_session"]
        for name, arguments, said in (
            ("start_session", {}, "Oil the lamp"),
            ("start_session", {"task": "the lamp"}, "twice a minute"),
            ("end_session", None, "Call `sleep`"),
        ):
            [message] = (await client.get_prompt(name, arguments)).messages
            assert said in str(getattr(message.content, "text", ""))
        for name, arguments in (("nope", {}), ("end_session", {"agent": "grace"})):
            with pytest.raises(MCPError, match=r"no prompt|takes no"):
                await client.get_prompt(name, arguments)

    asked(pair, work)
