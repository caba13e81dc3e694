"""The names of the built-in tools, for those who know the tools by nothing else: rules and hooks."""

BUILTIN_TOOLS = frozenset({"bash", "read", "write", "edit", "ls", "find", "grep"})


def is_misspelt(name: str) -> bool:
    """Whether a name is that of a built-in tool but for its capitals, as other agents write theirs."""
    return name not in BUILTIN_TOOLS and name.lower() in BUILTIN_TOOLS
