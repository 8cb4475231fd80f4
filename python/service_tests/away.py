"""Reads while the service is killed and started again (see service_test.go)."""

import sys
import time

import fsspec

import recordio
from recordio.remote.filesystem import PfsFileSystem
from recordio.remote.protocol import ServiceUnavailableError

HOME = "local/home/alice/away"
SECONDS = 1

fsspec.register_implementation("pfs", PfsFileSystem)  # pip registers it by the entry point of the package
fsspec.config.conf["pfs"] = {"retry_seconds": SECONDS}
fs = PfsFileSystem()
records = [b"%07d" % i * 1000 for i in range(3000)]
recordio.convert("pfs://" + HOME, records, 1000, "t", payload="raw", compressor="none")
dataset = recordio.Dataset("pfs://" + HOME, cache_bytes=0)
assert dataset[[7, 2999]] == [records[7], records[2999]]
opened = fs.open(HOME + "/t-00001")
head = opened.read(10)
out = recordio.writer("pfs://%s/new" % HOME, "none", 1 << 20)
for record in records:
    out.write(record)
print("reading", flush=True)
sys.stdin.readline()


def read_all():
    opened.seek(0)
    return opened.read()


CALLS = (
    lambda: dataset[[7, 2999]],
    lambda: list(dataset),
    read_all,
    lambda: fs.cat(HOME + "/t-00000"),
    lambda: recordio.Dataset("pfs://" + HOME),
    out.close,
)
for do in CALLS:
    began = time.monotonic()
    try:
        do()
    except ServiceUnavailableError as e:
        assert isinstance(e, OSError) and "unavailable" in str(e), str(e)
        assert time.monotonic() - began > SECONDS / 2, time.monotonic() - began
    else:
        raise AssertionError("%s did not fail" % do)
print("gone", flush=True)
sys.stdin.readline()
assert dataset[[7, 2999]] == [records[7], records[2999]]
assert read_all()[:10] == head
assert not fs.exists(HOME + "/new")
print("read", flush=True)
