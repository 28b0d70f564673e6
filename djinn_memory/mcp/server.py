"""The MCP server: tools, resources and prompts over one `Djinn`."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from djinn_memory import __version__
from djinn_memory.errors import DjinnError, Refused, speaking
from djinn_memory.mcp import prompts, resources
from djinn_memory.mcp.calls import Calls
from djinn_memory.mcp.context import Caller, ClientContext
from djinn_memory.mcp.remedies import ToolWording
from djinn_memory.mcp.tool import Tool
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.secrets import mask

T = TypeVar("T")
Ctx = Any
"""The SDK's context of a request. Its HTTP request and the client's introduction are used."""

MOST_NAME = 100
"""Maximum characters of the name of a client."""

INSTRUCTIONS = """\
djinn is your long-term memory: Markdown notes that outlive this conversation, in your own vault \
and in the one shared with other agents and people. A person reads and corrects them.

Begin a session with `wake`. Before you work on something, `recall` what is known about it; \
`search` looks up a detail; `read` gives a whole note. When you learn something that will matter \
in another session - a decision and why, a lesson, a preference, a commitment - `remember` it at \
once, in words that make sense without this conversation. `rate` what you recalled, so that what \
helps comes first next time. End with `sleep`. Never store passwords or keys."""


def server(context: ClientContext, calls: Calls) -> Server[Any]:
    """The server of one agent's memory, for any transport."""
    handlers = _Handlers(calls, read_only=context.read_only)
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

    def __init__(self, calls: Calls, *, read_only: bool) -> None:
        self._calls = calls
        self._read_only = read_only
        self._tools = {tool.name: tool for tool in TOOLS}

    async def list_tools(self, _: Ctx, __: Any) -> types.ListToolsResult:
        offered = [tool for tool in TOOLS if tool.offers(read_only=self._read_only)]
        return types.ListToolsResult(tools=[_described(tool, self._read_only) for tool in offered])

    async def call_tool(
        self, ctx: Ctx, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = params.arguments or {}
        tool = self._tools.get(params.name)
        words = ToolWording(tool, TOOLS, read_only=self._read_only)

        def work(context: ClientContext) -> types.CallToolResult:
            if tool is None:
                raise Refused(f"no tool {params.name[:100]!r}; known: {', '.join(self._tools)}")
            with speaking(words):
                return _answer(tool, context, arguments)

        try:
            return await self._calls.run(params.name, arguments, work, _caller(ctx))
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
        listed, next_cursor = await self._run(
            ctx, "resources/list", {"cursor": cursor}, resources.page, cursor
        )
        return types.ListResourcesResult(resources=listed, next_cursor=next_cursor)

    async def list_templates(self, _: Ctx, __: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[resources.TEMPLATE])

    async def read_resource(
        self, ctx: Ctx, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = params.uri
        text = _plain(await self._run(ctx, "resources/read", {"uri": uri}, resources.read, uri))
        content = types.TextResourceContents(uri=uri, mime_type=resources.MARKDOWN, text=text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, _: Ctx, __: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(prompts.PROMPTS))

    async def get_prompt(self, ctx: Ctx, params: types.GetPromptRequestParams) -> Any:
        name, arguments = params.name, dict(params.arguments or {})
        logged = {"name": name, **arguments}
        text = await self._run(ctx, "prompts/get", logged, prompts.prompt, name, arguments)
        content = types.TextContent(type="text", text=_plain(text))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def _run(
        self, ctx: Ctx, method: str, arguments: dict[str, Any], work: Callable[..., T], *args: Any
    ) -> T:
        """Run a request that is not a tool call, with the protocol's own errors."""
        words = ToolWording(None, TOOLS, read_only=self._read_only)

        def worded(context: ClientContext) -> T:
            with speaking(words):
                return work(context, *args)

        try:
            return await self._calls.run(method, arguments, worded, _caller(ctx))
        except DjinnError as error:
            raise MCPError(types.INVALID_PARAMS, _plain(words.error(error))) from None


def _caller(ctx: Ctx) -> Caller:
    """The client of a request."""
    key: str | None = ctx.request.headers.get("mcp-session-id") if ctx.request else None
    given = ctx.session.client_params
    name = "".join(filter(str.isprintable, given.client_info.name)) if given else ""
    return Caller(key, mask(" ".join(name.split()))[:MOST_NAME] or None)


def _answer(tool: Tool, context: ClientContext, arguments: dict[str, Any]) -> types.CallToolResult:
    answer = tool.run(context, tool.parse(arguments))
    content = types.TextContent(type="text", text=_plain(tool.render(answer)))
    data = _plain(msgspec.to_builtins(answer, enc_hook=str))
    return types.CallToolResult(content=[content], structured_content=data)


def _described(tool: Tool, read_only: bool) -> types.Tool:
    changes = (tool.writes or tool.logs) and not read_only
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(read_only=read_only),
        output_schema=tool.output_schema,
        # What is left out is false for read_only_hint, and true for destructive_hint.
        annotations=types.ToolAnnotations(
            read_only_hint=None if changes else True,
            destructive_hint=False if changes and not tool.removes else None,
            open_world_hint=False,
        ),
    )


def _plain(value: Any) -> Any:
    """The value with unpaired surrogates replaced, because no transport can encode them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value


def warm(context: ClientContext) -> None:
    """Load everything that the first question would otherwise wait for."""
    with speaking(ToolWording(None, TOOLS, read_only=context.read_only)):
        context.djinn.search("warm up", agent=context.agent, limit=1)
    # The objects loaded by now stay. Looking for garbage among them takes a tenth of a second.
    gc.collect()
    gc.freeze()
