"""The tools of the agent, a file each, and the registry that holds them."""
