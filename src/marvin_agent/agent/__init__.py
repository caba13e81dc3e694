"""The agent: the loop that joins models, tools, sessions and hooks."""
