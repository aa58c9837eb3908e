"""Requests from many threads, encoded in batches by one thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from burnqed.value.embeddings import Encoder
from burnqed.value.encoder import Embeddings, checked

MOST_WAITING = 65_536  # texts that may wait; more are refused
_PASS = 1024  # texts after which no more requests join a batch


class TooManyWaiting(Exception):
    """Too many texts are waiting. The request may be sent again."""


@dataclass(frozen=True, slots=True)
class _Job:
    texts: Sequence[str]
    rows: Future[Embeddings] = field(default_factory=Future)


class Passes:
    """A thread that encodes, because a model supports only one. Waiting requests form a batch."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="encode", daemon=True)
        self._thread.start()

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """A row for each text. Waits for its turn, and raises what the encoder raised."""
        return self.submit(texts).result()

    def submit(self, texts: Sequence[str]) -> Future[Embeddings]:
        """Like `encode`, but returns a future."""
        with self._lock:
            if self._waiting and self._waiting + len(texts) > MOST_WAITING:
                raise TooManyWaiting(f"{self._waiting} texts are already waiting")
            self._waiting += len(texts)
        job = _Job(texts)
        job.rows.set_running_or_notify_cancel()  # it can no longer be cancelled
        job.rows.add_done_callback(lambda _: self._is_done(job))
        self._jobs.put(job)
        return job.rows

    def _is_done(self, job: _Job) -> None:
        with self._lock:
            self._waiting -= len(job.texts)

    def close(self) -> None:
        """End the thread, after all earlier requests."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._gathered():
            self._pass(jobs)

    def _gathered(self) -> list[_Job]:
        """The waiting requests, at least one. Empty at the end."""
        jobs: list[_Job] = []
        while sum(len(job.texts) for job in jobs) < _PASS:
            try:
                job = self._jobs.get(block=not jobs)
            except queue.Empty:
                break
            if job is None:
                if jobs:
                    self._jobs.put(None)  # again, for the next time
                break
            jobs.append(job)
        return jobs

    def _pass(self, jobs: Sequence[_Job]) -> None:
        texts = [text for job in jobs for text in job.texts]
        try:
            rows = checked(self.encoder.encode(texts), self.encoder.name.width)
            if len(rows) != len(texts):
                raise RuntimeError(f"{len(rows)} embeddings were made of {len(texts)} texts")
        except Exception as error:  # of any kind, since it comes from a model: the thread must continue
            if len(jobs) == 1:
                jobs[0].rows.set_exception(error)
                return
            for job in jobs:  # each gets its own exception object
                self._pass([job])
            return
        begin = 0
        for job in jobs:
            job.rows.set_result(rows[begin : begin + len(job.texts)])
            begin += len(job.texts)
