"""Proof search, pure: no Lean, no torch, no clock but the budget's."""
