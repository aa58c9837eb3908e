"""Requests from many sides, encoded by one thread: all that wait are one pass."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from burnqed.value.embeddings import Encoder
from burnqed.value.encoder import Embeddings, checked

MOST_WAITING = 65_536  # texts; more are refused until some are done
_PASS = 1024  # texts from which on no more requests are gathered


class TooManyWaiting(Exception):
    """More texts wait than may; a request may come again."""


@dataclass(frozen=True, slots=True)
class _Job:
    texts: Sequence[str]
    rows: Future[Embeddings] = field(default_factory=Future)


class Passes:
    """One thread that encodes, since a model is for one; all requests that wait are one pass."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="encode", daemon=True)
        self._thread.start()

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """A row for each text; waits for its turn. Raises what the encoder raised."""
        return self.submit(texts).result()

    def submit(self, texts: Sequence[str]) -> Future[Embeddings]:
        """As `encode`, for those who wait in their own way."""
        with self._lock:
            if self._waiting and self._waiting + len(texts) > MOST_WAITING:
                raise TooManyWaiting(f"{self._waiting} texts are waiting already")
            self._waiting += len(texts)
        job = _Job(texts)
        job.rows.set_running_or_notify_cancel()  # who waits for it cannot take it back
        job.rows.add_done_callback(lambda _: self._is_done(job))
        self._jobs.put(job)
        return job.rows

    def _is_done(self, job: _Job) -> None:
        with self._lock:
            self._waiting -= len(job.texts)

    def close(self) -> None:
        """End the thread, after what was put before."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._gathered():
            self._pass(jobs)

    def _gathered(self) -> list[_Job]:
        """All that waits, one at least, which may have to come first; none at the end."""
        jobs: list[_Job] = []
        while sum(len(job.texts) for job in jobs) < _PASS:
            try:
                job = self._jobs.get(block=not jobs)
            except queue.Empty:
                break
            if job is None:
                if jobs:
                    self._jobs.put(None)  # once more, for the next time
                break
            jobs.append(job)
        return jobs

    def _pass(self, jobs: Sequence[_Job]) -> None:
        texts = [text for job in jobs for text in job.texts]
        try:
            rows = checked(self.encoder.encode(texts), self.encoder.name.width)
            if len(rows) != len(texts):
                raise RuntimeError(f"{len(rows)} embeddings were made of {len(texts)} texts")
        except Exception as error:  # of any kind, since it comes from a model: the thread must go on
            if len(jobs) == 1:
                jobs[0].rows.set_exception(error)
                return
            for job in jobs:  # what one of them has must not become of the others
                self._pass([job])
            return
        begin = 0
        for job in jobs:
            job.rows.set_result(rows[begin : begin + len(job.texts)])
            begin += len(job.texts)
