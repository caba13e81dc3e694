"""Questions to the person, one at a time, in front of the conversation."""
