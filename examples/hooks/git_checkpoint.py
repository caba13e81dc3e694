"""Git checkpoint: before the first tool of a turn that may change files, the working tree is kept as a git ref.

Nothing that you see is touched: not the index, not the branch, not the stash. `/checkpoints` lists what there is,
`/restore` goes back to the latest, `/restore N` to that one; where you were is kept as a checkpoint first, so that a
restore can be taken back. Ignored files are not kept, and of the checkpoints the latest hundred.

A call that would change files is refused when it cannot be secured; without a repository the hook does nothing.
"""

import os
import shutil
import tempfile

from marvin_agent.hooks import Context, HookAPI, ToolExecuteBefore, TurnStart

REFS = "refs/marvin/checkpoints"
MOST = 100
WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "marvin"), ("EMAIL", "marvin@localhost"))
}


class Repository:
    """The repository that a handler works in, with an index of its own."""

    def __init__(self, ctx: Context, index: str) -> None:
        self._ctx = ctx
        self._env = {**WHO, "GIT_INDEX_FILE": index}

    async def git(self, *args: str) -> str:
        """What git prints; RuntimeError when it fails."""
        done = await self._ctx.exec("git", ["-C", self._ctx.project_root, *args], env=self._env)
        if done.code:
            raise RuntimeError(f"git {args[0]} failed: {done.stderr.strip()}")
        return str(done.stdout)

    async def numbers(self) -> list[int]:
        """The checkpoints that there are, oldest first."""
        refs = await self.git("for-each-ref", "--format=%(refname)", REFS)
        return sorted(int(ref.rpartition("/")[2]) for ref in refs.split())

    async def keep(self, why: str) -> int:
        """Keep the working tree; the number of its checkpoint, an old one when nothing has changed since."""
        real = await self._ctx.exec("git", ["-C", self._ctx.project_root, "rev-parse", "--git-path", "index"])
        if os.path.exists(own := os.path.join(self._ctx.project_root, real.stdout.strip())):
            shutil.copyfile(own, self._env["GIT_INDEX_FILE"])  # it knows which files have not changed
        await self.git("add", "--all")
        tree = (await self.git("write-tree")).strip()
        numbers = await self.numbers()
        if numbers and (await self.git("rev-parse", f"{REFS}/{numbers[-1]}^{{tree}}")).strip() == tree:
            return numbers[-1]
        number = numbers[-1] + 1 if numbers else 1
        commit = (await self.git("commit-tree", tree, "-m", why)).strip()
        await self.git("update-ref", f"{REFS}/{number}", commit)
        for old in numbers[: 1 - MOST]:
            await self.git("update-ref", "-d", f"{REFS}/{old}")
        return number

    async def restore(self, number: int) -> int:
        """Go back to a checkpoint; the number of the one that keeps what was there."""
        target = f"{REFS}/{number}"
        await self.git("rev-parse", "--verify", "--quiet", target)
        now = await self.keep(f"before restoring {number}")
        new = await self.git("diff", "--name-only", "--diff-filter=A", "--no-renames", "-z", target, f"{REFS}/{now}")
        root = (await self.git("rev-parse", "--show-toplevel")).rstrip("\n")
        for name in filter(None, new.split("\0")):
            os.remove(os.path.join(root, name))
        await self.git("-C", root, "read-tree", target)
        await self.git("-C", root, "checkout-index", "--all", "--force")
        return now


def setup(marvin: HookAPI) -> None:
    """Keep a checkpoint per turn that touches files."""
    pending = True

    @marvin.on("turn.start")
    async def begin(event: TurnStart, ctx: Context) -> None:
        nonlocal pending
        pending = True

    @marvin.on("tool.execute.before", tools=("write", "edit", "bash"), priority=-100)
    async def secure(event: ToolExecuteBefore, ctx: Context) -> None:
        nonlocal pending
        if not pending:
            return
        inside = await ctx.exec("git", ["-C", ctx.project_root, "rev-parse", "--is-inside-work-tree"])
        if inside.code == 0:
            with tempfile.TemporaryDirectory() as scratch:
                await Repository(ctx, os.path.join(scratch, "index")).keep(f"before {event.tool_name}")
        pending = False

    @marvin.command("checkpoints", "list the checkpoints of the working tree")
    async def checkpoints(args: str, ctx: Context) -> None:
        form = "--format=%(refname:lstrip=3)  %(creatordate:relative)  %(contents:subject)"
        done = await ctx.exec("git", ["-C", ctx.project_root, "for-each-ref", "--sort=creatordate", form, REFS])
        ctx.ui.notify(done.stdout.strip() or "There are no checkpoints here.")

    @marvin.command("restore", "bring the files back as they were at a checkpoint, the latest unless named")
    async def restore(args: str, ctx: Context) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            repository = Repository(ctx, os.path.join(scratch, "index"))
            numbers = await repository.numbers()
            if not numbers or (args.strip() and args.strip() not in map(str, numbers)):
                ctx.ui.notify("There is no such checkpoint; /checkpoints lists them.", "warning")
                return
            number = int(args) if args.strip() else numbers[-1]
            kept = await repository.restore(number)
        ctx.ui.notify(f"The files are as they were at checkpoint {number}. `/restore {kept}` takes that back.")
