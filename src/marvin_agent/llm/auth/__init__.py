"""Keys: where they are stored, and where each is looked for."""
