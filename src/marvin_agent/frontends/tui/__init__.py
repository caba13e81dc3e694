"""The terminal app: what a person sees and types, over the engine's events."""
