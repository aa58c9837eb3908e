"""Runs that were begun when settings of commands were words in a list go on as what they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.config import as_content
from burnqed.core.errors import ConfigError, InputError
from burnqed.iteration import opening, rounds
from burnqed.iteration.config import Config, from_content, read_config
from burnqed.iteration.directory import freeze, read_run

TABLES = {
    "policy": ("training", "ranker"), "search": ("settings",), "value": ("training", "encoder"),
    "eval": ("settings",),
}  # fmt: skip


def old(**options: list[str]) -> dict[str, Any]:
    """A manifest's configuration of before there were tables."""
    content = as_content(Config())
    for section, tables in TABLES.items():
        for table in tables:
            del content[section][table]
        content[section]["options"] = options.get(section, [])
    content["value"]["options"] = options.get("value", ["--slower"])
    return content


def test_one_without_options_is_the_default() -> None:
    assert from_content(old(), "here") == Config()


def test_a_project_of_searches_is_that_of_the_run() -> None:
    content = as_content(Config())
    content["search"]["settings"]["project"] = "/lake"
    content["eval"]["settings"]["project"] = None
    assert from_content(content, "here").run.project == Path("/lake")
    content["search"]["settings"]["project"] = None
    assert from_content(content, "here") == Config()


def test_options_are_settings_of_their_section() -> None:
    content = old(
        policy=["--weight-decay", "0.1", "--match=5", "--checkpointing", "--val", "a", "--val", "b"],
        search=["--no-logprobs", "--import", "Std", "--temperature", "0.5"],
        value=["--epochs", "2", "--pooling", "last"],
        eval=["--pass-n", "3"],
    )
    config = from_content(content, "here")
    told = as_content(config)
    plain = as_content(Config())
    assert told["policy"]["training"] == plain["policy"]["training"] | {
        "weight_decay": 0.1, "matched": 5, "checkpointing": True, "val": ["a", "b"],
    }  # fmt: skip
    assert told["search"]["settings"] == plain["search"]["settings"] | {
        "logprobs": False, "imports": ["Std"], "temperature": 0.5,
    }  # fmt: skip
    # Whoever gave others than `--slower` had it not.
    training = plain["value"]["training"] | {"slower": False, "epochs": 2}
    assert told["value"]["training"] == training
    assert told["value"]["encoder"]["pooling"] == "last"
    assert told["eval"]["settings"]["pass_n"] == 3


def test_those_of_a_ranker_are_a_rankers() -> None:
    content = old(policy=["--epochs", "7"])
    content["policy"]["base"] = "ranker"
    assert as_content(from_content(content, "here"))["policy"]["ranker"]["epochs"] == 7


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--lr", "1"], r"here, \[policy\]: the option --lr is not a setting of a run"),
        (["--rank"], "--rank has no value"),
        (["--rank", "many"], "--rank is many"),
        (["--rank", "0"], r"\[policy.training\]: rank is 0"),
    ],
)
def test_what_is_no_setting_is_told(options: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        from_content(old(policy=options), "here")
    assert caught.value.hint


def test_an_older_run_goes_on_with_the_same_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its file as it is written now, too; and with another it does not."""
    monkeypatch.setattr(opening, "_toolchain", lambda _: "embedded 4.28")
    begun = rounds.manifest(Config(), "embedded 4.28") | {"format": 1}
    begun["config"] = old(policy=["--weight-decay", "0.1"])
    freeze(tmp_path / "run", begun)
    assert as_content(read_run(tmp_path / "run")[0])["policy"]["training"]["weight_decay"] == 0.1

    def go_on(config: Config | None) -> None:
        opening._open(tmp_path / "run", config, pytest.fail)

    go_on(None)
    file = tmp_path / "mine.toml"
    file.write_text("[policy.training]\nweight_decay = 0.1\n")
    go_on(read_config(str(file)))
    file.write_text("[policy.training]\nweight_decay = 0.2\n")
    with pytest.raises(InputError, match=r"weight_decay was 0\.1, now 0\.2"):
        go_on(read_config(str(file)))
    assert json.loads((tmp_path / "run" / "manifest.json").read_text()) == begun, "it is frozen"


def test_a_run_that_did_not_measure_embeddings_does_not_begin_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_toolchain", lambda _: "embedded 4.28")
    begun = rounds.manifest(Config(), "embedded 4.28")
    for section in ("embeddings", "joint"):
        del begun["config"][section]
    freeze(tmp_path / "run", begun)
    for wanted in (None, Config()):
        config = opening._open(tmp_path / "run", wanted, pytest.fail)
        assert (config.embeddings.states, config.embeddings.red_line) == (0, "warn")
        assert config.joint.first is None


def test_a_file_is_told_what_to_write_instead(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[policy]\noptions = ["--weight-decay", "0.1", "--prompt", "colons"]\n')
    with pytest.raises(ConfigError, match="settings with names") as caught:
        read_config(str(file))
    wanted = '[policy.training] weight_decay = 0.1, [policy.training] prompt = "colons"'
    assert caught.value.hint == f"write {wanted}"
    file.write_text("[eval]\noptions = []\n")
    with pytest.raises(ConfigError) as caught:
        read_config(str(file))
    assert caught.value.hint == "leave out options"


def test_tables_are_set_and_checked_as_sections_are(tmp_path: Path) -> None:
    config = read_config("smoke", ["value.training.k=3", "eval.settings.pass_n=2"])
    content = as_content(config)
    assert (content["value"]["training"]["k"], content["eval"]["settings"]["pass_n"]) == (3, 2)
    assert content["value"]["training"]["epochs"] == 2, "of the file"
    for setting, said in (
        ("value.training.kk=3", r"\[value.training\]: unknown setting kk"),
        ("eval.settings.pass_n=0", r"\[eval.settings\]: pass_n is 0"),
        ("search.settings.nodes=3", r"\[search.settings\]: unknown setting nodes"),
        ("search.settings=3", "settings.*is not a table"),
    ):
        with pytest.raises(ConfigError, match=said):
            read_config("smoke", [setting])
    file = tmp_path / "mine.toml"
    file.write_text('[policy.training]\nval = ["absent.jsonl"]\n')
    with pytest.raises(ConfigError, match=r"there is no .*absent\.jsonl"):
        read_config(str(file))
