"""Slash command: `/review` lets the agent review your uncommitted changes, `/review main` those since a branch.

Settings: `focus`, what the review should look for.
"""

from marvin_agent.hooks import Context, HookAPI

FOCUS = "mistakes, missing tests and names that mislead; say the file and the line, and do not praise"
LARGEST = 60_000


def setup(marvin: HookAPI) -> None:
    """Register the command and complete the names of branches."""

    async def branches(prefix: str) -> list[str]:
        done = await marvin.exec("git", ["for-each-ref", "--format=%(refname:short)", "refs/heads"])
        return [name for name in done.stdout.split() if name.startswith(prefix)]

    @marvin.command("review", "review the uncommitted changes, or those since a branch", complete=branches)
    async def review(args: str, ctx: Context) -> None:
        base = args.strip() or "HEAD"
        if base.startswith("-"):
            ctx.ui.notify(f"{base!r} is not a branch", "warning")
            return
        done = await ctx.exec("git", ["diff", "--no-color", "--no-ext-diff", base, "--"])
        if done.code:
            ctx.ui.notify(done.stderr.strip(), "error")
            return
        new = await ctx.exec("git", ["ls-files", "--others", "--exclude-standard"])
        if not done.stdout.strip() and not new.stdout.strip():
            ctx.ui.notify(f"Nothing has changed since {base}.")
            return
        diff = done.stdout[:LARGEST]
        cut = "\n(The diff goes on; read the files.)" if len(done.stdout) > LARGEST else ""
        files = f"\n\nThese files are new; read them:\n{new.stdout}" if new.stdout.strip() else ""
        focus = marvin.settings.get("focus", FOCUS)
        marvin.send(f"Review this diff. Look for {focus}.\n\n```diff\n{diff}\n```{cut}{files}")
