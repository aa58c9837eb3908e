"""Reports of evaluations: curves, plots, and a self-contained page."""
