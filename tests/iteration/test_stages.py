"""The plan: which commands an iteration is made of, and which one is due."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from burnqed.core.errors import InputError
from burnqed.iteration.config import (
    Config,
    Data,
    Eval,
    Policy,
    Run,
    Search,
    Teacher,
    Value,
    check,
    read_config,
)
from burnqed.iteration.history import BASELINE
from burnqed.iteration.plan import complete, due, first_incomplete
from burnqed.iteration.stages import Stage, Status, stages
from burnqed.training.nano import SIZES

Done = dict[tuple[int, str], Status]


def walk(config: Config, last: int, skip: frozenset[str] = frozenset()) -> list[Stage]:
    """Every stage up to an iteration, in the order in which it falls due; some are skipped."""
    done: Done = {}
    walked = []
    for number in range(BASELINE, last + 1):
        while (following := due(config, number, done)) is not None:
            stage = following.stage
            skipped = bool(following.without) or stage.name in skip
            done[stage.key] = "skipped" if skipped else "done"
            if not skipped:
                walked.append(stage)
    assert first_incomplete(config, done, last) is None
    return walked


def named(walked: list[Stage], iteration: int) -> list[str]:
    return [stage.name for stage in walked if stage.iteration == iteration]


def option(stage: Stage, name: str) -> list[str]:
    return [value for key, value in zip(stage.command, stage.command[1:], strict=False) if key == name]


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
        *searching, "noise-theorems", "noise", *evaluating,
    ]  # fmt: skip
    later = ["pairs", "policy", "export", "beside", "value", *searching, *evaluating]
    assert named(walked, 1) == named(walked, 2) == later


def test_no_stage_comes_twice_and_no_two_write_to_one_place() -> None:
    walked = walk(Config(), 4)
    assert len({stage.key for stage in walked}) == len(walked)
    places = [stage.out for stage in walked if stage.out]
    assert len(set(places)) == len(places)


def test_learning_rates_halve_and_each_training_goes_on_from_the_one_before() -> None:
    walked = walk(Config(), 3)
    trainings = [at(walked, number, "policy") for number in range(4)]
    assert [option(one, "--lr") for one in trainings] == [
        ["0.001"],
        ["0.0005"],
        ["0.00025"],
        ["0.000125"],
    ]
    assert [option(one, "--base") for one in trainings] == [
        ["nano"], *([f"checkpoints/llm/iter_{k}/best"] for k in range(3))
    ]  # fmt: skip
    assert [option(one, "--epochs") for one in trainings] == [["12"], ["4"], ["4"], ["4"]]


def test_what_searches_found_comes_more_often_beside_a_sample_of_the_base() -> None:
    walked = walk(Config(), 1)
    first, second = at(walked, 0, "policy"), at(walked, 1, "policy")
    assert option(first, "--data") == option(second, "--data") == ["trajectories/teacher/pairs.jsonl"]
    assert "--extra-data" not in first.command
    assert option(second, "--extra-data") == ["trajectories/iter_1/pairs.jsonl"]
    assert option(second, "--extra-weight") == ["10"]
    assert option(second, "--base-sample") == ["10000"]
    found = at(walked, 1, "pairs").command
    assert "trajectories/iter_0/search_1" in found
    assert "trajectories/iter_0/noise" in found
    assert not any("teacher" in part for part in found)
    for stage in (at(walked, 0, "teacher-pairs"), at(walked, 1, "pairs")):
        assert option(stage, "--without") == ["core-300", "qed-core"]


def test_given_pairs_take_the_teachers_place() -> None:
    walked = walk(Config(data=Data(base=("human.jsonl",))), 1)
    assert not [stage for stage in walked if stage.name.startswith("teacher")]
    assert option(at(walked, 0, "policy"), "--data") == ["human.jsonl"]
    assert "--unproved" not in at(walked, 0, "search-1-theorems").command


def test_each_search_is_on_what_none_before_it_proved() -> None:
    walked = walk(Config(), 1)
    taught = ["trajectories/teacher/search_1", "trajectories/teacher/search_2"]
    assert option(at(walked, 0, "teacher-2-theorems"), "--unproved") == taught[:1]
    assert option(at(walked, 0, "search-1-theorems"), "--unproved") == taught
    second = at(walked, 0, "search-2-theorems")
    assert option(second, "--unproved") == [*taught, "trajectories/iter_0/search_1"]
    assert option(second, "--theorems") == ["trajectories/iter_0/theorems_1.json"]
    later = option(at(walked, 1, "search-1-theorems"), "--unproved")
    own = [f"trajectories/iter_0/{name}" for name in ("search_1", "search_2", "noise")]
    assert later == [*taught, *own]
    assert option(at(walked, 1, "search-1-theorems"), "--seed") == ["1"]  # another sample each time


def test_noise_is_for_iteration_0_and_value_models_for_those_after() -> None:
    walked = walk(Config(), 2)
    noise = at(walked, 0, "noise")
    assert option(noise, "--temperature") == ["1.2"]
    assert "--noise" in noise.command
    assert all("--value" not in stage.command for stage in walked if stage.iteration < 1)
    for name in ("search-1", "search-2", "eval-core-300"):
        assert option(at(walked, 1, name), "--value") == ["checkpoints/ebm/iter_1/best"]
    assert "--ablate" in at(walked, 1, "eval-core-300").command
    assert not named(walk(Config(search=Search(noise_nodes=0)), 0), 0)[-1].startswith("noise")


def test_a_run_goes_on_without_what_could_not_be_made() -> None:
    walked = walk(Config(), 2, frozenset({"value", "beside", "pairs"}))
    assert "value" not in named(walked, 1)
    assert all("--value" not in stage.command for stage in walked)
    assert all("--ablate" not in stage.command for stage in walked)
    assert "--extra-data" not in at(walked, 1, "policy").command
    # Nothing left to search: the searches that would need a selection are skipped with it.
    nothing = walk(Config(), 1, frozenset({"search-1-theorems", "search-2-theorems", "noise-theorems"}))
    assert not {"search-1", "search-2", "noise"} & set(named(nothing, 0))
    assert "policy" in named(nothing, 1)


def test_what_a_stage_is_does_not_change_once_it_is_done() -> None:
    config = Config()
    done: Done = {}
    commands: dict[tuple[int, str], tuple[str, ...]] = {}
    for number in range(BASELINE, 3):
        while (following := due(config, number, done)) is not None:
            commands[following.stage.key] = following.stage.command
            done[following.stage.key] = "done"
    for number in range(BASELINE, 3):
        for stage in stages(config, number, done):
            assert stage.command == commands[stage.key], stage.key


def test_every_search_for_training_is_looked_at_and_evaluations_are_not() -> None:
    for stage in walk(Config(), 2):
        searching = stage.command[0] in ("search", "negatives")
        assert stage.theorems == (stage.command[1] if searching else "")


def test_budgets_rise_with_the_iterations_if_asked() -> None:
    config = Config(search=Search(nodes=(4, 10), escalate=1.5))
    walked = walk(config, 2)
    assert [option(at(walked, k, "search-2"), "--nodes") for k in range(3)] == [["10"], ["15"], ["22"]]


def test_a_baseline_is_the_base_model_where_it_is_one() -> None:
    assert "portfolio" in at(walk(Config(), BASELINE), BASELINE, "eval-qed-core").command
    config = Config()
    config = replace(config, policy=replace(config.policy, base="smollm2"))
    command = at(walk(config, BASELINE), BASELINE, "eval-qed-core")
    assert option(command, "--model") == ["smollm2"]
    assert option(command, "--policy") == ["mix"]


# ---------------------------------------------------------------------------- without a language model

RANKED = Config(
    policy=Policy(base="ranker", options=("--epochs", "7")),
    search=Search(policy="ranked"),
    run=Run(device="cuda", workers=3),
)


def test_the_stages_of_a_run_with_a_ranker() -> None:
    """It learns from searches as they are, and is used as it was trained: no pairs, and no export."""
    check(RANKED)
    plain, walked = walk(Config(), 2), walk(RANKED, 2)
    for number in (BASELINE, 0, 1, 2):
        left_out = {"teacher-pairs", "pairs", "export"}
        assert named(walked, number) == [one for one in named(plain, number) if one not in left_out]
    assert len({stage.out for stage in walked if stage.out}) == sum(bool(one.out) for one in walked)


def test_a_ranker_is_taught_by_itself_and_learns_from_all_searches() -> None:
    walked = walk(RANKED, 2)
    for name in ("teacher-1", "teacher-2"):
        assert option(at(walked, 0, name), "--policy") == ["ranked"]
        assert "--model" not in at(walked, 0, name).command
    taught = [f"trajectories/teacher/search_{k}" for k in (1, 2)]
    first = [f"trajectories/iter_0/{name}" for name in ("search_1", "search_2", "noise")]
    second = [f"trajectories/iter_1/search_{k}" for k in (1, 2)]
    for number, runs in enumerate((taught, [*taught, *first], [*taught, *first, *second])):
        training = at(walked, number, "policy")
        assert training.command[:2] == ("train", "ranker")
        assert option(training, "--data") == runs
        assert option(training, "--without") == ["core-300", "qed-core"]
        assert option(training, "--out") == [training.out] == [f"checkpoints/llm/iter_{number}"]
        assert (option(training, "--workers"), option(training, "--epochs")) == (["3"], ["7"])
        assert option(training, "--val-share") == ["0.1"]
        assert not {"--base", "--lr", "--batch", "--device", "--extra-data"} & set(training.command)
        assert training.whole
        assert not training.resumes


def test_searches_and_evaluations_ask_the_ranker_of_their_iteration() -> None:
    walked = walk(RANKED, 1)
    for number, names in ((0, ("search-1", "search-2", "noise", "eval-core-300")),
                          (1, ("beside", "search-1", "search-2", "eval-qed-core"))):  # fmt: skip
        for name in names:
            stage = at(walked, number, name)
            assert option(stage, "--policy") == ["ranked"], name
            assert option(stage, "--model") == [f"checkpoints/llm/iter_{number}/best"], name
            assert "--device" not in stage.command, name
    assert option(at(walked, 1, "value"), "--model") == ["words"]
    for name in ("eval-core-300", "eval-qed-core"):
        baseline = at(walked, BASELINE, name)
        assert option(baseline, "--policy") == ["portfolio"]
        assert "--model" not in baseline.command


def test_a_ranker_learns_from_the_searches_that_were_made() -> None:
    walked = walk(RANKED, 1, frozenset({"teacher-2-theorems", "noise-theorems", "search-2"}))
    assert option(at(walked, 0, "policy"), "--data") == ["trajectories/teacher/search_1"]
    assert option(at(walked, 1, "policy"), "--data") == [
        "trajectories/teacher/search_1", "trajectories/iter_0/search_1",
    ]  # fmt: skip


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


@pytest.mark.parametrize("name", ["smoke", "lean-start", "from-nothing"])
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
    ranked = read_config("smoke", ["policy.base=ranker", "search.policy=ranked"])
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
        (Config(policy=Policy(base="smolm2")), r"\[policy\]: there is no smolm2"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(config: Config, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(config)


@pytest.mark.parametrize(
    ("setting", "said"),
    [("search.policy=portfolio", "no policy portfolio"), ("policy.nano_size=7b", "no nano size 7b")],
)
def test_a_word_that_no_key_knows_is_refused(setting: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_config("smoke", [setting])


@pytest.mark.parametrize("config", [Config(), RANKED])
def test_every_search_and_evaluation_spells_its_policy_out(config: Config) -> None:
    """What a command does by default may change, and what a run means may not."""
    for stage in walk(config, 2):
        asked = stage.command[0] in ("search", "eval", "negatives")
        assert ("--policy" in stage.command) == asked, stage.shown
