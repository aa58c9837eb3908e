"""One file per command; what is heavy is imported inside it."""
