"""Writing to a service."""

import os
import signal
import subprocess
import sys
import uuid

import pytest

import recordio
from recordio.remote.filesystem import PfsFileSystem
from recordio.remote.protocol import CHUNK

# Writes to the path argv[1], and says when it has sent more than one part.
KILLED = """
import sys, fsspec, recordio
from recordio.remote.filesystem import PfsFileSystem
fsspec.register_implementation("pfs", PfsFileSystem)

def samples():
    for i in range(40):
        if i == 30:
            print("in the middle", flush=True)
            sys.stdin.read()
        yield bytes([i]) * (1 << 20)

if sys.argv[2] == "convert":
    recordio.convert(sys.argv[1], samples, 8, "t", payload="raw", compressor="none")
else:
    with recordio.writer(sys.argv[1] + "/t", "none", 1 << 20) as w:
        for sample in samples():
            w.write(sample)
"""


@pytest.fixture
def fs():
    return PfsFileSystem()


@pytest.fixture
def home(fs, monkeypatch):
    monkeypatch.setattr("recordio.staging.tempfile", None)  # bytes go to the service, and into no file of this machine
    path = "local/home/alice/" + uuid.uuid4().hex
    yield path
    if fs.exists(path):
        fs.rm(path, recursive=True)


def test_writer(fs, home, tmp_path, monkeypatch):
    records = [os.urandom(300_000) for _ in range(40)]
    path = "pfs://%s/d/x" % home
    with recordio.writer(path, "snappy", 1 << 20) as w:
        for i, record in enumerate(records):
            w.write(record)
            if i == 30:
                assert w._out._file._upload._size >= 2 * CHUNK  # parts go as they come
        assert fs.find(home) == []
    monkeypatch.undo()
    with recordio.writer(tmp_path / "x", "snappy", 1 << 20) as w:
        for record in records:
            w.write(record)
    assert fs.cat(path) == (tmp_path / "x").read_bytes()
    assert list(recordio.Dataset(path)) == records
    with recordio.writer(path) as w:  # replaces it
        w.write(b"new")
    assert list(recordio.Dataset(path)) == [b"new"]
    for n in (1, 10):
        with pytest.raises(ZeroDivisionError), recordio.writer(path) as w:
            for record in records[:n]:
                w.write(record * 20)
            raise ZeroDivisionError
    assert list(recordio.Dataset(path)) == [b"new"]
    assert fs.find(home) == [home + "/d/x"]


def test_convert(fs, home, tmp_path, monkeypatch):
    """The files are those of the same conversion on this machine."""

    def samples():
        for i in range(2000):
            yield {"id": i, "x": [i / 3] * 700}

    target = "pfs://%s/data" % home
    paths = recordio.convert(target, samples, 600, "t", payload="msgpack")
    assert paths == ["%s/t-%05d" % (target, i) for i in range(4)]
    monkeypatch.undo()
    recordio.convert(tmp_path / "data", samples, 600, "t", payload="msgpack")
    names = sorted(os.listdir(tmp_path / "data"))
    assert sorted(p.rsplit("/", 1)[1] for p in fs.ls(home + "/data", detail=False)) == names
    for name in names:
        assert fs.cat("%s/data/%s" % (home, name)) == (tmp_path / "data" / name).read_bytes()
    assert [s["id"] for s in recordio.Dataset(target)[[1999, 3]]] == [1999, 3]
    with pytest.raises(FileExistsError, match="the dataset exists: remove it first"):
        recordio.convert(target, samples, 600, "t", payload="msgpack")
    fs.rm(home + "/data/.t.manifest")
    with pytest.raises(FileExistsError, match="is of no dataset"):
        recordio.convert(target, samples, 600, "t", payload="msgpack")


def test_convert_fails_in_the_middle(fs, home):
    def samples():
        yield from [bytes(1 << 20)] * 20
        raise RuntimeError("the source ended")

    with pytest.raises(RuntimeError, match="the source ended"):
        recordio.convert("pfs://%s/data" % home, samples, 3, "t", payload="raw", compressor="none")
    assert fs.find(home) == []


@pytest.mark.parametrize("what", ["writer", "convert"])
def test_killed(fs, home, what):
    """A writer that is killed in the middle leaves nothing that anyone sees, and the next one is not in its way."""
    target = "pfs://" + home
    process = subprocess.Popen([sys.executable, "-c", KILLED, target, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"in the middle\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert fs.find(home) == []
    assert subprocess.run([sys.executable, "-c", KILLED, target, what], stdin=subprocess.DEVNULL).returncode == 0
    records = recordio.Dataset(target if what == "convert" else target + "/t")
    assert [(r[0], len(r)) for r in records] == [(i, 1 << 20) for i in range(40)]
