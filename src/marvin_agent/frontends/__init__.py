"""The ways to use marvin: the command line and its commands, headless output, the app, the protocols."""
