"""Evaluations on paper: curves, plots, and a page that stands by itself."""
