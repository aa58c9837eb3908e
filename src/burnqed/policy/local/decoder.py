"""A model's passes: prompts first, then one token more for each continuation.

The model is Hugging Face's own, weights and layers; only its attention function is replaced, which
every model that takes part in their attention interface allows. That a model means by it what we do is
checked against its plain forward pass before it is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from burnqed.core.errors import InfrastructureError, SetupError
from burnqed.policy.local.attention import Continuations, Prompts, grid
from burnqed.policy.models.agreement import disagreement

_NUMBERS = itertools.count()
_GROWTH = 16  # own tokens for which room is made at once


class Decoder:
    """One model, for prompts and continuations of at most `longest` tokens together; for one thread."""

    def __init__(self, model: Any, longest: int) -> None:
        from transformers import AttentionInterface

        self.model = model
        self.device: torch.device = model.device
        self.closed = False  # set from another thread: the pass after this one does not begin
        self._attending: Prompts | Continuations | None = None
        self._plain = model.config._attn_implementation
        self._name = f"burn_qed_{next(_NUMBERS)}"
        AttentionInterface.register(self._name, self._attend)
        self._check(longest)

    def _attend(
        self,
        module: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        **_: Any,
    ) -> tuple[Tensor, None]:
        assert self._attending is not None
        scale = query.shape[-1] ** -0.5 if scaling is None else scaling
        return self._attending.attend(module.layer_idx, query, key, value, scale), None

    def forward(
        self, attending: Prompts | Continuations, tokens: Tensor, positions: Tensor, keep: Tensor | int
    ) -> Tensor:
        """The logits of the tokens in `keep` (0: all), with tokens and positions in one row."""
        with self._seeing(attending):
            out = self.model(
                input_ids=tokens.unsqueeze(0),
                position_ids=positions.unsqueeze(0),
                use_cache=False,
                logits_to_keep=keep,
            )
        logits: Tensor = out.logits[0]
        return logits

    @contextmanager
    def _seeing(self, attending: Prompts | Continuations) -> Iterator[None]:
        """The model with this in the place of its attention."""
        if self.closed:
            raise InfrastructureError("the model was closed while it was asked")
        self._attending = attending
        self.model.config._attn_implementation = self._name
        try:
            yield
        finally:
            self._attending = None
            self.model.config._attn_implementation = self._plain

    def hidden(self, prompts: Sequence[Sequence[int]], layer: int = -1) -> Tensor:
        """The hidden states [tokens, width] of all prompts, one after the other, after a layer."""
        lengths = [len(prompt) for prompt in prompts]
        tokens, positions = self._row(prompts)
        with self._seeing(Prompts(lengths, max(lengths), self.device)):
            out = self.model.base_model(
                input_ids=tokens.unsqueeze(0), position_ids=positions.unsqueeze(0), use_cache=False,
                output_hidden_states=layer >= 0,
            )  # fmt: skip
        states: Tensor = (out.last_hidden_state if layer < 0 else out.hidden_states[layer])[0]
        return states

    def _row(self, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """All tokens in one row, and where each is in its own prompt."""
        tokens = [token for prompt in prompts for token in prompt]
        positions = [i for prompt in prompts for i in range(len(prompt))]
        return torch.tensor(tokens, device=self.device), torch.tensor(positions, device=self.device)

    def read(self, prompts: Sequence[Sequence[int]], width: int) -> tuple[Tensor, Tensor]:
        """The logits after each prompt, and all keys and values, padded to `width` tokens."""
        lengths = [len(prompt) for prompt in prompts]
        attending = Prompts(lengths, width, self.device)
        tokens, positions = self._row(prompts)
        last = torch.tensor(lengths, device=self.device).cumsum(0) - 1
        logits = self.forward(attending, tokens, positions, last)
        return logits, torch.stack(attending.kept)

    def _check(self, longest: int) -> None:
        """Compare a reading and a continuation with the model's own forward pass."""
        window = getattr(self.model.config, "sliding_window", None)
        if window is not None and window < longest:
            raise self._refusal(f"it sees {window} tokens back, and {longest} are needed")
        if not getattr(self.model, "_supports_attention_backend", False):
            raise self._refusal("it cannot be replaced")
        size = int(self.model.config.get_text_config().vocab_size)
        tokens = [[(7 * i + 3) % size for i in range(9)], [(5 * i + 1) % size for i in range(4)]]
        with torch.inference_mode():
            logits, kept = self.read([prompt[:-1] for prompt in tokens], 16)
            run = Run(self, kept, [len(prompt) - 1 for prompt in tokens])
            after = run.step([prompt[-1] for prompt in tokens], [0, 1], None)
            for i, prompt in enumerate(tokens):
                plain = self.model(torch.tensor([prompt], device=self.device)).logits[0]
                if why := disagreement(torch.stack([logits[i], after[i]]), plain[-2:]):
                    raise self._refusal(why)

    def _refusal(self, why: str) -> SetupError:
        return SetupError(
            f"the attention of {type(self.model).__name__} is not one that samples can share: {why}",
            hint="serve it (vLLM, SGLang) and use --policy openai or --policy sglang",
        )


class Run:
    """The continuations of some prompts, all of the same number of tokens."""

    def __init__(self, decoder: Decoder, kept: Tensor, lengths: Sequence[int]) -> None:
        self.decoder = decoder
        self.lengths = torch.tensor(lengths, device=kept.device)
        hidden = torch.arange(kept.shape[4], device=kept.device)[None, :] >= self.lengths[:, None]
        layers, _, _, heads, _, size = kept.shape
        own = kept.new_zeros(layers, 2, 0, heads, 0, size)
        self._attending = Continuations(kept, hidden, own, 1)
        self._places = {prompt: prompt for prompt in range(len(lengths))}

    def step(
        self, tokens: Sequence[int], prompts: Sequence[int], parents: Sequence[int] | None
    ) -> Tensor:
        """One more token for each continuation; the logits after it.

        Continuation `i` is of prompt `prompts[i]` (in rising order), and what `parents[i]` was in the
        step before; None at the first step.
        """
        this = self._attending
        self._rearrange(parents, len(tokens))
        prompts = self._without_finished(prompts)
        this.seen += 1
        this.per_prompt, slots = grid(prompts)
        device = self.decoder.device
        full = len(slots) == this.prompts.shape[2] * this.per_prompt
        this.slots = None if full else torch.tensor(slots, device=device)
        positions = self.lengths[torch.tensor(prompts, device=device)] + (this.seen - 1)
        return self.decoder.forward(this, torch.tensor(tokens, device=device), positions, 0)

    def _without_finished(self, prompts: Sequence[int]) -> list[int]:
        """Where the prompts are, once those that nobody continues are out of the way (if worth it)."""
        this = self._attending
        live = sorted({self._places[prompt] for prompt in prompts})
        if 2 * len(live) <= this.prompts.shape[2]:
            chosen = torch.tensor(live, device=this.prompts.device)
            this.prompts = this.prompts.index_select(2, chosen)
            this.hidden, self.lengths = this.hidden[chosen], self.lengths[chosen]
            moved = {old: new for new, old in enumerate(live)}
            self._places = {p: moved[old] for p, old in self._places.items() if old in moved}
        return [self._places[prompt] for prompt in prompts]

    def _rearrange(self, parents: Sequence[int] | None, count: int) -> None:
        """Each continuation gets its parent's keys and values, and room for one token more."""
        this = self._attending
        layers, two, before, heads, room, size = this.own.shape
        same = parents is not None and list(parents) == list(range(before))
        if same and this.seen < room:
            return
        own = this.own.new_empty(layers, two, count, heads, this.seen + _GROWTH, size)
        if parents is not None:
            chosen = torch.tensor(parents, device=own.device)
            kept = this.own[..., : this.seen, :]
            own[..., : this.seen, :] = kept if same else kept.index_select(2, chosen)
        this.own = own
