"""What people and programs see: the command line, headless runs, and later the terminal app and protocols."""
