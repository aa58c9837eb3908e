"""The command line: words shown to the user, and the one room that knows all the others."""
