import multiprocessing
import os
import pickle
import struct
import threading
import uuid
import zlib

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import recordio
from recordio.remote.filesystem import PfsFileSystem
from recordio.remote.protocol import CHUNK, UNAVAILABLE, ChangedError, Failure, ServiceUnavailableError
from recordio.remote.service import Service


@pytest.fixture
def fs():
    return PfsFileSystem()


@pytest.fixture
def home(fs):
    path = "local/home/alice/" + uuid.uuid4().hex
    yield path
    if fs.exists(path):
        fs.rm(path, recursive=True)


def count(fs, monkeypatch):
    """Counts the requests to the service."""
    sent = []
    service, _ = fs._at("local")
    send = service._send

    def counted(method, path, *args, **kwargs):
        sent.append(path)
        return send(method, path, *args, **kwargs)

    monkeypatch.setattr(service, "_send", counted)
    return sent


def test_makedirs(fs, home):
    fs.makedirs(home + "/a/b")
    fs.makedirs(home + "/a/b", exist_ok=True)
    with pytest.raises(FileExistsError):
        fs.makedirs(home + "/a/b")
    fs.mkdir(home + "/a/c/d")
    with pytest.raises(FileExistsError):
        fs.mkdir(home + "/a/c/d")
    fs.pipe(home + "/f", b"")
    with pytest.raises(FileExistsError):
        fs.mkdir(home + "/f")
    for exist_ok in (False, True):
        with pytest.raises(OSError):
            fs.makedirs(home + "/f", exist_ok=exist_ok)


def test_paths(fs, home):
    with fsspec.open("pfs://%s/a" % home, "wb") as f:
        f.write(b"abc")
    assert fs.cat("/pfs/%s/a" % home) == b"abc"
    assert fs.ls("pfs://" + home, detail=False) == [home + "/a"]
    assert fs.ls(home + "/a", detail=False) == [home + "/a"]
    assert fs.unstrip_protocol(home) == "pfs://" + home
    assert "local" in fs.ls("pfs://", detail=False)
    info = fs.info(home + "/a")
    assert (info["size"], info["type"], info["name"]) == (3, "file", home + "/a")
    with pytest.raises(FileNotFoundError, match="/pfs/%s/b" % home):
        fs.info(home + "/b")
    with pytest.raises(IsADirectoryError):
        fs.open(home, "rb")
    with pytest.raises(PermissionError):
        fs.pipe("local/home/bob/a", b"")


def test_large_files(fs, home, tmp_path):
    data = os.urandom(2 * CHUNK + 12345)
    local = tmp_path / "local"
    local.write_bytes(data)
    fs.put(str(local), home + "/put")
    fs.pipe(home + "/pipe", data)
    with fs.open(home + "/written", "wb") as f:
        for i in range(0, len(data), 1_000_001):
            f.write(data[i : i + 1_000_001])
    for name in ("put", "pipe", "written"):
        assert fs.cat(home + "/" + name) == data
    fs.get(home + "/put", str(tmp_path / "got"))
    assert (tmp_path / "got").read_bytes() == data
    assert sorted(os.listdir(tmp_path)) == ["got", "local"]
    assert fs.cat_file(home + "/put", start=-10) == data[-10:]
    assert fs.cat_file(home + "/put", start=5, end=-5) == data[5:-5]
    with fs.open(home + "/put") as f:
        f.seek(CHUNK - 3)
        assert f.read(10) == data[CHUNK - 3 :][:10]
    assert fs.info(home + "/put")["digest"] == fs.info(home + "/pipe")["digest"]


def test_upload_resumes(fs, home, tmp_path, monkeypatch):
    local = tmp_path / "local"
    local.write_bytes(os.urandom(6 * CHUNK))
    service, _ = fs._at(home)
    write, written = service.write, []

    async def broken(name, upload, off, data):
        if len(written) == 4:
            raise RuntimeError("interrupted")
        written.append(off)
        await write(name, upload, off, data)

    monkeypatch.setattr(service, "write", broken)
    with pytest.raises(RuntimeError):
        fs.put_file(str(local), home + "/x")
    assert not fs.exists(home + "/x")
    sent = []

    async def counted(name, upload, off, data):
        sent.append(off)
        await write(name, upload, off, data)

    monkeypatch.setattr(service, "write", counted)
    fs.put_file(str(local), home + "/x")
    assert fs.cat(home + "/x") == local.read_bytes()
    assert len(sent) < 6


def test_half_a_file_gets_no_name(fs, home):
    fs.pipe(home + "/x", b"old")
    for size in (10, 2 * CHUNK):
        with pytest.raises(ZeroDivisionError):
            with fs.open(home + "/x", "wb") as f:
                f.write(bytes(size))
                _ = 1 / 0
    assert fs.cat(home + "/x") == b"old"
    assert fs.ls(home, detail=False) == [home + "/x"]


def test_failed_write(fs, home, monkeypatch):
    """After a write that failed, close raises too, and no file appears: its parts might be there twice, or not at all."""
    write, places = Service.write, []

    async def fails(self, name, upload, off, data):
        places.append(off)
        if len(places) == 2:
            raise Failure(UNAVAILABLE, "gone")
        await write(self, name, upload, off, data)

    monkeypatch.setattr(Service, "write", fails)
    f = fs.open(home + "/x", "wb")
    with pytest.raises(ConnectionError):
        f.write(os.urandom(3 * CHUNK))
    for again in (lambda: f.write(b"more" * CHUNK), f.close):
        with pytest.raises(ConnectionError):
            again()
    assert f.closed and places == [0, CHUNK] and fs.find(home) == []


def test_file_changes_while_it_is_put(fs, home, tmp_path, monkeypatch):
    """Parts of two versions do not become a file."""
    pread = os.pread

    def changes(*args):
        data = pread(*args)
        os.utime(tmp_path / "x", ns=(0, 1))
        return data

    for size in (10, 3 * CHUNK):
        (tmp_path / "x").write_bytes(os.urandom(size))
        with monkeypatch.context() as m:
            m.setattr(os, "pread", changes)
            with pytest.raises(ChangedError, match="x changed while it was uploaded"):
                fs.put_file(str(tmp_path / "x"), home + "/x")
        assert not fs.exists(home + "/x")
        fs.put_file(str(tmp_path / "x"), home + "/x")
        assert fs.cat(home + "/x") == (tmp_path / "x").read_bytes()
        fs.rm(home + "/x")


def test_ranges(fs, home, monkeypatch):
    data = {i: os.urandom(50_000) for i in range(8)}
    fs.pipe({"%s/%d" % (home, i): d for i, d in data.items()})
    versions = {i: fs.info("%s/%d" % (home, i))["version"] for i in data}
    places = [(i * 5 % 8, i * 379) for i in range(100)]
    sent = count(fs, monkeypatch)
    paths = ["%s/%d" % (home, i) for i, _ in places]
    got = fs.cat_ranges(paths, [o for _, o in places], [o + 1000 for _, o in places], versions=[versions[i] for i, _ in places])
    assert got == [data[i][o : o + 1000] for i, o in places]
    assert sent == ["/v1/read"]
    got = fs.cat_ranges([home + "/0", home + "/none", home + "/1"], [49_990, 0, 5], [60_000, 1, 5])
    assert got[0] == data[0][-10:] and isinstance(got[1], FileNotFoundError) and got[2] == b""
    fs.pipe(home + "/0", b"new")
    got = fs.cat_ranges([home + "/0", home + "/1"], 0, 3, versions=[versions[0], versions[1]])
    assert isinstance(got[0], ChangedError) and got[1] == data[1][:3]
    with pytest.raises(ChangedError):
        fs.cat_ranges([home + "/0", home + "/1"], 0, 3, versions=[versions[0], versions[1]], on_error="raise")


def test_changed_while_read(fs, home):
    fs.pipe(home + "/x", os.urandom(3 * CHUNK))
    with fs.open(home + "/x") as f:
        f.read(10)
        fs.pipe(home + "/x", os.urandom(3 * CHUNK))
        with pytest.raises(ChangedError):
            f.seek(2 * CHUNK)
            f.read(10)


def test_moves(fs, home, monkeypatch):
    fs.pipe({home + "/d/a": b"a", home + "/d/e/b": b"b"})
    sent = count(fs, monkeypatch)
    fs.mv(home + "/d", home + "/moved/d", recursive=True)
    assert "/v1/call/rename" in sent
    assert fs.find(home) == [home + "/moved/d/a", home + "/moved/d/e/b"]
    fs.mv(home + "/moved/d/a", home + "/a")
    assert fs.cat(home + "/a") == b"a"
    with pytest.raises(IsADirectoryError):
        fs.rm(home + "/moved")
    with pytest.raises(OSError):
        fs.rmdir(home + "/moved")
    assert fs.glob(home + "/**/b") == [home + "/moved/d/e/b"]


def test_threads(fs, home):
    fs.pipe(home + "/x", bytes(100_000))
    errors = []

    def read():
        try:
            with fs.open(home + "/x") as f:
                assert len(f.read()) == 100_000
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=read) for _ in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors


def test_pandas_and_pyarrow(fs, home):
    frame = pd.DataFrame({"x": range(1000), "y": ["a"] * 1000})
    frame.to_parquet("pfs://%s/a.parquet" % home)
    frame.to_csv("pfs://%s/a.csv" % home, index=False)
    pd.testing.assert_frame_equal(pd.read_parquet("pfs://%s/a.parquet" % home), frame)
    pd.testing.assert_frame_equal(pd.read_csv("pfs://%s/a.csv" % home), frame)
    assert pa.parquet.read_table(home + "/a.parquet", filesystem=fs).num_rows == 1000
    pa.dataset.write_dataset(pa.table({"x": range(10)}), home + "/set", filesystem=fs, format="parquet")
    assert pa.dataset.dataset(home + "/set", filesystem=fs).to_table()["x"].to_pylist() == list(range(10))


def write_records(fs, path, records):
    payload = b"".join(struct.pack("<I", len(r)) + r for r in records)
    fs.pipe(path, struct.pack("<5I", 0x01020304, zlib.crc32(payload), 0, len(payload), len(records)) + payload)


def test_nothing_there():
    """A message says which part of the path is wrong."""
    with pytest.raises(FileNotFoundError, match='no datacenter "nowhere" here, only local'):
        recordio.Dataset("pfs://nowhere/home/alice/x")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        recordio.Dataset("pfs://local/home/alice/x*")


def test_records(fs, home, monkeypatch):
    """Records of many shards come by one request."""
    records = {s: [b"%d of %d" % (r, s) * 50 for r in range(300)] for s in range(8)}
    for s, r in records.items():
        write_records(fs, "%s/x-%05d-of-00008" % (home, s), r)
    assert list(recordio.reader("pfs://%s/x-00003-of-00008" % home)) == records[3]
    dataset = recordio.Dataset("pfs://%s/x-*" % home, cache_bytes=0)
    numbers = [i * 331 % 2400 for i in range(64)]
    want = [records[n // 300][n % 300] for n in numbers]
    assert dataset[numbers] == want  # also makes the indexes, which are missing
    sent = count(fs, monkeypatch)
    assert dataset[numbers] == want
    assert sent == ["/v1/read"]
    assert pickle.loads(pickle.dumps(dataset))[numbers] == want
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(dataset.__getitem__, (numbers,)) == want


def test_replaced(fs, home):
    """A dataset that is replaced while it is read raises ChangedError; no reader returns records of both."""
    order = [i * 33_101 % 240_000 for i in range(2400)]
    readers = {
        "batches": lambda ds: (r for i in range(0, 2400, 100) for r in ds[order[i : i + 100]]),
        "workers": lambda ds: (r for i in range(0, 240_000, 20_000) for r in pickle.loads(pickle.dumps(ds))[i : i + 100]),
        "stream": iter,
    }
    for name, read in readers.items():
        path = "%s/%s/x-%%05d-of-00008" % (home, name)
        for s in range(8):
            write_records(fs, path % s, [b"%05d old" % r for r in range(300 * s, 300 * s + 300)] * 100)
        dataset = recordio.Dataset("pfs://%s/%s/x-*" % (home, name), cache_bytes=0)
        records = read(dataset)
        assert next(records).endswith(b"old")
        for s in range(8):
            write_records(fs, path % s, [b"%05d new" % r for r in range(300 * s, 300 * s + 300)] * 100)
        got = set()
        with pytest.raises(ChangedError, match="x-0000.-of-00008"):
            for record in records:
                got.add(record[-3:])
        assert got <= {b"old"}
        fs.rm(path % 7)
        with pytest.raises(ChangedError, match="x-00007-of-00008"):
            dataset[-1]


def test_service_away(tmp_path):
    """A service that does not answer is asked again for a while. Nothing is "not found"."""
    token = tmp_path / "token"
    token.write_text("abc")
    fs = PfsFileSystem(endpoint="http://127.0.0.1:9", token_file=str(token), retry_seconds=0.5)
    for do in (fs.exists, fs.isdir, fs.ls, fs.cat, fs.find, lambda p: fs.open(p, "rb")):
        with pytest.raises(ServiceUnavailableError, match="127.0.0.1:9"):
            do("local/home/alice/x")


def test_login(tmp_path):
    config = tmp_path / "config"
    with pytest.raises(ValueError, match="token_file or PFS_TOKEN_FILE"):
        PfsFileSystem(endpoint="https://127.0.0.1:9")
    with pytest.raises(PermissionError, match="paddlectl login"):
        PfsFileSystem(config_file=str(config), skip_instance_cache=True).ls("local")
    with open(os.environ["PADDLE_CONFIG"]) as f:
        text = f.read()
    config.write_text(text.replace("correct horse", "wrong"))
    with pytest.raises(PermissionError):
        PfsFileSystem(config_file=str(config), skip_instance_cache=True).ls("local")
    pinned = text.split("fingerprint: ")[1].strip()
    config.write_text(text.replace(pinned, "0" * 64))
    with pytest.raises(PermissionError, match=pinned):
        PfsFileSystem(config_file=str(config), skip_instance_cache=True).ls("local")
    config.write_text(text)
    fs = PfsFileSystem(config_file=str(config), skip_instance_cache=True)
    fs.ls("local/home/alice")
    service, _ = fs._at("local")
    service._token = "expired"  # as after an hour: the refresh token gets another one
    fs.ls("local/home/alice")
    (tokens,) = [n for n in (tmp_path / "tokens").iterdir() if not n.name.endswith(".lock")]
    assert tokens.stat().st_mode & 0o777 == 0o600
    config.write_text(text.replace("  password: correct horse battery\n", ""))  # the stored tokens suffice
    PfsFileSystem(config_file=str(config), skip_instance_cache=True).ls("local/home/alice")
