"""The tree of a session, and the read-only view that hooks have."""

import pytest

from marvin_agent.errors import SessionError
from marvin_agent.messages import text_of, user
from marvin_agent.session.read import SessionReader, StoredSession
from marvin_agent.session.store import Session
from marvin_agent.session.tree import TreeNode, common_ancestor, entries_left, tree


def shape(nodes: list[TreeNode]) -> list:
    return [(text_of(node.entry.message.content), node.label, shape(node.children)) for node in nodes
            if node.entry.type == "message"]  # fmt: skip


@pytest.fixture
def session(tmp_path):
    made = Session.create(str(tmp_path), "/a")
    yield made
    made.close()


@pytest.fixture
def branched(session):
    """a - b - c, and d after a."""
    ids = {}
    for name in "abc":
        ids[name] = session.append_message(user(name)).id
    session.move_leaf(ids["a"])
    ids["d"] = session.append_message(user("d")).id
    return session, ids


def test_the_tree_has_every_branch_and_the_last_label(branched):
    session, ids = branched
    session.append_label(ids["b"], "first")
    session.append_label(ids["b"], "second")
    session.append_label(ids["d"], "gone")
    session.append_label(ids["d"], None)
    assert shape(tree(session.entries)) == [("a", None, [("b", "second", [("c", None, [])]), ("d", None, [])])]


def test_several_roots_are_all_in_the_tree(branched):
    session, _ = branched
    session.move_leaf(None)
    session.append_message(user("e"))
    assert [name for name, _, _ in shape(tree(session.entries))] == ["a", "e"]


def test_a_tree_of_one_long_branch_is_no_trouble(session):
    memory = Session.in_memory("/a")
    for _ in range(20_000):
        memory.append_message(user("x"))
    depth = 0
    nodes = tree(memory.entries)
    while nodes:
        (node,) = nodes
        nodes = node.children
        depth += 1
    assert depth == 20_000


def test_common_ancestors_and_what_is_left_behind(branched):
    session, ids = branched

    def left(start, target):
        return [text_of(entry.message.content) for entry in entries_left(session.by_id, start, target)]

    assert common_ancestor(session.by_id, ids["c"], ids["d"]) == ids["a"]
    assert common_ancestor(session.by_id, ids["c"], ids["b"]) == ids["b"]
    assert common_ancestor(session.by_id, ids["b"], ids["c"]) == ids["b"]
    assert common_ancestor(session.by_id, ids["c"], None) is None
    assert left(ids["c"], ids["d"]) == ["b", "c"]
    assert left(ids["c"], ids["b"]) == ["c"]
    assert left(ids["b"], ids["c"]) == []
    assert left(ids["c"], None) == ["a", "b", "c"]
    assert left(None, ids["c"]) == []


def test_hooks_see_the_session_as_it_is_now(branched, tmp_path):
    session, ids = branched
    reader = SessionReader(lambda: session, str(tmp_path))
    assert (reader.session_id, reader.session_path, reader.leaf_id) == (session.id, session.path, ids["d"])
    before = reader.entries()
    entry = session.append_message(user("e"))
    assert reader.entries() == (*before, entry)
    assert [each.id for each in reader.branch()] == [ids["a"], ids["d"], entry.id]
    assert [each.id for each in reader.branch(ids["c"])] == [ids["a"], ids["b"], ids["c"]]
    assert reader.get(ids["b"]) == session.get(ids["b"])
    assert reader.get("ffffffff") is None
    assert len(reader.tree()) == 1


def test_hooks_find_and_load_other_sessions(branched, tmp_path):
    session, _ = branched
    other = Session.create(str(tmp_path), "/b")
    other.append_message(user("elsewhere"))
    other.close()
    reader = SessionReader(lambda: session, str(tmp_path))
    assert [info.id for info in reader.list()] == [session.id]
    found = reader.find(other.id[:10])
    assert found is not None
    assert found.path == other.path
    assert reader.find("zzzz") is None
    loaded = reader.load(found.path)
    assert loaded.messages() == other.messages()
    assert loaded.leaf_id == other.leaf_id
    assert loaded.branch() == other.branch()
    assert loaded.get(other.leaf_id) == other.entries[0]
    with pytest.raises(SessionError):
        loaded.branch("ffffffff")
    latest = reader.load_latest()
    assert isinstance(latest, StoredSession)
    assert latest.id == session.id
    with pytest.raises(SessionError):
        reader.load(str(tmp_path / "missing.jsonl"))


def test_a_session_is_read_while_another_writes_it(branched):
    session, _ = branched
    loaded = StoredSession(session.path)
    assert loaded.messages() == session.messages()
    session.append_message(user("later"))
    assert len(loaded.entries) + 1 == len(StoredSession(session.path).entries)


def test_hooks_read_what_was_kept_with_the_last_compaction(branched, tmp_path):
    session, ids = branched
    reader = SessionReader(lambda: session, str(tmp_path))
    assert reader.compaction_state() is None
    session.append_compaction("old", ids["a"], 1)
    entry = session.append_compaction(
        "new", ids["d"], 42, details={"readFiles": ["a"]}, from_hook=True, preserve_data={"memory": {"k": 1}}
    )
    state = reader.compaction_state()
    assert state is not None
    assert (state.entry_id, state.summary, state.first_kept_entry_id) == (entry.id, "new", ids["d"])
    assert (state.tokens_before, state.from_hook) == (42, True)
    assert state.details == {"readFiles": ["a"]}
    assert state.preserve_data == {"memory": {"k": 1}}
    session.move_leaf(ids["c"])
    assert reader.compaction_state() is None
