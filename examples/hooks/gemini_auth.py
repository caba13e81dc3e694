"""Gemini auth: the key of Google's models from environment variables that you choose, before any stored key.

One key for work and one for the rest: put it into the settings of the project or the machine which variable counts.

Settings: `variables`, the names to look for; the first that is set counts.
"""

import os

from marvin_agent.hooks import AuthGet, AuthResult, Context, HookAPI

VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")


def setup(marvin: HookAPI) -> None:
    """Answer for one provider."""
    names = marvin.settings.get("variables", VARIABLES)

    @marvin.on("auth.get")
    async def key(event: AuthGet, ctx: Context) -> AuthResult | None:
        if event.input.provider != "google":
            return None
        found = next((os.environ[name] for name in names if os.environ.get(name)), None)
        return AuthResult(api_key=found) if found else None
