"""Conversations on disk: an append-only tree of entries in a file, its one writer and its many readers."""
