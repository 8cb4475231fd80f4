"""Moves files and reads a dataset while the service is killed and started again (see service_test.go)."""

import os
import random
import sys
import time

import fsspec

import recordio
from recordio.remote.filesystem import PfsFileSystem

SIZE = 40 << 20
HOME = "local/home/alice/restarts"

fsspec.register_implementation("pfs", PfsFileSystem)  # pip registers it by the entry point of the package
directory, seconds = sys.argv[1], float(sys.argv[2])
fs = PfsFileSystem()
source, copy = os.path.join(directory, "source"), os.path.join(directory, "copy")
content = random.Random(1).randbytes(SIZE)
with open(source, "wb") as f:
    f.write(content)
samples = [{"id": i, "text": "x" * 1000} for i in range(20_000)]
end, rounds = time.monotonic() + seconds, 0
while rounds < 2 or time.monotonic() < end:
    path = "%s/%d" % (HOME, rounds)
    fs.put_file(source, path + "/file")
    fs.get_file(path + "/file", copy)
    with open(copy, "rb") as f:
        assert f.read() == content
    recordio.convert("pfs://%s/data" % path, samples, 5000, "t", payload="msgpack")
    assert [s["id"] for s in recordio.stream("pfs://%s/data" % path)] == list(range(20_000))
    fs.rm(path, recursive=True)
    rounds += 1
print(rounds)
