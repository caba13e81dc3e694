"""Git context: tells the model the branch, what has changed, and the last commits, at the start of every run.

Settings: `commits`, how many of the last commits to show (3).
"""

from marvin_agent.hooks import AgentBeforeStart, BeforeStartResult, Context, HookAPI

MOST_FILES = 30
# Without locks, since the user may be in the middle of a commit; and without the monitor and the signature checker that
# the configuration of a repository can name: it may have come in an archive.
CALM = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false")


def setup(marvin: HookAPI) -> None:
    """Add to the system prompt."""
    commits = int(marvin.settings.get("commits", 3))

    @marvin.on("agent.before_start")
    async def describe(event: AgentBeforeStart, ctx: Context) -> BeforeStartResult | None:
        async def git(*args: str) -> list[str]:
            done = await ctx.exec("git", [*CALM, *args], timeout=5)
            return done.stdout.splitlines() if done.code == 0 else []

        status = await git("status", "--short", "--branch")
        if not status:
            return None  # no repository
        branch, *files = status
        lines = [f"Git: on {branch.removeprefix('## ')}."]
        lines += ["Uncommitted changes:", *files[:MOST_FILES]] if files else ["The working tree is clean."]
        if len(files) > MOST_FILES:
            lines.append(f"... and {len(files) - MOST_FILES} more")
        if log := await git("log", f"-{commits}", "--oneline", "--no-decorate"):
            lines += ["Last commits:", *log]
        return BeforeStartResult(system_prompt=event.system_prompt + "\n\n" + "\n".join(lines))
