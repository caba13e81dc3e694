"""Supermemory: what you tell the agent once, it knows in the next session. Needs a key for a supermemory server.

The first message of a session gets what is remembered of you and of the project; the model has a tool to add, search,
list and forget; the conversation is compacted when the context is 80 % full, and the summary is remembered. What
stands between <private> and </private> is never sent. A server that does not answer costs five seconds, no prompt.

Settings: `api_key` (else SUPERMEMORY_API_KEY), `base_url` (else SUPERMEMORY_API_URL), `threshold` (0.8), `user`.
"""

import asyncio
import getpass
import hashlib
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from marvin_agent.hooks import ChatMessage, Context, HookAPI, SessionCompact, TurnEnd

BASE_URL = "https://api.supermemory.ai"
PRIVATE = re.compile(r"<private>.*?(</private>|\Z)", re.DOTALL)
SCHEMA = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["add", "search", "profile", "list", "forget"]},
        "content": {"type": "string", "description": "what to remember (add)", "optional": True},
        "query": {"type": "string", "description": "what to look for (search)", "optional": True},
        "id": {"type": "string", "description": "the memory to forget", "optional": True},
        "scope": {"type": "string", "enum": ["user", "project"], "optional": True},
    },
}


class Memory:
    """The server, for one user and one project."""

    def __init__(self, base_url: str, key: str, user: str, project: str) -> None:
        self._base_url = base_url.rstrip("/")
        self._key = key
        self._tags = {"user": f"marvin_user_{short(user)}", "project": f"marvin_project_{short(project)}"}

    async def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request, in a thread: urllib blocks."""
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self._base_url + path, data, headers, method=method)

        def send() -> bytes:
            try:
                with urllib.request.urlopen(request, timeout=5) as answer:
                    return bytes(answer.read())
            except urllib.error.HTTPError as error:
                with error:
                    raise RuntimeError(f"supermemory says {error.code} {error.reason} to {path}") from None

        return dict(json.loads(await asyncio.to_thread(send) or b"{}"))

    async def add(self, content: str, scope: str, **metadata: str) -> dict[str, Any]:
        """Remember a text."""
        text = PRIVATE.sub("[private]", content)
        body = {"content": text, "containerTag": self._tags[scope], "metadata": {"source": "marvin", **metadata}}
        return await self.call("POST", "/v3/documents", body)

    async def search(self, query: str, scope: str, limit: int = 8) -> list[str]:
        """The memories that are nearest to a text."""
        body = {"q": PRIVATE.sub("", query), "containerTag": self._tags[scope], "limit": limit}
        found = await self.call("POST", "/v4/search", body)
        return [each.get("memory") or each.get("chunk") or "" for each in found.get("results", [])]

    async def profile(self, scope: str) -> list[str]:
        """What is known of the user or the project at large."""
        found = (await self.call("POST", "/v4/profile", {"containerTag": self._tags[scope]})).get("profile", {})
        return [*found.get("static", []), *found.get("dynamic", [])]

    async def documents(self, scope: str, limit: int = 20) -> list[dict[str, Any]]:
        """The latest memories with their ids."""
        body = {"containerTags": [self._tags[scope]], "limit": limit}
        return list((await self.call("POST", "/v3/documents/list", body)).get("memories", []))

    async def forget(self, memory_id: str) -> None:
        """Remove a memory."""
        await self.call("DELETE", f"/v3/documents/{urllib.parse.quote(memory_id, safe='')}")


def short(text: str) -> str:
    """A name for a user or a path that does not tell it."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def setup(marvin: HookAPI) -> None:
    """Wire memory into the conversation, if there is a key."""
    settings = marvin.settings
    key = settings.get("api_key") or os.environ.get("SUPERMEMORY_API_KEY")
    if not key:
        marvin.log.warning('no key: set SUPERMEMORY_API_KEY or hooks.settings["%s"].api_key', marvin.id)
        return
    base_url = settings.get("base_url") or os.environ.get("SUPERMEMORY_API_URL") or BASE_URL
    user = settings.get("user") or getpass.getuser()
    injected: set[str] = set()

    def memory(ctx: Context) -> Memory:
        return Memory(base_url, key, user, ctx.project_root)

    @marvin.on("chat.message")
    async def inject(event: ChatMessage, ctx: Context) -> dict[str, Any] | None:
        begun = any(entry.type == "message" for entry in ctx.sessions.entries())
        if begun or event.session_id in injected:
            return None
        injected.add(event.session_id)
        server = memory(ctx)
        profile, own, project = await asyncio.gather(
            server.profile("user"),
            server.search(event.input.text, "user"),
            server.search(event.input.text, "project"),
        )
        known = list(dict.fromkeys(filter(None, [*profile, *own, *project])))
        if not known:
            return None
        text = "<memories>\n" + "\n".join(f"- {each}" for each in known) + "\n</memories>"
        return {"parts": [{"type": "text", "text": text}, *event.output.parts]}

    async def execute(args: dict[str, Any], ctx: Context) -> str:
        server, scope = memory(ctx), args.get("scope", "project")
        match args["mode"]:
            case "add" if args.get("content"):
                return f"Remembered as {(await server.add(args['content'], scope)).get('id')}."
            case "search" if args.get("query"):
                return "\n".join(await server.search(args["query"], scope)) or "Nothing is remembered about that."
            case "profile":
                return "\n".join(await server.profile(args.get("scope", "user"))) or "The profile is empty."
            case "list":
                found = await server.documents(scope)
                return (
                    "\n".join(f"{each['id']}: {each.get('summary') or each.get('title')}" for each in found) or "None."
                )
            case "forget" if args.get("id"):
                await server.forget(args["id"])
                return f"Forgot {args['id']}."
        raise ValueError("add needs content, search needs query, forget needs id")

    description = (
        "Long-term memory of this user and project. Use it for preferences, decisions and facts worth keeping."
    )
    marvin.register_tool({"name": "supermemory", "description": description, "schema": SCHEMA, "execute": execute})

    @marvin.on("turn.end")
    async def compact(event: TurnEnd, ctx: Context) -> None:
        if event.tokens and event.context_limit:
            used = event.tokens.total / event.context_limit
            if used >= float(settings.get("threshold", 0.8)):
                ctx.session.toast("Compaction", f"The context is {used:.0%} full.", "warning")
                await ctx.session.summarize()

    @marvin.on("session.compact")
    async def remember(event: SessionCompact, ctx: Context) -> None:
        await memory(ctx).add(event.summary, "project", type="conversation", session=event.session_id)
