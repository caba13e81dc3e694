"""The conversation on the screen: a model of entries, and one widget that paints what is visible of it."""
