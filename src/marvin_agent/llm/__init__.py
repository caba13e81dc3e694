"""Models: one function that takes a request and gives stream events; a file per wire protocol."""
