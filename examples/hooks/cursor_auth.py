"""Cursor auth: a provider behind a gateway, with its own address, headers, and a token that is refreshed in time.

The refresh token comes from the environment (CURSOR_REFRESH_TOKEN) the first time; what the server gives is kept in
`cursor_auth.json` in marvin's directory, for you alone. One refresh at a time: calls of this program wait for a lock,
and other programs for a lock on the file, since a refresh token often counts only once.

The hook fails closed: without a valid token the call fails, and nothing is sent anywhere else.

Settings: `base_url` of the gateway, `token_url` where tokens are refreshed, `models`, `headers`.
"""

import asyncio
import fcntl
import json
import os
import time
import urllib.error
import urllib.request
from typing import Any

from marvin_agent.hooks import AuthGet, AuthResult, Context, HookAPI

MARGIN = 60
"""Seconds before its end at which a token counts as expired."""


class Tokens:
    """The access token in a file that several programs share."""

    def __init__(self, path: str, token_url: str) -> None:
        self._path = path
        self._token_url = token_url
        self._lock = asyncio.Lock()
        self._known: dict[str, Any] = {}

    async def access(self) -> str:
        """A token that is valid for a while; refreshed when it is not."""
        async with self._lock:
            if not valid(self._known):
                self._known = await asyncio.to_thread(self._refreshed)
            return str(self._known["access_token"])

    def _refreshed(self) -> dict[str, Any]:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        with open(f"{self._path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = self._read()
            return kept if valid(kept) else self._refresh(kept)

    def _read(self) -> dict[str, Any]:
        try:
            with open(self._path, encoding="utf-8") as file:
                return dict(json.load(file))
        except (FileNotFoundError, ValueError):
            return {}

    def _refresh(self, kept: dict[str, Any]) -> dict[str, Any]:
        refresh = kept.get("refresh_token") or os.environ.get("CURSOR_REFRESH_TOKEN")
        if not refresh:
            raise RuntimeError("not logged in: set CURSOR_REFRESH_TOKEN")
        body = json.dumps({"grant_type": "refresh_token", "refresh_token": refresh}).encode()
        request = urllib.request.Request(self._token_url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=15) as answer:
                given = json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise RuntimeError(f"the token was not refreshed: {error.code} {error.reason}") from None
        made = {
            "access_token": given["access_token"],
            "refresh_token": given.get("refresh_token", refresh),
            "expires_at": time.time() + float(given.get("expires_in", 3600)),
        }
        with open(f"{self._path}.new", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            json.dump(made, file)
        os.replace(f"{self._path}.new", self._path)
        return made


def valid(tokens: dict[str, Any]) -> bool:
    """Whether there is an access token that lives a while longer."""
    return bool(tokens.get("access_token")) and tokens.get("expires_at", 0) - MARGIN > time.time()


def setup(marvin: HookAPI) -> None:
    """Bring the provider and answer for it."""
    settings = marvin.settings
    base_url, token_url = settings.get("base_url"), settings.get("token_url")
    if not base_url or not token_url:
        marvin.log.warning('set base_url and token_url in hooks.settings["%s"]', marvin.id)
        return
    marvin.register_provider("cursor", base_url=base_url, models=settings.get("models", ["auto"]))
    tokens: Tokens | None = None

    @marvin.on("auth.get", on_error="closed")
    async def login(event: AuthGet, ctx: Context) -> AuthResult | None:
        nonlocal tokens
        if event.input.provider != "cursor":
            return None
        tokens = tokens or Tokens(os.path.join(ctx.config_dir, "cursor_auth.json"), token_url)
        headers = {"x-client": "marvin", "x-session": event.session_id, **settings.get("headers", {})}
        return AuthResult(api_key=await tokens.access(), base_url=base_url, headers=headers)
