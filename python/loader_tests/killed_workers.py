"""killed_workers.py FRAMEWORK: a worker of a DataLoader is killed in the middle of an epoch. The DataLoader raises an error and does
not wait forever, and the epoch goes on with cursor=, every record exactly once."""

import importlib
import multiprocessing
import os
import signal
import sys
import time
from typing import Any

import numpy as np

import recordio

BATCH = 10


def samples(batch: list[Any]) -> Any:
    time.sleep(0.02)
    return np.array([sample["id"] for sample in batch])


def ids(batch: Any) -> list[int]:
    return [int(i) for i in np.asarray(batch).ravel()]


def main() -> None:
    io = importlib.import_module({"PyTorch": "torch.utils.data", "PaddlePaddle": "paddle.io"}[sys.argv[1]])
    options = {"batch_size": BATCH, "num_workers": 3, "collate_fn": samples}
    for shuffle in ("none", "block:4", "global"):
        records = recordio.stream("data", shuffle=shuffle, seed=1, batch_size=BATCH)
        for data in (records, recordio.Dataset("data")):
            before = set(multiprocessing.active_children())
            batches = iter(io.DataLoader(data, **options))
            seen = [i for _ in range(9) for i in ids(next(batches))]
            victim = next(p for p in multiprocessing.active_children() if p not in before)
            assert victim.pid
            os.kill(victim.pid, signal.SIGKILL)
            try:
                for batch in batches:
                    if data is records:
                        seen += ids(batch)
            except (RuntimeError, SystemError) as e:
                print(shuffle, type(data).__name__, type(e).__name__, str(e).splitlines()[0], file=sys.stderr)
            else:
                raise AssertionError("no error with %s" % shuffle)
            del batches
            if data is records:
                assert 90 <= len(seen) < 1000
                rest = recordio.stream("data", shuffle=shuffle, seed=1, batch_size=BATCH, cursor=records.cursor_after(len(seen)))
                again = [i for batch in io.DataLoader(rest, **options) for i in ids(batch)]
                assert sorted(seen + again) == list(range(1000)), (shuffle, len(seen), len(again))
    print(1000)


if __name__ == "__main__":
    main()
