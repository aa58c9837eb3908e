"""Weights: tokenizers, fresh small models, and their training."""
