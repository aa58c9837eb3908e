"""What goes into a bundle besides Lean: theorem sets, models and value models, each with a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from burnqed.core.cache import brought
from burnqed.core.errors import BurnQedError, InputError
from burnqed.data.benchmarks import BENCHMARKS, Benchmark, Packaged, is_here, load, stored
from burnqed.data.index import read_index
from burnqed.lean.embedded import bundle, install
from burnqed.lean.embedded.bundle import Item
from burnqed.lean.embedded.progress import Progress
from burnqed.policy.models import names, smollm2
from burnqed.policy.models.checks import check_whole, read_json, weight_files
from burnqed.policy.ranked.files import WEIGHTS, is_ranker
from burnqed.prover.policies import Warn

_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_BYTES = {"": 10**6, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def part_bytes(text: str) -> int:
    """`60MB`, `64MiB`, `1.5GB`, or a number of MB; 0 means no limit."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kmg]i?)?b)?", text.strip().lower())
    if match is None or (match[2] is None and text.strip().lower().endswith("b")):
        raise InputError(
            f"--part-size {text} is not a size", hint="such as 60MB or 64MiB; 0 is one file"
        )
    size = int(float(match[1]) * _BYTES[match[2] or ""])
    if 0 < size < _BYTES["m"]:
        raise InputError(f"--part-size {text} makes too many parts", hint="give at least 1MB")
    return size


def write_bundle(
    output: Path,
    sets: Sequence[str],
    models: Sequence[str],
    values: Sequence[Path],
    *,
    with_lean: bool,
    limit: int,
    level: int,
    progress: Progress,
    warn: Warn,
) -> tuple[list[Item], list[Path]]:
    """Write the archive; what is inside, and the files: one, or its parts of at most `limit` bytes."""
    if not output.absolute().parent.is_dir() or output.is_dir():
        raise InputError(f"cannot write {output}", hint="name a file in a folder that exists")
    if bundle.whole_name(output) != output:
        raise InputError(
            f"{output} looks like one part of a bundle", hint="name the whole, such as offline.tar"
        )
    items = items_of(sets, models, values, warn, every_benchmark=with_lean)
    if not with_lean and not items:
        raise InputError("there is nothing to bundle", hint="give --theorems, --model or --value")
    if with_lean:
        items = bundle.lean_items(install.ensure(progress, thorough=True)) + items
    return items, bundle.pack(items, output, limit, progress, level)


def items_of(
    sets: Sequence[str],
    models: Sequence[str],
    values: Sequence[Path],
    warn: Warn,
    *,
    every_benchmark: bool,
) -> list[Item]:
    """The named sets and models, and on request every benchmark of this machine."""
    items = [*_sets(sets, every_benchmark, warn)]
    for model in models:
        items += (item for item in _model(model) if item not in items)
    items += map(_value, values)
    places = [item.place for item in items]
    for item in items:
        if places.count(item.place) > 1:
            raise InputError(
                f"two items of the bundle would be the {item.kind} {item.name}",
                hint="rename the folder or file of one",
            )
    return items


def _checked(name: str, given: str | Path) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{given} would be called {name!r}, which is not a valid name",
            hint="rename it: letters, digits, dots, - and _ are allowed",
        )
    return name


def _files(place: str, folder: Path) -> dict[str, Path]:
    """The files of a folder. Links are followed."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {f"{place}/{path.relative_to(folder).as_posix()}": path for path in found}


# --------------------------------------------------------------------------------------- sets


def _sets(given: Sequence[str], every_benchmark: bool, warn: Warn) -> Iterator[Item]:
    asked = {name for name in given if name in BENCHMARKS}
    for name, benchmark in BENCHMARKS.items():
        if isinstance(benchmark.origin, Packaged):
            continue  # it comes with burn-qed
        if name in asked:
            load(benchmark)  # raises if it is missing, with a hint how to get it
        elif not every_benchmark or not is_here(benchmark) or not _usable(benchmark, warn):
            continue
        place = f"benchmarks/{name}.json"
        yield Item("set", name, place, {place: stored(benchmark)})
    for text in dict.fromkeys(given):
        if text in BENCHMARKS:
            continue
        path = Path(text) if names.exists(text) else brought("sets", text)
        if path is None or not path.is_file():
            raise InputError(
                f"{text} is neither a benchmark nor an index file",
                hint="`burn-qed data benchmarks` lists benchmarks; `burn-qed data index` makes files",
            )
        read_index(path)
        name = _checked(path.stem, text)
        if name in BENCHMARKS:
            raise InputError(f"{text} has the name of a benchmark", hint="rename the file")
        place = f"brought/sets/{name}.json"
        yield Item("set", name, place, {place: path})


def _usable(benchmark: Benchmark, warn: Warn) -> bool:
    try:
        load(benchmark)
    except BurnQedError as error:
        warn(f"{benchmark.name} is left out: {error.message}")
        return False
    return True


# ------------------------------------------------------------------------------------- models


def _model(given: str) -> Iterator[Item]:
    """A model, and the base of an adapter."""
    if given == smollm2.NAME:
        file, version = smollm2.gguf_file()
        place = smollm2.bundled_place(version)
        yield Item("model", smollm2.NAME, place, {place: file})
        return
    path = names.find(given)
    here = names.exists(given)
    name = _checked(_folder_name(path) if here else given, given)
    place = f"brought/models/{name}"
    if path.is_file():
        if path.suffix != ".gguf":
            raise InputError(f"{path} is not a model", hint="give a directory or a .gguf file")
        yield Item("model", name, place, {f"{place}/{path.name}": path})
        return
    if (path / names.ADAPTER).is_file():
        check_whole(path / "adapter_model.safetensors")
        base, _ = names.find_base(path)
        if base != smollm2.NAME and names.exists(base):
            raise InputError(
                f"the base of the adapter {given} is {base}, a path of this machine",
                hint=f"burn-qed export {given} --out DIR merges the two; bundle that",
            )
        yield from _model(base)
    elif is_ranker(path):
        check_whole(path / WEIGHTS)
    elif not any(path.glob("*.gguf")):
        read_json(path / "config.json")
        weight_files(path)
    yield Item("model", name, place, _files(place, path))


def _folder_name(path: Path) -> str:
    """`nano` for runs/nano/best, runs/nano, nano.gguf, and what a joint training left in runs/nano."""
    path = path.absolute()
    if path.name in (names.POLICY, names.VALUE) and path.parent.name == names.BEST:
        path = path.parent
    return path.parent.name if path.name == names.BEST else path.stem if path.is_file() else path.name


def _value(given: Path) -> Item:
    """A value model's head, with the result of its training."""
    directory = given if given.exists() else brought("values", str(given)) or given
    best = names.left_in(directory, names.VALUE)
    read_json(best / "config.json")
    check_whole(best / "model.safetensors")
    name = _checked(_folder_name(best), given)
    place = f"brought/values/{name}"
    files = _files(f"{place}/{names.BEST}", best)
    if best != directory and (directory / "result.json").is_file():
        files[f"{place}/result.json"] = directory / "result.json"
    return Item("value", name, place, files)
