"""The record of every search attempt: what was tried, what came of it, what can be learnt from it."""
