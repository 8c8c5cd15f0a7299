"""What worker processes do in the tests, which must be able to import it, and a stand-in."""

import os
import signal
import time


def double(task):
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "exit":
        os._exit(3)
    return 2 * task


def pause(task):
    time.sleep(60)


def in_this_process(
    function, tasks, num_workers, should_stop=lambda: False, before_task=lambda task: None
):
    """As `share_out`, without the seconds that a worker takes to start."""
    for task in tasks:
        before_task(task)
        yield task, function(task)
        if should_stop():
            return
