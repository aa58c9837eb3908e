"""A native Lean, the user's own: found, and given our REPL as a program of its own."""
