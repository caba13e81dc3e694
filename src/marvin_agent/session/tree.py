"""The tree that the entries of a session form, and the ways through it."""

from collections.abc import Iterable, Mapping

from marvin_agent.session.entries import Entry, LabelEntry, LeafEntry


class TreeNode:
    """An entry with those that follow it, oldest first, and the label that it was given last."""

    __slots__ = ("children", "entry", "label")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.label: str | None = None
        self.children: list[TreeNode] = []


def tree(entries: Iterable[Entry]) -> list[TreeNode]:
    """The roots of the tree. Moves of the leaf are not in it: they are no places."""
    nodes: dict[str, TreeNode] = {}
    roots: list[TreeNode] = []
    for entry in entries:
        if isinstance(entry, LeafEntry):
            continue
        node = nodes[entry.id] = TreeNode(entry)
        parent = nodes.get(entry.parent_id) if entry.parent_id is not None else None
        (roots if parent is None else parent.children).append(node)
        if isinstance(entry, LabelEntry) and (target := nodes.get(entry.target_id)) is not None:
            target.label = entry.label if isinstance(entry.label, str) else None
    return roots


def path_to(by_id: Mapping[str, Entry], leaf_id: str | None) -> list[Entry]:
    """The entries from the root to a leaf."""
    path = []
    while leaf_id is not None:
        entry = by_id[leaf_id]
        path.append(entry)
        leaf_id = entry.parent_id
    path.reverse()
    return path


def common_ancestor(by_id: Mapping[str, Entry], first_id: str | None, second_id: str | None) -> str | None:
    """The last entry that two branches share (an entry is on its own branch); None when they share none."""
    first = {entry.id for entry in path_to(by_id, first_id)}
    while second_id is not None and second_id not in first:
        second_id = by_id[second_id].parent_id
    return second_id


def entries_left(by_id: Mapping[str, Entry], old_leaf_id: str | None, target_id: str | None) -> list[Entry]:
    """What the conversation leaves behind when it moves from a leaf to a target: the entries, oldest first."""
    shared = common_ancestor(by_id, old_leaf_id, target_id)
    left = []
    at = old_leaf_id
    while at != shared:
        assert at is not None
        left.append(by_id[at])
        at = by_id[at].parent_id
    left.reverse()
    return left
