"""Gates: after the baseline, each training and each ablation, a rule, a verdict and where to look.

`stop` ends a run that is not going anywhere, `warn` is for whoever reads the report. Pure: a verdict is
made again from the same figures each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from burnqed.evaluation.compare import Pairing, compare, p_text
from burnqed.evaluation.results import IterationResult
from burnqed.iteration.config import Config, set_name
from burnqed.iteration.history import BASELINE, Evaluated, Gate, History, Iteration
from burnqed.iteration.red_lines import Line, lines
from burnqed.value.calibration import Verdict as ValueVerdict


def gates_of(
    config: Config, iterations: Sequence[Iteration], skipped: Mapping[str, str]
) -> tuple[Gate, ...]:
    """What is to be said of the last iteration, as far as it is done, in the light of the others."""
    one, first = iterations[-1], iterations[0]
    found = [_errors(name, evaluated, config) for name, evaluated in one.evaluated.items()]
    found += [_search_errors(one, config)] if one.searches else []
    if one.number == BASELINE:
        found += [_proves_something(one)] if _all_evaluated(config, one) else []
        return tuple(found)
    found += [_skipped(name, why) for name, why in skipped.items()]
    found += _learnt(one)
    found += _red_lines(one, config)
    earlier = iterations[-2]
    for name, evaluated in one.evaluated.items():
        if name in first.evaluated:
            found.append(_against(name, first, one))
        if earlier is not first and name in earlier.evaluated:
            found.append(_against(name, earlier, one))
        if evaluated.given is not None:
            found.append(_value_helps(name, evaluated.without, evaluated.given))
    return tuple(found)


def _all_evaluated(config: Config, one: Iteration) -> bool:
    return all(set_name(given) in one.evaluated for given in config.eval.sets)


# ---------------------------------------------------------------------------------- machinery


def _errors(name: str, evaluated: Evaluated, config: Config) -> Gate:
    arms = [arm for arm in (evaluated.without, evaluated.given) if arm is not None]
    worst = max(arms, key=lambda arm: sum(arm.largest.errors.values()))
    errors, total = sum(worst.largest.errors.values()), worst.largest.total
    kinds = ", ".join(f"{kind} {count}" for kind, count in worst.largest.errors.items())
    told = f"{errors} of {total}" + (f" ({kinds})" if kinds else "")
    return _share_of_errors(f"errors, {name}", errors, total, told, config)


def _search_errors(one: Iteration, config: Config) -> Gate:
    errors = sum(search.errors for search in one.searches)
    total = sum(search.theorems for search in one.searches)
    told = f"{errors} of {total} searches"
    return _share_of_errors("errors, training searches", errors, total, told, config)


def _share_of_errors(name: str, errors: int, total: int, told: str, config: Config) -> Gate:
    rule = f"errors are at most {config.stop.errors:.0%} of the theorems"
    if errors <= config.stop.errors * total:
        return Gate(name, rule, "pass", told)
    hint = (
        "logs/ has each error's text, `burn-qed doctor` looks at the machine; when it is mended, "
        "`burn-qed reset RUN --from N` has the iteration (-1: the baseline) done again"
    )
    return Gate(name, rule, "stop", told, hint)


def _skipped(name: str, why: str) -> Gate:
    return Gate(f"{name} skipped", "every stage has enough to work with", "warn", why)


# ----------------------------------------------------------------------------------- progress


def _proves_something(one: Iteration) -> Gate:
    solved = sum(e.without.largest.solved for e in one.evaluated.values())
    total = sum(e.without.largest.total for e in one.evaluated.values())
    rule, told = "the untrained policy proves something, and not all", f"{solved} of {total}"
    if 0 < solved < total:
        return Gate("baseline", rule, "pass", told)
    hint = (
        "a larger [eval] budgets, or an easier set"
        if not solved
        else "a harder set: nothing to gain here"
    )
    return Gate("baseline", rule, "stop" if not solved else "warn", told, hint)


def _learnt(one: Iteration) -> list[Gate]:
    """Whether training, alone or with a value model, brought the policy below a baseline that has no
    network.
    """
    result = one.policy or {}
    loss, plain = result.get("best_val_loss"), result.get("baseline_val_loss")
    if not isinstance(loss, float) or not isinstance(plain, float):
        return []
    rule = "validation loss is below that of what learnt nothing"
    told = f"{loss:.3f} against {plain:.3f}, {result.get('train_examples', 0)} examples"
    if loss < plain:
        return [Gate("policy", rule, "pass", told)]
    place = "joint" if _is_joint(one) else "llm"
    hint = f"result.json in checkpoints/{place}: more proofs, longer training, or another learning rate"
    return [Gate("policy", rule, "warn", told, hint)]


def _is_joint(one: Iteration) -> bool:
    return one.policy is not None and one.policy is one.value


def _red_lines(one: Iteration, config: Config) -> list[Gate]:
    """Whether backbone and value model stand clear of the red lines, and what is done where not."""
    found = []
    ended = str((one.value or {}).get("stopped"))
    if one.value is not None and _is_joint(one):
        rule = "the policy and its value model are trained together to the last step"
        cut = ended in ("temperature", "collapse", "tactics")
        told = f"ended at step {one.value.get('steps')}: {ended}"
        told += f"; step {one.value.get('best_step')} is kept" if cut else ""
        hint = "log.jsonl in checkpoints/joint: `burn-qed train joint --help` says what the lines mean"
        found.append(Gate("joint", rule, "warn" if cut else "pass", told, hint if cut else ""))
    for line in lines(config, one.embeddings, one.value):
        title = f"red line, {line.name}"
        if line.measured is None:
            hint = "more proofs of several steps, or a larger share of theorems that are set aside"
            found.append(Gate(title, line.rule, "warn", line.told, hint))
        elif not line.crossed:
            found.append(Gate(title, line.rule, "pass", line.told))
        else:
            found.append(_crossed(title, line, one, config))
    return found


def _crossed(title: str, line: Line, one: Iteration, config: Config) -> Gate:
    acts = [f"the searches of {one.label} go without the value model"] * (line.name in one.dropped)
    stops = config.embeddings.red_line == "stop"
    acts += ["the run ends"] if stops else []
    told = f"{line.told}; {' and '.join(acts) or 'nothing is done about it'}"
    hint = (
        "`burn-qed embeddings report` draws them; labels, layer and pooling decide, and a policy "
        "that is trained too far: a smaller learning rate, fewer epochs"
        if line.of_backbone
        else "checkpoints: rank-1 by depth; `burn-qed negatives` beside deeper proofs adds groups"
    )
    hint += "; [embeddings] has the lines, and what crossing one does"
    return Gate(title, line.rule, "stop" if stops else "warn", told, hint)


def _against(name: str, before: Iteration, one: Iteration) -> Gate:
    """Whether an iteration proves more of a set than one before it, at the largest budget."""
    old, new = as_used(before, before.evaluated[name]), as_used(one, one.evaluated[name])
    budget, paired = _paired(old, new)
    gained, lost = len(paired.gained), len(paired.lost)
    told = (
        f"{old.at(budget).solved} -> {new.at(budget).solved} of {new.at(budget).total} within "
        f"{budget} nodes: {gained} gained, {lost} lost, {p_text(paired.p_value)}"
    )
    title, rule = f"{name}, against {before.label}", "it proves more than before"
    if paired.verdict == "worse":
        hint = "the model misleads the search: look at pairs, losses, and the share of accepted tactics"
        return Gate(title, rule, "stop" if one.number == 0 else "warn", told, hint)
    if gained > lost:
        return Gate(title, rule, "pass", told)
    hint = "more training theorems, larger [search] nodes, or a plateau: see what is newly proved"
    return Gate(title, rule, "warn", told, hint)


def _value_helps(name: str, without: IterationResult, given: IterationResult) -> Gate:
    budget, paired = _paired(without, given)
    told = (
        f"{value_verdict(paired)}: {without.at(budget).solved} without, "
        f"{given.at(budget).solved} with, of {given.at(budget).total} within {budget} nodes: "
        f"{len(paired.gained)} gained, {len(paired.lost)} lost, {p_text(paired.p_value)}"
    )
    rule = "with the value model more is proved, beyond chance"
    if paired.verdict == "better":
        return Gate(f"value, {name}", rule, "pass", told)
    hint = (
        "checkpoints/ebm: rank-1 by depth, and how many theorems judge; `burn-qed negatives` adds some"
    )
    return Gate(f"value, {name}", rule, "warn", told, hint)


def value_verdict(paired: Pairing) -> ValueVerdict:
    """With the value model against without it, in the words that its own verdict has."""
    words: dict[str, ValueVerdict] = {"better": "better", "worse": "no better"}
    return words.get(paired.verdict, "undecided")


def as_used(one: Iteration, evaluated: Evaluated) -> IterationResult:
    """What a user gets: guided by the value model where its own verdict says that it ranks better, and
    no red line drops it.

    The verdict is about training theorems. Taking what proved more here would choose by the answer.
    """
    better = one.value is not None and one.value.get("verdict") == "better"
    trusted = better and not one.dropped
    return evaluated.given if trusted and evaluated.given is not None else evaluated.without


def _paired(before: IterationResult, after: IterationResult) -> tuple[int, Pairing]:
    """The largest budget that both have, and the two within it."""
    comparison = compare([("before", before), ("after", after)])
    budget = comparison.budgets[-1]
    return budget, comparison.pairs[0].budgets[budget]


# ------------------------------------------------------------------------------------ stopping


def why_end(config: Config, history: History) -> str:
    """Why a run should go no further; "" where it should."""
    for one in history.iterations:
        for gate in one.gates:
            if gate.verdict == "stop":
                return f"gate: {one.label}, {gate.name}: {gate.told}; {gate.hint}"
    proved = [
        (one.number, sum(as_used(one, e).largest.solved for e in one.evaluated.values()))
        for one in history.iterations
        if _all_evaluated(config, one)
    ]
    patience = config.stop.patience
    if not patience or len(proved) <= patience + 1:  # iteration 0 is not a plateau of the baseline
        return ""
    best_before = max(solved for _, solved in proved[:-patience])
    if all(solved < best_before + config.stop.min_gain for _, solved in proved[-patience:]):
        figures = ", ".join(str(solved) for _, solved in proved)
        return f"plateau: {patience} iterations proved no more than one before them ({figures})"
    return ""


def value_answer(history: History) -> str:
    """Does the value model help? A line for each held-out set, by the last iteration that knows."""
    for one in reversed(history.iterations):
        arms = {name: e for name, e in one.evaluated.items() if e.given is not None}
        if arms:
            return "\n".join(_answer(name, e) for name, e in arms.items())
    return "not known: no value model was evaluated (`burn-qed status` says which stage was skipped)"


def _answer(name: str, evaluated: Evaluated) -> str:
    assert evaluated.given is not None
    budget, paired = _paired(evaluated.without, evaluated.given)
    before, after = evaluated.without.at(budget), evaluated.given.at(budget)
    return (
        f"Does the value model help on {name}? {value_verdict(paired)}: {before.solved} without and "
        f"{after.solved} with it, of {after.total} within {budget} nodes "
        f"({100 * (after.rate - before.rate):+.1f} points; {len(paired.gained)} gained, "
        f"{len(paired.lost)} lost, {p_text(paired.p_value)})"
    )
