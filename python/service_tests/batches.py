"""Random records of 1 KB out of 64 shards: in batches, and with one range request a record (see service_test.go). The
service of FAR_CONFIG is 5 ms away, there and back. Batches must be LEAST times as fast."""

import os
import time

import fsspec
import numpy as np

import recordio
from recordio.remote.filesystem import PfsFileSystem

SHARDS, RECORDS, BATCH = 64, 500, 256
HOME = "local/home/alice/batches"

fsspec.register_implementation("pfs", PfsFileSystem)  # pip registers it by the entry point of the package
r = np.random.default_rng(17)
records = [r.bytes(1024) for _ in range(RECORDS)] * SHARDS  # the files differ in their order
samples = (records[(i * 7919) % len(records)] for i in range(len(records)))
recordio.convert("pfs://" + HOME, samples, RECORDS, "t", payload="raw", compressor="none")
each = [*range(0, SHARDS * RECORDS, RECORDS), -1]  # a record of each shard, the first of which has one more
_ = recordio.Dataset("pfs://" + HOME)[each]  # makes the indexes

fsspec.config.conf["pfs"] = {"config_file": os.environ["FAR_CONFIG"]}
fs = PfsFileSystem()
dataset = recordio.Dataset("pfs://" + HOME, cache_bytes=0)
_ = dataset[each]


def places(numbers):
    """The files of records, and where the records are in them."""
    shards = np.searchsorted(dataset.starts, numbers, "right") - 1
    ends = (20 + 1028 * (numbers - dataset.starts[shards] + 1)).tolist()  # behind the header of the only chunk
    return [dataset.shards[s].path for s in shards.tolist()], [e - 1024 for e in ends], ends


def one_by_one():
    numbers = r.integers(0, len(dataset), 40)
    got = [fs.cat_file(path, start, end) for path, start, end in zip(*places(numbers))]
    return numbers, got


def ranges():
    numbers = r.integers(0, len(dataset), BATCH)
    return numbers, fs.cat_ranges(*places(numbers))


def batch():
    numbers = r.integers(0, len(dataset), BATCH)
    return numbers, dataset[numbers]


service, _ = fs._at("local")
send, sent = service._send, []


def counted(method, path, *args, **kwargs):
    sent.append(path)
    return send(method, path, *args, **kwargs)


service._send = counted
speeds, requests = {}, {}
for do in (one_by_one, ranges, batch) * 5:
    sent.clear()
    began = time.perf_counter()
    numbers, got = do()
    speeds.setdefault(do.__name__, []).append(len(numbers) / (time.perf_counter() - began))
    requests.setdefault(do.__name__, set()).add(len(sent))
    assert got == [records[(i * 7919) % len(records)] for i in numbers.tolist()], do.__name__
one, by_ranges, by_batch = map(max, speeds.values())  # the others had to share the processors with other programs
for name, speed in (("one request a record", one), ("ranges", by_ranges), ("ds[[...]]", by_batch)):
    print("%s: %d records/s, %.0f times" % (name, speed, speed / one))
# A request gives at most 8 MiB. A batch reads 256 blocks of 64 KiB, some of them in two parts.
assert requests["one_by_one"] == {40} and requests["ranges"] == {1} and max(requests["batch"]) <= 4, requests
assert min(by_ranges, by_batch) >= float(os.environ["LEAST"]) * one
