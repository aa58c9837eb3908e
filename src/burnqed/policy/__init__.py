"""From a state to ranked tactics."""
