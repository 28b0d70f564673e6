"""The MCP server: tools, resources and prompts over one `Djinn`."""

from __future__ import annotations

import gc
import sys
from asyncio import wrap_future
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from msgspec.structs import replace

from djinn_memory import __version__
from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, Refused
from djinn_memory.home.home import Home
from djinn_memory.mcp import resources
from djinn_memory.mcp.remedies import ToolWording
from djinn_memory.mcp.tool import Tool
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.operations import Verb
from djinn_memory.operations.caller import Caller, Calls
from djinn_memory.secrets import mask

T = TypeVar("T")
Work = Callable[[Djinn, Caller], T]
Ctx = Any
"""The SDK's context of a request. Its HTTP request and the client's introduction are used."""

MOST_NAME = 100
"""Maximum characters of the name of a client."""

MOST_CALLERS = 1000
"""Maximum number of clients that are remembered. The client that called least recently is forgotten
first; its next call belongs to no session until it calls `wake`."""

INSTRUCTIONS = """\
djinn is your long-term memory: Markdown notes that outlive this conversation, in your own vault \
and in the one shared with other agents and people. A person reads and corrects them.

Begin a session with `wake`. Before you work on something, `recall` what is known about it; \
`search` looks up a detail; `read` gives a whole note. When you learn something that will matter \
in another session - a decision and why, a lesson, a preference, a commitment - `remember` it at \
once, in words that make sense without this conversation. `rate` what you recalled, so that what \
helps comes first next time. End with `sleep`. Never store passwords or keys."""


def server(calls: Calls[Djinn], caller: Caller) -> Server[Any]:
    """The server of the memory of the caller's agent, for any transport.

    Over HTTP, the caller in the scope of each request takes its place.
    """
    handlers = _Handlers(calls, caller)
    return Server(
        "djinn",
        version=__version__,
        title="djinn memory",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


class _Handlers:
    """A method for each request of the protocol."""

    def __init__(self, calls: Calls[Djinn], served: Caller) -> None:
        self._calls = calls
        self._served = served
        self._callers: dict[tuple[str | None, ...], Caller] = {}
        self._tools = {tool.name: tool for tool in TOOLS}

    async def list_tools(self, ctx: Ctx, _: Any) -> types.ListToolsResult:
        caller = self._program(ctx)
        offered = [tool for tool in TOOLS if tool.allowed(caller)]
        return types.ListToolsResult(tools=[_described(tool, caller) for tool in offered])

    async def call_tool(
        self, ctx: Ctx, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = params.arguments or {}
        tool = self._tools.get(params.name)
        words = ToolWording(tool, TOOLS, self._program(ctx))

        def work(djinn: Djinn, caller: Caller) -> types.CallToolResult:
            if tool is None:
                raise Refused(f"no tool {params.name[:100]!r}; known: {', '.join(self._tools)}")
            return _answer(tool, djinn, caller, arguments)

        try:
            reads = tool is not None and tool.reads
            return await self._submit(ctx, params.name, arguments, work, words, reads=reads)
        except DjinnError as error:
            text = _plain(words.error(error))
            if tool is None:
                raise MCPError(types.INVALID_PARAMS, text) from None
            content = types.TextContent(type="text", text=text)
            return types.CallToolResult(content=[content], is_error=True)

    async def list_resources(
        self, ctx: Ctx, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        work = partial(resources.page, cursor=cursor)
        listed, next_cursor = await self._run(ctx, "resources/list", {"cursor": cursor}, work)
        return types.ListResourcesResult(resources=listed, next_cursor=next_cursor)

    async def list_templates(self, _: Ctx, __: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[resources.TEMPLATE])

    async def read_resource(
        self, ctx: Ctx, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = params.uri
        work = partial(resources.read, address=uri)
        text = _plain(await self._run(ctx, "resources/read", {"uri": uri}, work))
        content = types.TextResourceContents(uri=uri, mime_type=resources.MARKDOWN, text=text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, _: Ctx, __: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(resources.PROMPTS))

    async def get_prompt(self, ctx: Ctx, params: types.GetPromptRequestParams) -> Any:
        name, arguments = params.name, dict(params.arguments or {})
        logged = {"name": name, **arguments}
        work = partial(resources.prompt_text, name=name, arguments=arguments)
        text = await self._run(ctx, "prompts/get", logged, work)
        content = types.TextContent(type="text", text=_plain(text))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def _run(self, ctx: Ctx, method: str, arguments: dict[str, Any], work: Work[T]) -> T:
        """Run a request that is not a tool call, with the protocol's own errors."""
        words = ToolWording(None, TOOLS, self._program(ctx))
        try:
            return await self._submit(ctx, method, arguments, work, words, reads=True)
        except DjinnError as error:
            raise MCPError(types.INVALID_PARAMS, _plain(words.error(error))) from None

    async def _submit(
        self,
        ctx: Ctx,
        name: str,
        arguments: dict[str, Any],
        work: Work[T],
        words: ToolWording,
        *,
        reads: bool,
    ) -> T:
        caller = self._caller(ctx)
        return await wrap_future(
            self._calls.submit(caller, name, arguments, work, words, reads=reads)
        )

    def _program(self, ctx: Ctx) -> Caller:
        """Who sends a request. A model has no more rights than an agent, whatever its key allows.

        With several agents, the address names the one to use: `/mcp?agent=finn`.
        """
        if ctx.request is None:
            return self._served
        caller: Caller = ctx.request.scope["caller"]
        agent = ctx.request.query_params.get("agent", caller.agent)
        return replace(caller, agent=agent, rights="agent")

    def _caller(self, ctx: Ctx) -> Caller:
        """The client of a request. Clients of an HTTP server have a session each."""
        served = self._program(ctx)
        key: str | None = ctx.request.headers.get("mcp-session-id") if ctx.request else None
        given = ctx.session.client_params
        name = "".join(filter(str.isprintable, given.client_info.name)) if given else ""
        name = mask(" ".join(name.split()))[:MOST_NAME]
        identity = served.client, served.agent, key, name
        caller = self._callers.pop(identity, None)
        caller = caller or replace(served, client=name or served.client)
        # The dictionary is in the order of the last calls.
        self._callers[identity] = caller
        if len(self._callers) > MOST_CALLERS:
            del self._callers[next(iter(self._callers))]
        return caller


def _answer(
    tool: Tool, djinn: Djinn, caller: Caller, arguments: dict[str, Any]
) -> types.CallToolResult:
    answer = tool.run(djinn, caller, tool.parse(arguments))
    content = types.TextContent(type="text", text=_plain(tool.render(answer)))
    data = _plain(msgspec.to_builtins(answer, enc_hook=str))
    return types.CallToolResult(content=[content], structured_content=data)


def _described(tool: Tool, caller: Caller) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema(caller),
        annotations=_annotations(tool.by_action.values(), caller),
    )


def _annotations(verbs: Collection[Verb], caller: Caller) -> types.ToolAnnotations | None:
    """What a client may rely on. Where nothing is said, a tool may change and destroy."""
    # A use that is recorded affects ranking.
    if caller.read_only or not any(verb.writes or verb.logs for verb in verbs):
        return types.ToolAnnotations(read_only_hint=True)
    if any(verb.removes for verb in verbs):
        return None
    return types.ToolAnnotations(destructive_hint=False)


def _plain(value: Any) -> Any:
    """The value with unpaired surrogates replaced, because no transport can encode them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value


def calls_on(home: Home, caller: Caller) -> Calls[Djinn]:
    """The queue of calls on a home. It begins to load the data that the first question needs."""
    calls = Calls(home, partial(Djinn, resident=True, read_only=caller.read_only), log)
    calls.begin(caller, _warm, ToolWording(None, TOOLS, caller))
    return calls


def log(text: str) -> None:
    """Write a line to the server's log on stderr, because stdout carries the protocol."""
    print(text, file=sys.stderr, flush=True)


def _warm(djinn: Djinn, caller: Caller) -> None:
    djinn.search("warm up", agent=caller.agent, limit=1)
    # The objects loaded by now stay. Looking for garbage among them takes a tenth of a second.
    gc.collect()
    gc.freeze()


def serve_stdio(home: Home, caller: Caller) -> None:
    """Serve until the client closes stdin or exits."""
    calls = calls_on(home, caller)

    async def run() -> None:
        memory = server(calls, caller)
        # From here on stdout is the protocol's. Anything else written to it goes to stderr.
        async with stdio_server() as (reader, writer):
            await memory.run(reader, writer, memory.create_initialization_options())

    try:
        anyio.run(run)
    except* BrokenPipeError:
        # Nobody reads the answer any more. The running call still ends properly.
        pass
    finally:
        calls.close()
