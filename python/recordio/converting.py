"""Writes a dataset, as convert of paddle.v2.dataset.common does."""

from __future__ import annotations

import collections
import io
import json
import os
import pickle
import tempfile
from typing import Any, Callable, Iterable, Iterator

import blake3
import msgpack  # type: ignore[import-untyped]
import numpy as np

from . import manifest
from .chunks import COMPRESSORS
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
    dataset of that name must not exist. output_path may be one of fsspec, such as pfs://.
    """
    if line_count < 1:
        raise ValueError("line_count=%d: at least 1" % line_count)
    if payload not in _ENCODERS:
        raise ValueError("payload=%r: %s" % (payload, ", ".join(_ENCODERS)))
    if compressor not in COMPRESSORS.values():
        raise ValueError("compressor=%r: %s" % (compressor, ", ".join(COMPRESSORS.values())))
    if not name_prefix or "/" in name_prefix:
        raise ValueError("name_prefix=%r: the beginning of file names" % name_prefix)
    target = os.fspath(output_path).rstrip("/")
    publish = _Remote(target) if "://" in target else _Local(target)
    name = manifest.file_name(name_prefix)
    if publish.exists(name):
        raise FileExistsError("%s/%s: the dataset exists: remove it first" % (target, name))
    with publish.staging() as staging:
        samples = reader() if callable(reader) else reader
        shards = list(_shards(staging, samples, line_count, name_prefix, payload, compressor))
        for s in shards:
            if publish.exists(s["name"]):
                raise FileExistsError("%s/%s: the file exists, and is of no dataset: remove it first" % (target, s["name"]))
        with open(os.path.join(staging, name), "w", encoding="utf-8", newline="\n") as f:
            f.write(_manifest(name_prefix, payload, compressor, line_count, shards))
        for shard in [*(s["name"] for s in shards), name]:
            publish.move(os.path.join(staging, shard), shard)
    return ["%s/%s" % (target, s["name"]) for s in shards]


def _shards(directory: str, samples: Iterable[Any], line_count: int, prefix: str, payload: str, compressor: str) -> Iterator[dict[str, Any]]:
    encode = _ENCODERS[payload]
    number, out = 0, None
    try:
        for i, sample in enumerate(samples):
            out = out or writer(_shard(directory, prefix, number), compressor, CHUNK_SIZE)
            try:
                out.write(encode(sample))
            except (TypeError, ValueError, OverflowError, pickle.PicklingError) as e:
                raise type(e)("sample %d: %s" % (i, e)) from e
            if i >= line_count and i % line_count == 0:
                out.close()
                yield _described(out)
                number, out = number + 1, None
        out = out or writer(_shard(directory, prefix, number), compressor, CHUNK_SIZE)
        out.close()
        yield _described(out)
    except BaseException:
        if out is not None:
            out.discard()
        raise


def _shard(directory: str, prefix: str, number: int) -> str:
    if number > 99999:
        raise ValueError("more than 100000 shards: a larger line_count is needed")
    return os.path.join(directory, "%s-%05d" % (prefix, number))


def _described(out: writer) -> dict[str, Any]:
    return {
        "name": os.path.basename(out.path),
        "records": out.records,
        "record_bytes": out.record_bytes,
        "bytes": out.bytes,
        "digest": "blake3:" + _digest(out.path),
    }


def _digest(path: str) -> str:
    """The tree digest of the Go package pfs/digest."""
    whole = blake3.blake3(os.path.getsize(path).to_bytes(8, "big"))
    with open(path, "rb") as f:
        while leaf := f.read(_LEAF):
            whole.update(blake3.blake3(leaf).digest())
    return whole.hexdigest()


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
    if isinstance(value, np.generic):
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


# --- where files go


class _Local:
    def __init__(self, target: str) -> None:
        self.target = target

    def exists(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.target, name))

    def staging(self) -> tempfile.TemporaryDirectory[str]:
        os.makedirs(self.target, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=".convert.", dir=self.target)

    def move(self, path: str, name: str) -> None:
        os.replace(path, os.path.join(self.target, name))


class _Remote:
    def __init__(self, target: str) -> None:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        self.fs, self.target = url_to_fs(target)

    def exists(self, name: str) -> bool:
        return bool(self.fs.exists("%s/%s" % (self.target, name)))

    def staging(self) -> tempfile.TemporaryDirectory[str]:
        self.fs.makedirs(self.target, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix="recordio.")

    def move(self, path: str, name: str) -> None:
        self.fs.put_file(path, "%s/%s" % (self.target, name))
        os.remove(path)
