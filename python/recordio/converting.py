"""Writes a dataset, as convert of paddle.v2.dataset.common does."""

from __future__ import annotations

import collections
import io
import json
import os
import pickle
from typing import Any, Callable, Iterable

import blake3
import msgpack  # type: ignore[import-untyped]
import numpy as np

from . import manifest
from .chunks import COMPRESSORS
from .staging import Staged
from .storage import file_system, storage_of
from .writing import CHUNK_SIZE, writer

_LEAF = 4 << 20  # of the digest of a file


def convert(
    output_path: str | os.PathLike[str],
    reader: Callable[[], Iterable[Any]] | Iterable[Any],
    line_count: int,
    name_prefix: str,
    *,
    payload: str = "pickle",
    compressor: str = "snappy",
) -> list[str]:
    """Writes the samples of reader as a dataset of shards output_path/name_prefix-00000, ... with a
    manifest, and returns the paths of the shards. They have the bytes that ``paddlectl dataset convert
    --paddle-compat`` gives the same records: the first shard has line_count+1 samples, the others
    line_count, and the last the rest, which may be none.

    reader is iterable, or a function that returns an iterable. payload is "pickle" (protocol 2),
    "msgpack", "json" or "raw" (samples are bytes). All files appear at the end, the manifest last. A
    dataset of that name must not exist. output_path may be one of fsspec. On pfs:// the bytes go to the
    service as they come, and a process that is killed leaves no file.
    """
    if line_count < 1:
        raise ValueError("line_count=%d: at least 1" % line_count)
    if payload not in _ENCODERS:
        raise ValueError("payload=%r: %s" % (payload, ", ".join(_ENCODERS)))
    if compressor not in COMPRESSORS.values():
        raise ValueError("compressor=%r: %s" % (compressor, ", ".join(COMPRESSORS.values())))
    if not name_prefix or name_prefix[0] == "." or any(c < " " or c in "/\\\x7f\ufffd" for c in name_prefix):
        raise ValueError("name_prefix=%r: the beginning of file names" % name_prefix)
    target = os.fspath(output_path).rstrip("/")
    name = manifest.file_name(name_prefix)
    _make(target)
    storage = storage_of(target)
    if name in storage.names(target):
        raise FileExistsError("%s/%s: the dataset exists: remove it first" % (target, name))
    staged: list[Staged] = []
    try:
        samples = reader() if callable(reader) else reader
        shards = _shards(target, samples, line_count, name_prefix, payload, compressor, staged)
        present = set(storage.names(target))
        for s in shards:
            if s["name"] in present:
                raise FileExistsError("%s/%s: the file exists, and is of no dataset: remove it first" % (target, s["name"]))
        staged.append(Staged("%s/%s" % (target, name), exclusive=True))
        staged[-1].write(_manifest(name_prefix, payload, compressor, line_count, shards).encode("utf-8"))
        staged[-1].finish()
        for file in staged:
            file.publish()
    except BaseException:
        _discard(staged)
        raise
    return ["%s/%s" % (target, s["name"]) for s in shards]


def _make(directory: str) -> None:
    if "://" in directory:
        fs, path = file_system(directory)
        fs.makedirs(path, exist_ok=True)
    else:
        os.makedirs(directory, exist_ok=True)


def _discard(staged: list[Staged]) -> None:
    for file in staged:
        try:
            file.discard()
        except OSError:  # a service that is gone: it removes abandoned uploads
            return


def _shards(
    directory: str, samples: Iterable[Any], line_count: int, prefix: str, payload: str, compressor: str, staged: list[Staged]
) -> list[dict[str, Any]]:
    encode = _ENCODERS[payload]
    shards: list[dict[str, Any]] = []

    def begin() -> _Shard:
        if len(shards) > 99999:
            raise ValueError("more than 100000 shards: a larger line_count is needed")
        return _Shard("%s/%s-%05d" % (directory, prefix, len(shards)), compressor, staged)

    out: _Shard | None = begin()
    for i, sample in enumerate(samples):
        out = out or begin()
        try:
            out.write(encode(sample))
        except (TypeError, ValueError, OverflowError, pickle.PicklingError) as e:
            kind = ValueError if isinstance(e, UnicodeError) else type(e)  # whose own arguments are not a text
            raise kind("sample %d: %s" % (i, e)) from e
        if i >= line_count and i % line_count == 0:
            shards.append(out.described())
            out = None
    shards.append((out or begin()).described())
    return shards


class _Shard(writer):
    """A shard, which is published with the others, and the tree digest of the Go package pfs/digest."""

    def __init__(self, path: str, compressor: str, staged: list[Staged]) -> None:
        super().__init__(path, compressor, CHUNK_SIZE)
        staged.append(self._out)
        self._leaf, self._leaves = blake3.blake3(), b""

    def _staged(self) -> Staged:
        return Staged(self.path, exclusive=True)

    def _store(self, data: bytes) -> None:
        super()._store(data)
        rest = memoryview(data)
        while len(rest):
            size = _LEAF - (self.bytes - len(rest)) % _LEAF
            self._leaf.update(rest[:size])
            rest = rest[size:]
            if (self.bytes - len(rest)) % _LEAF == 0:
                self._end_leaf()

    def _end_leaf(self) -> None:
        self._leaves += self._leaf.digest()
        self._leaf = blake3.blake3()

    def described(self) -> dict[str, Any]:
        """Finishes the shard, and returns its entry in the manifest."""
        self._finish()
        if self.bytes % _LEAF:
            self._end_leaf()
        whole = blake3.blake3(self.bytes.to_bytes(8, "big") + self._leaves)
        return {
            "name": self.path.rsplit("/", 1)[-1],
            "records": self.records,
            "record_bytes": self.record_bytes,
            "bytes": self.bytes,
            "digest": "blake3:" + whole.hexdigest(),
        }


def _manifest(name: str, payload: str, compressor: str, line_count: int, shards: list[dict[str, Any]]) -> str:
    m = {
        "format": "paddle-dataset",
        "version": 1,
        "name": name,
        **{key: sum(s[key] for s in shards) for key in ("records", "record_bytes", "bytes")},
        "payload": payload,
        "source": "python",
        "inputs": [],
        "options": [
            "--chunk-size=%d" % CHUNK_SIZE,
            "--compressor=" + compressor,
            "--line-count=%d" % line_count,
            "--paddle-compat=true",
            "--payload=" + payload,
        ],
        "bad": 0,
        "shards": shards,
    }
    text = json.dumps(m, ensure_ascii=False, indent=2) + "\n"
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


# --- samples


def _tensor(value: Any) -> Any:
    """Encodes arrays as the package msgpack-numpy does."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":  # which may be a number, or None, without the unit
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
        return {b"nd": True, b"type": little.dtype.str, b"kind": b"", b"shape": list(value.shape), b"data": little.tobytes()}
    raise TypeError("MessagePack has no %s%s" % (type(value).__name__, " of " + str(value.dtype) if isinstance(value, np.ndarray) else ""))


class _Pickler(pickle.Pickler):
    """Writes what the readers of this package and paddlectl accept: values that are only data."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            raise TypeError("an array of objects is more than data")
        kind = value if isinstance(value, type) else type(value)
        names_data = getattr(value, "__module__", "").startswith(("numpy", "_codecs"))
        if not issubclass(kind, (np.ndarray, np.generic, np.dtype, *_DATA)) and not names_data:
            raise TypeError("readers refuse pickles of %s.%s: turn it into numbers, text, bytes or containers" % (kind.__module__, kind.__name__))
        return NotImplemented


_DATA = (collections.OrderedDict, complex, set, frozenset, bytes)


def _pickle(sample: Any) -> bytes:
    out = io.BytesIO()
    _Pickler(out, 2).dump(sample)
    return out.getvalue()


def _pack(sample: Any) -> bytes:
    return bytes(msgpack.packb(sample, default=_tensor))


def _check_keys(value: Any) -> None:
    """Raises TypeError for keys that JSON would turn into text."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError("JSON has no key %r: use text, or another payload" % (key,))
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        _check_keys(part)


def _json(sample: Any) -> bytes:
    _check_keys(sample)
    return json.dumps(sample, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def _raw(sample: Any) -> bytes:
    if not isinstance(sample, (bytes, bytearray, memoryview)):
        raise TypeError("the payload raw needs bytes, not %s" % type(sample).__name__)
    return bytes(sample)


_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "pickle": _pickle,
    "msgpack": _pack,
    "json": _json,
    "raw": _raw,
}
