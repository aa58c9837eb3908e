"""What a model has to beat: guessing tactic tokens by how common they are, or copying from the state.

A tactic token is drawn from a mixture of two distributions: how often tokens occur in the tactics that
are trained on (every token of the vocabulary once more), and how often they occur in this very
prompt. Both are over single tokens, so anything that knows an order does better.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from burnqed.policy.prompt import Example

_FITTED_ON = 2000  # examples that the weight of the mixture is chosen on
_ROUNDS = 50

Two = tuple[float, float]  # a token's probability as a common one, and as a copied one


def baseline_loss(train: Sequence[Example], evaluated: Sequence[Example], vocabulary: int) -> float:
    """The mean of -log p per tactic token (the end among them), as the model's loss is counted."""
    counts = Counter(token for one in train for token in one.ids[one.prompt_length :])
    total = sum(counts.values())

    def pairs(one: Example, known: int) -> list[Two]:
        """`known` is 1 for what was counted: a token must not vouch for itself."""
        prompt = Counter(one.ids[: one.prompt_length])
        return [
            (
                (counts[token] + 1 - known) / (total + vocabulary - known),
                prompt[token] / one.prompt_length,
            )
            for token in one.ids[one.prompt_length :]
        ]

    stride = max(1, len(train) // _FITTED_ON)
    share = _copied([two for one in train[::stride] for two in pairs(one, 1)])
    tokens = [two for one in evaluated for two in pairs(one, 0)]
    return -sum(math.log((1 - share) * common + share * copied) for common, copied in tokens) / len(
        tokens
    )


def _copied(tokens: Sequence[Two]) -> float:
    """The share of copied tokens under which these are likeliest, by expectation-maximisation."""
    share = 0.5
    for _ in range(_ROUNDS):
        share = sum(
            share * copied / ((1 - share) * common + share * copied) for common, copied in tokens
        ) / len(tokens)
    return min(share, 0.999)  # a token that is not in the prompt stays possible
