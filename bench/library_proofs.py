"""Two ways to the proofs of Lean's own library, on the same files: which gives more?

    python bench/library_proofs.py FILE.lean ...

as constants    each theorem is proved again as the library's, itself hidden (`data trace --library`)
as a module     the file is elaborated as it stands, by a Lean that has loaded its imports and no more

A proof counts where its steps lead from the statement to its end. Of the second way the last column
says how many of them do in the whole library as well, under leak rule `self`.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from burnqed.core.errors import BurnQedError
from burnqed.data.lean_sources import read_text
from burnqed.data.library_trace import LIBRARY, replayed_as_constant
from burnqed.data.trace_replay import NotReplayed, Replayed, replay
from burnqed.lean.pool import Pool, Worker, run_sync
from burnqed.lean.process import Limits
from burnqed.lean.retrace import retrace_file
from burnqed.lean.statement import split_header
from burnqed.lean.trace import trace_file
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig

_SECONDS = 1200.0
_LIMITS = Limits(request_seconds=120.0)


async def as_constants(worker: Worker, text: str) -> tuple[set[str], set[str]]:
    """The theorems with tactics, and those whose steps replay."""
    found = await retrace_file(worker, text, _SECONDS)
    there = {proof.name for proof in found.proofs if proof.error != "term"}
    done = {
        proof.name
        for proof in found.proofs
        if isinstance(await replayed_as_constant(worker, proof), Replayed)
    }
    return there, done


async def as_a_module(worker: Worker, text: str) -> set[str]:
    found = await trace_file(worker, text, _SECONDS)
    done = set()
    for theorem in found.theorems:
        if theorem.state is not None:
            try:
                await replay(worker, text, theorem)
                done.add(theorem.name)
            except NotReplayed:
                pass
    return done


async def compare(path: Path, library: Pool) -> list[str]:
    header = split_header(read_text(path))
    text = re.sub(r"@\[expose\]|\bpublic\b|\bmeta\b(?= section)", "", header.body)
    async with library.lease() as worker:
        there, constants = await as_constants(worker, header.body)
    try:
        lean = await asyncio.to_thread(leans.set_up, LeanConfig(), header.imports)
        async with Pool(lean.spec, 1, _LIMITS) as pool, pool.lease() as worker:
            module = await as_a_module(worker, text)
        told = [f"{len(module)}", f"{len(module & constants)}"]
    except BurnQedError as error:
        told = [error.message.split("\n")[0][:60], ""]
    return [path.name, f"{len(there)}", f"{len(constants)}", *told]


async def main(paths: list[Path]) -> None:
    print("file | with tactics | as constants | as a module | of these as constants too")
    lean = leans.set_up(LeanConfig(), LIBRARY)
    async with Pool(lean.spec, 1, _LIMITS) as library:
        for path in paths:
            print(" | ".join(await compare(path, library)), flush=True)


if __name__ == "__main__":
    run_sync(main([Path(argument) for argument in sys.argv[1:]]))
