"""The plan: which stages an iteration is made of, and which one is due."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.iteration.plans import RANKED, Done, walk

from burnqed.core.errors import InputError
from burnqed.iteration.config import Config, check, from_content, read_config
from burnqed.iteration.history import BASELINE
from burnqed.iteration.plan import complete, due, first_incomplete
from burnqed.iteration.sections import Data, Embeddings, Eval, Joint, Policy, Search, Teacher, Value
from burnqed.iteration.settings import JointSettings, PolicySettings, SearchSettings
from burnqed.iteration.specs import (
    Evaluate,
    Fetch,
    Look,
    Pairs,
    Spec,
    Stage,
    TrainJoint,
    TrainPolicy,
    TrainRanker,
    TrainValue,
)
from burnqed.iteration.specs import Search as SearchSpec
from burnqed.iteration.stages import stages
from burnqed.training.nano import SIZES


def named(walked: list[Stage], iteration: int) -> list[str]:
    return [stage.name for stage in walked if stage.iteration == iteration]


def asked(stage: Stage) -> Any:
    """The settings of what it does."""
    assert not isinstance(stage.spec, Fetch)
    return stage.spec.config


def paths(*names: str) -> tuple[Path, ...]:
    return tuple(map(Path, names))


def guide(stage: Stage) -> Path | None:
    """The value model that it asks."""
    spec = stage.spec
    return spec.config.value if isinstance(spec, SearchSpec | Evaluate) else None


def at(walked: list[Stage], iteration: int, name: str) -> Stage:
    return next(stage for stage in walked if stage.key == (iteration, name))


def test_the_stages_of_a_run_from_nothing() -> None:
    walked = walk(Config(), 2)
    assert named(walked, BASELINE) == [
        "fetch-core-300", "held-out-core-300", "held-out-qed-core", "theorems",
        "eval-core-300", "eval-qed-core",
    ]  # fmt: skip
    searching = ["search-1-theorems", "search-1", "search-2-theorems", "search-2"]
    evaluating = ["eval-core-300", "eval-qed-core"]
    assert named(walked, 0) == [
        "teacher-1", "teacher-2-theorems", "teacher-2", "teacher-pairs", "policy", "export",
        *searching, "noise-theorems", "noise", "embeddings", *evaluating,
    ]  # fmt: skip
    later = ["pairs", "policy", "export", "beside", "value", "embeddings", *searching, *evaluating]
    assert named(walked, 1) == named(walked, 2) == later


def test_no_stage_comes_twice_and_no_two_write_to_one_place() -> None:
    walked = walk(Config(), 4)
    assert len({stage.key for stage in walked}) == len(walked)
    places = [stage.out for stage in walked if stage.out]
    assert len(set(places)) == len(places)


def test_learning_rates_halve_and_each_training_goes_on_from_the_one_before() -> None:
    walked = walk(Config(), 3)
    trainings = [at(walked, number, "policy") for number in range(4)]
    assert [asked(one).lr for one in trainings] == [0.001, 0.0005, 0.00025, 0.000125]
    assert [asked(one).base for one in trainings] == [
        "nano", *(f"checkpoints/llm/iter_{k}/best" for k in range(3))
    ]  # fmt: skip
    assert [asked(one).epochs for one in trainings] == [12, 4, 4, 4]


def test_what_searches_found_comes_more_often_beside_a_sample_of_the_base() -> None:
    walked = walk(Config(), 1)
    first, second = asked(at(walked, 0, "policy")), asked(at(walked, 1, "policy"))
    assert first.data == second.data == paths("trajectories/teacher/pairs.jsonl")
    assert first.extra_data == ()
    assert second.extra_data == paths("trajectories/iter_1/pairs.jsonl")
    assert (second.extra_weight, second.base_sample) == (10, 10000)
    found = at(walked, 1, "pairs").spec
    assert isinstance(found, Pairs)
    assert found.runs == paths(
        *(f"trajectories/iter_0/{name}" for name in ("search_1", "search_2", "noise"))
    )
    for stage in (at(walked, 0, "teacher-pairs"), at(walked, 1, "pairs")):
        assert asked(stage).without == ("core-300", "qed-core")


def test_given_pairs_take_the_teachers_place() -> None:
    walked = walk(Config(data=Data(base=("human.jsonl",))), 1)
    assert not [stage for stage in walked if stage.name.startswith("teacher")]
    assert asked(at(walked, 0, "policy")).data == paths("human.jsonl")
    assert asked(at(walked, 0, "search-1-theorems")).unproved == ()


def test_each_search_is_on_what_none_before_it_proved() -> None:
    walked = walk(Config(), 1)
    taught = paths("trajectories/teacher/search_1", "trajectories/teacher/search_2")
    assert asked(at(walked, 0, "teacher-2-theorems")).unproved == taught[:1]
    assert asked(at(walked, 0, "search-1-theorems")).unproved == taught
    second = asked(at(walked, 0, "search-2-theorems"))
    assert second.unproved == (*taught, *paths("trajectories/iter_0/search_1"))
    assert second.theorems == "trajectories/iter_0/theorems_1.json"
    later = asked(at(walked, 1, "search-1-theorems"))
    own = paths(*(f"trajectories/iter_0/{name}" for name in ("search_1", "search_2", "noise")))
    assert later.unproved == (*taught, *own)
    assert later.seed == 1  # another sample each time


def test_noise_is_for_iteration_0_and_value_models_for_those_after() -> None:
    walked = walk(Config(), 2)
    noise = asked(at(walked, 0, "noise"))
    assert (noise.temperature, noise.noise) == (1.2, True)
    assert not any(guide(stage) for stage in walked if stage.iteration < 1)
    for name in ("search-1", "search-2", "eval-core-300"):
        assert guide(at(walked, 1, name)) == Path("checkpoints/ebm/iter_1/best")
    assert asked(at(walked, 1, "eval-core-300")).ablate
    assert not named(walk(Config(search=Search(noise_nodes=0)), 0), 0)[-1].startswith("noise")


def test_what_is_about_a_value_model_waits_for_one() -> None:
    """A search without one refuses it, and a run must not fail hours later of that."""
    settings = replace(SearchSettings(), value_anyway=True, beta=0.7)
    walked = walk(Config(search=Search(settings=settings)), 1)
    for number, name, anyway in ((0, "search-1", False), (0, "noise", False), (1, "search-1", True)):
        assert asked(at(walked, number, name)).value_anyway is anyway
        assert asked(at(walked, number, name)).beta == (0.7 if anyway else None)


def test_a_run_goes_on_without_what_could_not_be_made() -> None:
    walked = walk(Config(), 2, frozenset({"value", "beside", "pairs"}))
    assert "value" not in named(walked, 1)
    assert not any(guide(stage) for stage in walked)
    assert not asked(at(walked, 1, "eval-core-300")).ablate
    assert asked(at(walked, 1, "policy")).extra_data == ()
    # Nothing left to search: the searches that would need a selection are skipped with it.
    nothing = walk(Config(), 1, frozenset({"search-1-theorems", "search-2-theorems", "noise-theorems"}))
    assert not {"search-1", "search-2", "noise"} & set(named(nothing, 0))
    assert "policy" in named(nothing, 1)


@pytest.mark.parametrize("joint", [None, 1, 2])
def test_what_a_stage_is_does_not_change_once_it_is_done(joint: int | None) -> None:
    config = Config(value=Value(model="policy"), joint=Joint(first=joint))
    done: Done = {}
    due_then: dict[tuple[int, str], Spec] = {}
    for number in range(BASELINE, 3):
        while (following := due(config, number, done)) is not None:
            due_then[following.stage.key] = following.stage.spec
            done[following.stage.key] = "done"
    for number in range(BASELINE, 3):
        for stage in stages(config, number, done):
            assert stage.spec == due_then[stage.key], stage.key


def test_every_search_for_training_is_looked_at_and_evaluations_are_not() -> None:
    for stage in walk(Config(), 2):
        searching = stage.spec.words[0] in ("search", "negatives")
        assert stage.theorems == (stage.spec.words[1] if searching else "")


def test_budgets_rise_with_the_iterations_if_asked() -> None:
    config = Config(search=Search(nodes=(4, 10), escalate=1.5))
    walked = walk(config, 2)
    assert [asked(at(walked, k, "search-2")).nodes for k in range(3)] == [10, 15, 22]


def test_a_baseline_is_the_base_model_where_it_is_one() -> None:
    assert asked(at(walk(Config(), BASELINE), BASELINE, "eval-qed-core")).policy == "portfolio"
    config = Config()
    config = replace(config, policy=replace(config.policy, base="smollm2"))
    measured = asked(at(walk(config, BASELINE), BASELINE, "eval-qed-core"))
    assert (measured.model, measured.policy) == ("smollm2", "mix")


# ------------------------------------------------------------------------------- both models together

OWN = Value(model="policy")
TOGETHER = Config(value=OWN, joint=Joint(first=2), policy=Policy(base="smollm2"))


def test_from_an_iteration_on_both_models_are_trained_together() -> None:
    check(TOGETHER)
    walked = walk(TOGETHER, 3)
    searching = ["search-1-theorems", "search-1", "search-2-theorems", "search-2"]
    rest = ["embeddings", *searching, "eval-core-300", "eval-qed-core"]
    assert named(walked, 1) == ["pairs", "policy", "export", "beside", "value", *rest]
    assert named(walked, 2) == named(walked, 3) == ["pairs", "beside", "joint", *rest]
    places = [stage.out for stage in walked if stage.out]
    assert len(set(places)) == len(places)


def test_a_joint_training_begins_with_the_policy_before_and_all_siblings() -> None:
    walked = walk(TOGETHER, 3)
    second, third = at(walked, 2, "joint").spec, at(walked, 3, "joint").spec
    assert isinstance(second, TrainJoint)
    assert isinstance(third, TrainJoint)
    # The exported policy gets an adapter of its own. A joint one goes on with the one it has.
    assert second.config.base == "models/llm/iter_1"
    assert third.config.base == "checkpoints/joint/iter_2/best"
    assert {Path("trajectories/iter_1/beside"), Path("trajectories/iter_2/beside")} < {
        *second.config.runs
    }
    assert second.config.extra_data == paths("trajectories/iter_2/pairs.jsonl")
    assert (second.config.val_share, second.config.slower) == (0.4, True)
    assert second.config.lr is None  # the training's own
    assert asked(at(walked, 2, "beside")).model == "models/llm/iter_1"
    assert asked(at(walked, 3, "beside")).model == "checkpoints/joint/iter_2/best"
    nano = at(walk(replace(TOGETHER, policy=Policy()), 2), 2, "joint").spec
    assert isinstance(nano, TrainJoint)
    assert (nano.config.method, nano.config.lr) == ("full", 0.00025)


def test_searches_and_evaluations_ask_both_models_of_a_joint_training() -> None:
    walked = walk(TOGETHER, 2)
    for name in ("search-1", "search-2", "eval-core-300"):
        assert asked(at(walked, 2, name)).model == "checkpoints/joint/iter_2/best"
        assert guide(at(walked, 2, name)) == Path("checkpoints/joint/iter_2/best")


def test_without_enough_for_both_they_are_trained_one_after_the_other() -> None:
    walked = walk(replace(TOGETHER, joint=Joint(first=1)), 1, frozenset({"joint"}))
    assert named(walked, 1)[:5] == ["pairs", "beside", "policy", "export", "value"]
    spec = at(walked, 1, "policy").spec
    assert isinstance(spec, TrainPolicy)
    assert spec.config.base == "checkpoints/llm/iter_0/best"
    assert asked(at(walked, 1, "search-1")).model == "models/llm/iter_1"
    assert guide(at(walked, 1, "search-1")) == Path("checkpoints/ebm/iter_1/best")


def test_a_policy_goes_on_from_the_joint_training_before() -> None:
    done: Done = {(1, "joint"): "done", (2, "joint"): "skipped"}
    spec = next(s.spec for s in stages(TOGETHER, 2, done) if s.name == "policy")
    assert isinstance(spec, TrainPolicy)
    assert spec.config.base == "checkpoints/joint/iter_1/best"


def test_searches_go_without_a_dropped_head_and_evaluations_measure_it() -> None:
    for stage, place in (("value", "ebm"), ("joint", "joint")):
        done: Done = {(2, stage): "dropped"}
        found = {one.name: one for one in stages(TOGETHER, 2, done)}
        assert guide(found["search-1"]) is None
        assert guide(found["eval-core-300"]) == Path(f"checkpoints/{place}/iter_2/best")
        assert asked(found["eval-core-300"]).ablate


# ---------------------------------------------------------------------------------------- embeddings


def test_each_backbone_is_measured_beside_the_first_on_theorems_it_has_not_learnt() -> None:
    walked = walk(TOGETHER, 2)
    for number, model in ((1, "models/llm/iter_1"), (2, "checkpoints/joint/iter_2/best")):
        spec = at(walked, number, "embeddings").spec
        assert isinstance(spec, Look)
        assert (spec.model, spec.against) == ("models/llm/iter_0", model)
        assert Path(f"trajectories/iter_{number}/beside") in spec.runs
        assert not any(f"iter_{number}/search" in str(run) for run in spec.runs)
        assert (spec.config.val_share, spec.config.states) == (0.1, 2000)
    first = at(walked, 0, "embeddings").spec
    assert isinstance(first, Look)
    assert (first.model, first.against) == ("models/llm/iter_0", None)
    assert Path("trajectories/iter_0/noise") in first.runs


def test_theorems_that_any_policy_has_learnt_from_do_not_measure() -> None:
    def share(config: Config, number: int) -> float:
        spec = at(walk(config, number), number, "embeddings").spec
        assert isinstance(spec, Look)
        return spec.config.val_share

    wide = replace(TOGETHER, data=Data(val_share=0.5))
    assert (share(wide, 1), share(wide, 2)) == (0.5, 0.4)
    with_file = replace(PolicySettings(), val=(Path("mine.jsonl"),))
    assert share(replace(wide, policy=Policy(base="smollm2", training=with_file)), 1) == 0.0


def test_theorems_that_any_policy_has_learnt_from_do_not_judge_a_head_on_its_hidden_states() -> None:
    def share(config: Config, *key: Any) -> float:
        spec = at(walk(config, 2), *key).spec
        assert isinstance(spec, TrainValue | TrainJoint)
        return spec.config.policy_val_share

    wide = replace(TOGETHER, data=Data(val_share=0.5))
    assert share(wide, 1, "value") == 0.5
    words = replace(wide, value=Value(model="words"), joint=Joint())
    assert share(words, 1, "value") == 0.0
    assert (share(TOGETHER, 2, "joint"), share(wide, 2, "joint")) == (0.1, 0.4)
    with_file = replace(PolicySettings(), val=(Path("mine.jsonl"),))
    learnt = replace(TOGETHER, policy=Policy(base="smollm2", training=with_file))
    assert share(learnt, 2, "joint") == 0.0


def test_nothing_is_measured_where_nobody_asks_and_where_there_is_no_backbone() -> None:
    for config in (Config(embeddings=Embeddings(states=0)), RANKED):
        assert "embeddings" not in {stage.name for stage in walk(config, 2)}


# ---------------------------------------------------------------------------- without a language model


def test_the_stages_of_a_run_with_a_ranker() -> None:
    """It learns from searches as they are, and is used as it was trained: no pairs, and no export."""
    check(RANKED)
    plain, walked = walk(Config(), 2), walk(RANKED, 2)
    for number in (BASELINE, 0, 1, 2):
        left_out = {"teacher-pairs", "pairs", "export", "embeddings"}
        assert named(walked, number) == [one for one in named(plain, number) if one not in left_out]
    assert len({stage.out for stage in walked if stage.out}) == sum(bool(one.out) for one in walked)


def test_a_ranker_is_taught_by_itself_and_learns_from_all_searches() -> None:
    walked = walk(RANKED, 2)
    for name in ("teacher-1", "teacher-2"):
        taught_by = asked(at(walked, 0, name))
        assert (taught_by.policy, taught_by.model) == ("ranked", None)
    taught = [f"trajectories/teacher/search_{k}" for k in (1, 2)]
    first = [f"trajectories/iter_0/{name}" for name in ("search_1", "search_2", "noise")]
    second = [f"trajectories/iter_1/search_{k}" for k in (1, 2)]
    for number, runs in enumerate((taught, [*taught, *first], [*taught, *first, *second])):
        training = at(walked, number, "policy")
        spec = training.spec
        assert isinstance(spec, TrainRanker)
        assert spec.config.data == paths(*runs)
        assert spec.config.without == ("core-300", "qed-core")
        assert training.out == f"checkpoints/llm/iter_{number}"
        assert (spec.lean.workers, spec.config.epochs, spec.config.val_share) == (3, 7, 0.1)
        assert spec.whole
        assert not spec.resumes


def test_searches_and_evaluations_ask_the_ranker_of_their_iteration() -> None:
    walked = walk(RANKED, 1)
    for number, names in ((0, ("search-1", "search-2", "noise", "eval-core-300")),
                          (1, ("beside", "search-1", "search-2", "eval-qed-core"))):  # fmt: skip
        for name in names:
            own = asked(at(walked, number, name))
            assert own.policy == "ranked", name
            assert own.model == f"checkpoints/llm/iter_{number}/best", name
            assert own.device == "auto", name
    assert asked(at(walked, 1, "value")).model == "words"
    for name in ("eval-core-300", "eval-qed-core"):
        baseline = asked(at(walked, BASELINE, name))
        assert (baseline.policy, baseline.model) == ("portfolio", None)


def test_a_ranker_learns_from_the_searches_that_were_made() -> None:
    walked = walk(RANKED, 1, frozenset({"teacher-2-theorems", "noise-theorems", "search-2"}))
    assert asked(at(walked, 0, "policy")).data == paths("trajectories/teacher/search_1")
    assert asked(at(walked, 1, "policy")).data == paths(
        "trajectories/teacher/search_1", "trajectories/iter_0/search_1"
    )


def test_what_is_due_is_the_first_that_is_not_done() -> None:
    config = Config(eval=Eval(sets=("qed-core",)))
    done: Done = {}
    for name in ("held-out-qed-core", "theorems", "eval-qed-core"):
        following = due(config, BASELINE, done)
        assert following is not None
        assert following.stage.name == name
        assert not complete(config, BASELINE, done)
        done[BASELINE, name] = "done"
    assert complete(config, BASELINE, done)
    assert first_incomplete(config, done, 3) == 0


def test_the_defaults_in_the_documents_are_the_defaults() -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "iteration.md"
    block = page.read_text(encoding="utf-8").split("```toml\n", 1)[1].split("```", 1)[0]
    assert from_content(tomllib.loads(block), "the page") == Config()


@pytest.mark.parametrize("name", ["smoke", "lean-start", "from-nothing", "heart"])
def test_presets_are_whole(name: str) -> None:
    check(read_config(name))


def test_names_keep_their_meaning_where_folders_are_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nano", "ranker", "qed-core"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    config = read_config("smoke", ["run.seed=1"])
    assert (config.policy.base, config.eval.sets) == ("nano", ("qed-core",))
    ranked = read_config("lean-start", ["policy.base=ranker", "search.policy=ranked"])
    assert ranked.policy.base == "ranker"


def test_files_are_meant_from_where_the_configuration_lies(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"theorems": []}')
    (tmp_path / "mine.toml").write_text('[theorems]\nset = "mine.json"\n')
    assert read_config(str(tmp_path / "mine.toml")).theorems.set == str(tmp_path / "mine.json")


def test_files_that_lie_only_where_one_stands_are_not_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stages stand elsewhere: what is not found now would be missed after hours."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "pairs.jsonl").write_text("{}")
    (tmp_path / "configs" / "mine.toml").write_text('[data]\nbase = ["pairs.jsonl"]\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"there is no pairs\.jsonl"):
        read_config("configs/mine.toml")
    told = read_config("configs/mine.toml", ['data.base=["pairs.jsonl"]'])
    assert told.data.base == (str(tmp_path / "pairs.jsonl"),)
    (tmp_path / "models" / "mine").mkdir(parents=True)  # as a name of the hub, it would be fetched
    (tmp_path / "configs" / "mine.toml").write_text('[policy]\nbase = "models/mine"\n')
    with pytest.raises(InputError, match="there is no models/mine"):
        read_config("configs/mine.toml")


def test_what_a_bundle_brought_is_known_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path))
    carried = tmp_path / "brought" / "sets" / "mine.json"
    carried.parent.mkdir(parents=True)
    carried.write_text('{"theorems": []}')
    model = tmp_path / "brought" / "models" / "small"
    model.mkdir(parents=True)
    config = read_config("smoke", ["theorems.set=mine", "policy.base=small", 'eval.sets=["mine"]'])
    assert (config.theorems.set, config.eval.sets) == (str(carried), (str(carried),))
    assert config.policy.base == str(model)


def test_sizes_of_nano_are_those_that_there_are() -> None:
    for size in SIZES:
        read_config("smoke", [f"policy.nano_size={size}"])


LONGER = replace(JointSettings(), steps=9)
OTHER, WRONG = (replace(PolicySettings(), weight_decay=value) for value in (0.5, -1.0))


def test_where_there_is_nothing_to_search_later_rounds_are_skipped_too() -> None:
    """They would begin with what the first has drawn, and it has drawn nothing."""
    config = replace(Config(), search=Search(nodes=(1, 2, 3)))
    walked = walk(config, 1, frozenset({"search-1-theorems"}))
    assert not [name for name in named(walked, 1) if name.startswith("search")]
    assert named(walked, 1)[-2:] == ["eval-core-300", "eval-qed-core"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (Config(eval=Eval(sets=())), "sets is empty"),
        (Config(eval=Eval(budgets=(0,))), r"\[eval\]: budgets is \(0,\)"),
        (Config(eval=Eval(sets=("nope",))), "there is no set nope"),
        (Config(eval=Eval(sets=("qed-core", "a/train.json"))), "a set called train is held out"),
        (Config(search=Search(sample=-3)), r"\[search\]: sample is -3"),
        (Config(data=Data(easy_share=2.0)), "easy_share is 2"),
        (Config(data=Data(base=("absent.jsonl",))), r"there is no absent\.jsonl"),
        (Config(eval=Eval(sets=("a/mine.json", "b/mine.json"))), "two sets are called mine"),
        (Config(search=Search(nodes=())), "nodes is empty"),
        (Config(teacher=Teacher(nodes=())), "nodes is empty"),
        (replace(RANKED, search=Search()), "policy is mix, and .* base is ranker"),
        (replace(RANKED, search=Search(policy="local")), "policy is local, and .* base is ranker"),
        (replace(RANKED, policy=Policy()), "policy is ranked, and .* base is nano"),
        (replace(RANKED, policy=Policy(base="smollm2")), "policy is ranked, and .* base is smollm2"),
        (replace(RANKED, value=Value(model="policy")), "a ranker encodes no states"),
        (replace(RANKED, data=Data(base=("pairs.jsonl",))), "learns from searches, and not from pairs"),
        (replace(RANKED, teacher=Teacher(nodes=())), "nodes is empty"),
        (Config(teacher=Teacher(nodes=(1,))), "within one node all proofs are one step"),
        (Config(value=Value(val_share=0.0)), "val_share is 0"),
        (Config(policy=Policy(ranker=RANKED.policy.ranker)), r"\[policy.ranker\]: it is for another"),
        (replace(RANKED, policy=Policy(base="ranker", training=OTHER)), "for another policy than base"),
        (Config(policy=Policy(training=WRONG)), r"\[policy.training\]: weight_decay is -1"),
        (Config(policy=Policy(base="smolm2")), r"\[policy\]: there is no smolm2"),
        (Config(joint=Joint(first=1)), r"\[joint\]: it trains a head on the policy's own model"),
        (
            replace(TOGETHER, value=Value(model="policy", first=3)),
            "first is 2, and value models begin",
        ),
        (Config(joint=Joint(training=LONGER)), r"\[joint.training\]: no iteration trains both"),
        (Config(embeddings=Embeddings(states=5)), r"\[embeddings\]: 5 states say nothing"),
        (Config(embeddings=Embeddings(least_probe=1.5)), "least_probe is 1.5"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(config: Config, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(config)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("search.policy=portfolio", "unknown policy portfolio"),
        ("policy.nano_size=7b", "unknown nano size 7b"),
    ],
)
def test_a_word_that_no_key_knows_is_refused(setting: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_config("smoke", [setting])


@pytest.mark.parametrize("config", [Config(), RANKED])
def test_every_search_and_evaluation_spells_its_policy_out(config: Config) -> None:
    """What a command does by default may change, and what a run means may not."""
    for stage in walk(config, 2):
        searching = stage.spec.words[0] in ("search", "eval", "negatives")
        assert ("--policy" in stage.spec.words) == searching, stage.shown()
