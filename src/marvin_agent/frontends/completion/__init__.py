"""Shell completion: what the command line takes, and a script for each shell made from it."""
