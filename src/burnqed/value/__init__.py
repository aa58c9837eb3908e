"""The energy of a state: how provable it looks."""
