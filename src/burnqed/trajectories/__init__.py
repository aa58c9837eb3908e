"""The record of every search: steps, results, and labels for training."""
