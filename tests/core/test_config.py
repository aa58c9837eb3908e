"""TOML into sections: every key has a place and a type, or is refused by name."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from burnqed.core.config import as_content, overridden, read_toml, sections
from burnqed.core.errors import InputError


class Engine(msgspec.Struct, frozen=True):
    cylinders: int = 4
    litres: float = 1.5
    name: str = "plain"
    turbo: bool = False
    gears: tuple[int, ...] = (1, 2)
    limit: int | None = None


class Car(msgspec.Struct, frozen=True):
    engine: Engine = Engine()


def read(tmp_path: Path, text: str) -> Car:
    path = tmp_path / "car.toml"
    path.write_text(text, encoding="utf-8")
    return sections(Car, read_toml(path), "car.toml")


def test_what_is_given_takes_its_place_and_the_rest_stays(tmp_path: Path) -> None:
    car = read(
        tmp_path, '[engine]\nlitres = 2\ngears = [1, 2, 3]\nlimit = 7\nname = "fast"\nturbo = true'
    )
    assert car == Car(Engine(4, 2.0, "fast", True, (1, 2, 3), 7))
    assert isinstance(car.engine.litres, float)
    assert read(tmp_path, "") == Car()


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("[engin]\n", "unknown section engin", "did you mean engine?"),
        ("[engine]\ncylinder = 3", "unknown setting cylinder", "did you mean cylinders?"),
        ("[engine]\nzzz = 3", "unknown setting zzz", "known are: cylinders"),
        ("engine = 3", "engine is not a section", "[engine]"),
        ('[engine]\ncylinders = "4"', "cylinders is '4'", "a whole number"),
        ("[engine]\ncylinders = true", "cylinders is True", "a whole number"),
        ("[engine]\ncylinders = 4.5", "cylinders is 4.5", "a whole number"),
        ("[engine]\nlitres = true", "litres is True", "a number"),
        ("[engine]\nname = 3", "name is 3", "a text"),
        ("[engine]\nturbo = 1", "turbo is 1", "true or false"),
        ("[engine]\ngears = 3", "gears is 3", "a list"),
        ('[engine]\ngears = [1, "2"]', "gears is [1, '2']", "each is a whole number"),
        ("[engine", "is not TOML", ""),
    ],
)
def test_what_nobody_asked_for_is_refused_by_name(
    tmp_path: Path, text: str, said: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert said in caught.value.message
    assert hint in caught.value.hint


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        read_toml(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(InputError, match=r"latin\.toml is not TOML"):
        read_toml(tmp_path / "latin.toml")


def test_settings_come_in_place_of_the_file() -> None:
    content = overridden({"engine": {"cylinders": 6}}, ["engine.name=fast", "engine.gears=[5]"])
    assert sections(Car, content, "--set") == Car(Engine(6, name="fast", gears=(5,)))
    assert overridden({}, ["engine.limit = 3"]) == {"engine": {"limit": 3}}


@pytest.mark.parametrize(
    "setting", ["engine", "engine.limit", "limit=3", "=3", ".limit=3", "engine.=3"]
)
def test_a_setting_that_names_no_key_is_refused(setting: str) -> None:
    with pytest.raises(InputError, match="not a setting"):
        overridden({}, [setting])


def test_content_has_every_default() -> None:
    content = as_content(Car())
    assert content["engine"]["gears"] == [1, 2]
    assert content["engine"]["limit"] is None
    assert set(content["engine"]) == {"cylinders", "litres", "name", "turbo", "gears", "limit"}
