"""Which powers the kernel is not asked for."""

import pytest

from burnqed.policy.portfolio.sizes import has_large_power


@pytest.mark.parametrize(
    "text",
    [
        "3 ^ 16000000 % 7 = 1",
        "(10 ^ 10) ^ (10 ^ 6) % 7 = 2",
        "2 ^ 2 ^ 40 = x",
        "k = 2 ^ (2008 ^ 2 + 2 ^ 2008) + 1",
        "∀ n < 3, n ^ 1000000 = 0",
        "h (7 ^ 99999 + 1) = 2 ^ n",
    ],
)
def test_large(text: str) -> None:
    assert has_large_power(text)


@pytest.mark.parametrize(
    "text",
    [
        "5 ^ 2005 % 100 = 25",
        "2 ^ n + 2 ^ (2 * n + 1)",
        "n ^ 2",
        "2 ^ 2 ^ 4",
        "x₁ ^ 3 = 4 ^ (2 + 3)",
        "a ^ b ^ c",
        "f 3 ^ 2 = 1",
        "(x + y) ^ 2",
    ],
)
def test_not_large(text: str) -> None:
    assert not has_large_power(text)
