"""Data that others publish, as steps, whole proofs or statements; always also from a local file."""
