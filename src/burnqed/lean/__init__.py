"""Every conversation with Lean."""
