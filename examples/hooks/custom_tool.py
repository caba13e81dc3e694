"""Custom tool: lets the model look into SQLite databases, read-only. The annotations and the docstring are its schema.

A plain `def` runs in a thread of its own, so a slow query holds nothing up.
"""

import os
import sqlite3
import time

from marvin_agent.hooks import Context, HookAPI

SECONDS = 10
WIDEST = 200


def setup(marvin: HookAPI) -> None:
    """Register the tool."""

    @marvin.tool(acts=False)  # it only looks: nobody is asked before it runs
    def sqlite(ctx: Context, database: str, query: str, limit: int = 50) -> str:
        """Run a SQL query on a SQLite file, read-only. Without knowing the tables, query sqlite_master first.

        Args:
            database: The path of the file.
            query: One SQL statement.
            limit: The most rows to show.
        """
        path = os.path.join(ctx.cwd, os.path.expanduser(database))
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no database {database}")
        # A path may hold ? and #, which mean something in a URI.
        uri = f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro"
        until = time.monotonic() + SECONDS
        connection = sqlite3.connect(uri, uri=True)
        try:
            connection.set_progress_handler(lambda: int(time.monotonic() > until), 10_000)
            cursor = connection.execute(query)
            rows = cursor.fetchmany(limit + 1)
        except sqlite3.OperationalError as error:
            raise ValueError(f"it took over {SECONDS} s" if "interrupted" in str(error) else str(error)) from None
        finally:
            connection.close()
        lines = [" | ".join(column[0] for column in cursor.description or [])]
        lines += [" | ".join(str(value)[:WIDEST] for value in row) for row in rows[:limit]]
        if len(rows) > limit:
            lines.append(f"(more than {limit} rows)")
        return "\n".join(lines) if rows else "no rows"
