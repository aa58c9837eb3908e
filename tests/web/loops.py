"""A run of expert iteration, written by the run's own functions; only its searches are scripted."""

from __future__ import annotations

from pathlib import Path

import msgspec

from burnqed.core.files import publish_json
from burnqed.data.index import write_index
from burnqed.iteration import rounds
from burnqed.iteration.directory import freeze, log_of, note, note_asked, write_record
from burnqed.iteration.sections import Eval
from burnqed.iteration.specs import Evaluate, Index, Search, TrainRanker
from burnqed.iteration.summary import write_summary
from tests.iteration.plans import RANKED, walk
from tests.web import samples

CONFIG = msgspec.structs.replace(RANKED, eval=Eval(sets=("qed-core",)))
LEARNT = samples.OUTCOMES | {"t9": ("proved", 20)}


class Loop:
    """The baseline and one iteration, stage by stage."""

    def __init__(self, path: Path) -> None:
        self.path = path
        freeze(path, rounds.manifest(CONFIG, "leanprover/lean4:v4.20.0"))
        note_asked(path, 1)
        self._left = walk(CONFIG, 0)
        self._at_work = False

    def until(self, name: str) -> None:
        """The next stage of that name is at work."""
        while self._left[0].name != name:
            self._end()
        self._begin()

    @property
    def at_work(self) -> Path:
        """What the stage at work makes."""
        return self.path / self._left[0].out

    def finish(self) -> None:
        """The stage at work, and the rest."""
        while self._left:
            self._end()
        history = rounds.history(self.path, CONFIG)
        assert history.finished
        write_summary(self.path, history)

    def _begin(self) -> None:
        stage, self._at_work = self._left[0], True
        note(self.path, stage, "begun")
        log = log_of(self.path, stage.key)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"{stage.name}: 1/4\n{stage.name}: {samples.HOSTILE}\n", encoding="utf-8")

    def _end(self) -> None:
        if not self._at_work:
            self._begin()
        stage, self._at_work = self._left.pop(0), False
        out = self.path / stage.out
        match stage.spec:
            case Index():
                theorems = [{"name": one.name, "statement": one.root} for one in samples.THEOREMS[:3]]
                write_index(out, out.stem, theorems)
            case Search():
                name = Path(stage.theorems).stem
                samples.write_search(out, samples.THEOREMS[:3], name=name)
            case Evaluate():
                outcomes = samples.OUTCOMES if stage.iteration < 0 else LEARNT
                samples.write_eval(out, outcomes, ("level 1", "level 2"), "qed-core")
            case TrainRanker():
                publish_json(out / "result.json", {"data": {"theorems": 1}})
        note(self.path, stage, "ended", 0)
        write_record(self.path, stage, "done")
