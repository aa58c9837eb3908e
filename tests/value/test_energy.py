"""The head is what its numbers say."""

from __future__ import annotations

import pytest
import torch

from burnqed.value.energy import COLDEST, WARMEST, EnergyHead, HeadConfig


def head(width: int = 64, conditioned: bool = True) -> EnergyHead:
    torch.manual_seed(0)
    return EnergyHead(HeadConfig(width, conditioned)).eval()


def test_sizes_scale_with_the_encoder() -> None:
    assert HeadConfig(4096).sizes == (12288, 2048, 1024, 512, 1)
    assert HeadConfig(320).sizes == (960, 160, 80, 40, 1)
    assert HeadConfig(320, conditioned=False).sizes == (320, 160, 80, 40, 1)
    assert HeadConfig(32).sizes == (96, 16, 16, 16, 1)


@pytest.mark.parametrize("shape", [(64,), (5, 64), (2, 3, 64)])
def test_one_energy_for_each_state(shape: tuple[int, ...]) -> None:
    energies = head()(torch.randn(shape), torch.randn(shape))
    assert energies.shape == shape[:-1]
    assert torch.isfinite(energies).all()


@pytest.mark.parametrize("trained", [False, True])
def test_every_layer_has_a_spectral_norm_of_one(trained: bool) -> None:
    this = head()
    if trained:
        optimizer = torch.optim.Adam(this.layers.parameters(), lr=0.01)
        this.train()
        for _ in range(50):
            optimizer.zero_grad()
            this(torch.randn(16, 64), torch.randn(16, 64)).square().mean().neg().backward()
            optimizer.step()
        this(torch.randn(2, 64), torch.randn(2, 64))  # the norm is that of the last pass in training
        this.eval()
    weights = [layer.get_parameter("parametrizations.weight.original") for layer in this.layers]
    assert any(_norm(weight) > 1.1 for weight in weights) == trained, "there was something to hold back"
    for layer in this.layers:
        assert _norm(getattr(layer, "weight")) == pytest.approx(1.0, abs=0.05)  # noqa: B009


def _norm(weight: torch.Tensor) -> float:
    return float(torch.linalg.matrix_norm(weight.detach(), 2))


def test_energies_begin_alike_because_the_first_layer_is_small() -> None:
    this = head()
    state, goal = torch.randn(200, 64), torch.randn(200, 64)
    spread = this(state, goal).std()
    scaled = [this.layers[0](torch.cat([state, goal, state * goal], -1)).std(), spread]
    assert spread < 0.1 * scaled[0]


def test_temperature_divides_and_stays_within_its_bounds() -> None:
    this = head()
    state, goal = torch.randn(4, 64), torch.randn(4, 64)
    before = this(state, goal)
    with torch.no_grad():
        this.log_temperature.fill_(torch.log(torch.tensor(4.0)))
    assert torch.allclose(this(state, goal), before / 4)
    for value, bound in ((-99.0, COLDEST), (99.0, WARMEST)):
        with torch.no_grad():
            this.log_temperature.fill_(value)
        assert this.temperature.item() == pytest.approx(bound)


def test_what_is_conditioned_on_the_goal_sees_it() -> None:
    state, goals = torch.randn(1, 64).expand(8, 64), torch.randn(8, 64)
    assert head()(state, goals).unique().numel() == 8
    assert head(conditioned=False)(state, goals).unique().numel() == 1


def test_energies_move_no_faster_than_their_input() -> None:
    """Spectral norms of 1, SiLU's slope of at most 1.1, and a tenth at the door."""
    this = head(conditioned=False)
    a, b = torch.randn(50, 64), torch.randn(50, 64)
    moved = (this(a, a) - this(b, b)).abs()
    assert (moved <= 0.1 * 1.1**3 * 1.2 * (a - b).norm(dim=-1)).all()


def test_standardised_embeddings_are_all_seen_alike() -> None:
    """Hidden states have a few huge dimensions: without it a head sees these and no other."""
    plain = torch.randn(500, 64)
    scales = torch.logspace(-1, 4, 64)
    this, other = head(), head()
    other.standardise(plain)
    this.standardise(3.0 + plain * scales)
    small = torch.zeros(64)
    small[0] = 1.0  # the smallest dimension moves by one deviation
    moved = this(3.0 + (plain + small) * scales, 3.0 + plain * scales)
    expected = other(plain + small, plain)
    assert torch.allclose(moved, expected, atol=1e-3)
    assert (moved - this(3.0 + plain * scales, 3.0 + plain * scales)).abs().max() > 1e-4


def test_dimensions_that_never_vary_are_left_out() -> None:
    embeddings = torch.randn(100, 64)
    embeddings[:, :5] = 1234.567
    embeddings[:, 5] = 0.0
    this = head()
    this.standardise(embeddings)
    before = this(embeddings, embeddings)
    assert torch.isfinite(before).all()
    embeddings[:, :6] += 50.0
    assert torch.equal(this(embeddings, embeddings), before)
