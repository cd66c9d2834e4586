"""Functions run in several processes of torch.distributed over gloo; for tests."""

import datetime
import multiprocessing
import os
import tempfile
import time
import traceback

import pytest

torch = pytest.importorskip("torch")
dist = torch.distributed

SECONDS = 300  # until processes are given up: the machine may be busy
PRELOADED = ["torch", "torch._dynamo", "halfulp.torch"]  # once for all processes


def _run(rank, world, work, arguments, folder):
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            "gloo",
            init_method=f"file://{folder}/store",
            rank=rank,
            world_size=world,
            timeout=datetime.timedelta(seconds=SECONDS),
        )
        found = {"result": work(rank, *arguments)}
    except Exception as error:
        words = (type(error).__name__, str(error), traceback.format_exc())
        found = {"error": words}
    torch.save(found, f"{folder}/{rank}.part")
    os.replace(f"{folder}/{rank}.part", f"{folder}/{rank}")
    os._exit(0)  # groups are not left in order: a process that is gone would be waited for


class Lost:
    """In place of a result: the process ended without one, or was not waited for."""


def in_processes(world, work, *arguments, seconds=SECONDS, frozen=()):
    """What work(rank, *arguments) gives in each process; errors as (class, text, traceback).

    work is a function of a module, and its results are what torch.save takes. Processes that are
    not done in time are killed, and the test fails; those that are named in `frozen` are killed
    when the others are done.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with tempfile.TemporaryDirectory() as folder:
        made = [
            context.Process(target=_run, args=(rank, world, work, arguments, folder), daemon=True)
            for rank in range(world)
        ]
        for process in made:
            process.start()
        end = time.monotonic() + seconds
        for rank, process in enumerate(made):
            if rank not in frozen:
                process.join(max(0.0, end - time.monotonic()))
        late = [rank for rank, process in enumerate(made) if process.is_alive()]
        for process in made:
            process.kill()
            process.join()
        assert late == list(frozen), f"processes {late} were not done in {seconds} s"
        return [_found(f"{folder}/{rank}") for rank in range(world)]


def _found(path):
    if not os.path.exists(path):
        return Lost
    found = torch.load(path, weights_only=False)
    return found["error"] if "error" in found else found["result"]


def results(world, work, *arguments, **options):
    """As `in_processes`, where none of them may fail."""
    found = in_processes(world, work, *arguments, **options)
    for rank, one in enumerate(found):
        assert one is not Lost, f"process {rank} was lost"
        is_error = isinstance(one, tuple) and len(one) == 3 and "Traceback" in str(one[2])
        assert not is_error, f"process {rank}: {one[2]}"
    return found
