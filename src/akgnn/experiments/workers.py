"""Worker processes that share the cores: each takes one task at a time and gives back its result.

A worker that dies, because the machine ran out of memory say, costs its own task alone; and when
the program that started them is killed, the workers end too.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Death:
    """What there is instead of a result where the worker died."""

    reason: str


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_out(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    num_workers: int,
    should_stop: Callable[[], bool] = lambda: False,
    before_task: Callable[[Task], None] = lambda task: None,
) -> Iterator[tuple[Task, Result | Death]]:
    """Give the tasks to workers, in order; yields each with its result as soon as it is there.

    Args:
        function: Does one task. Importable by its name, since it travels to the workers with the
            tasks.
        tasks: What to do.
        num_workers: How many tasks are done at once.
        should_stop: Asked a few times a second; once true, the workers are ended and what they
            were doing is lost.
        before_task: Called with each task when a worker takes it.
    """
    waiting = list(reversed(tasks))
    threads = max(1, cores() // max(1, num_workers))
    workers: list[_Worker[Task, Result]] = []
    try:
        while waiting or any(worker.task is not None for worker in workers):
            while waiting and len([w for w in workers if w.task is not None]) < num_workers:
                idle = next((worker for worker in workers if worker.task is None), None)
                if idle is None:
                    idle = _Worker(function, threads)
                    workers.append(idle)
                task = waiting.pop()
                before_task(task)
                idle.give(task)
            busy = {worker.connection: worker for worker in workers if worker.task is not None}
            for connection in wait(list(busy), timeout=0.2):
                worker = busy[connection]  # type: ignore[index]
                task, result = worker.take()
                if isinstance(result, Death):
                    workers.remove(worker)
                yield task, result
            if should_stop():
                return
    finally:
        for worker in workers:
            worker.end()


class _Worker(Generic[Task, Result]):
    """One process and the line to it."""

    def __init__(self, function: Callable[[Task], Result], threads: int) -> None:
        # A fresh interpreter: a copy of one that has used torch's threads may hang.
        context = multiprocessing.get_context("spawn")
        self.connection, far_end = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_serve, args=(far_end, function, threads), daemon=True
        )
        self.process.start()
        far_end.close()
        self.task: Task | None = None

    def give(self, task: Task) -> None:
        self.task = task
        self.connection.send(task)

    def take(self) -> tuple[Task, Result | Death]:
        """The task with its result, once the line has something to say."""
        assert self.task is not None
        task, self.task = self.task, None
        try:
            return task, self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            return task, Death(_described(self.process.exitcode or 0))

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _described(status: int) -> str:
    if status == -signal.SIGKILL:
        return "The process was killed, most likely because the machine ran out of memory."
    if status < 0:
        return f"The process was ended by signal {-status}."
    return f"The process ended with status {status}."


def _serve(line: Connection, function: Callable[[Any], Any], threads: int) -> None:
    """What a worker does: one task after another, until the line closes."""
    import torch

    from akgnn.machine.device import keep_freed_memory

    torch.set_num_threads(threads)
    keep_freed_memory()
    # Requests to stop reach the whole group; the program decides when its workers end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = line.recv()
        except EOFError:
            return
        line.send(function(task))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
