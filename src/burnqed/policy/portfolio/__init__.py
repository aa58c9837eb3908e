"""A policy without a model: it reads the goal and ranks concrete tactics."""

from burnqed.policy.portfolio.portfolio import Portfolio

__all__ = ["Portfolio"]
