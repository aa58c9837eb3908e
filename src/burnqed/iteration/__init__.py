"""Expert iteration: what to do next, and what came of it."""
