"""Writes RecordIO files with the bytes of the Go writer (none and snappy), or with the same chunks and
records (gzip and zstd)."""

from __future__ import annotations

import contextlib
import gzip
import os
import struct
import zlib
from types import TracebackType
from typing import Any

import cramjam
import xxhash

from .chunks import COMPRESSORS, GZIP, HEADER, NONE, SNAPPY
from .codecs import STREAM, masked_crc32c
from .staging import Staged

CHUNK_SIZE = 32 << 20
_LENGTH = struct.Struct("<I")
_FRAME, _MEMBER, _ZSTD_FRAME = 64 << 10, 1 << 20, 256 << 10  # of data
_MOST_RECORD = (1 << 32) - 5
_MOST_DATA = (256 << 20) - (1 << 20)  # of a chunk that readers accept without an option


def compress(compressor: int, data: bytes) -> bytes:
    """Returns data as the payload of a chunk, in parts that can be decoded alone."""
    if compressor == NONE:
        return data
    if compressor == SNAPPY:
        return STREAM + b"".join(_frame(data[i : i + _FRAME]) for i in range(0, len(data), _FRAME))
    if compressor == GZIP:
        return b"".join(gzip.compress(data[i : i + _MEMBER], 6, mtime=0) for i in range(0, len(data), _MEMBER))
    return b"".join(_zstd(data[i : i + _ZSTD_FRAME]) for i in range(0, len(data), _ZSTD_FRAME))


def _frame(data: bytes) -> bytes:
    """Returns a snappy frame, without compression if that saves less than an eighth."""
    kind, body = 0, bytes(cramjam.snappy.compress_raw(data))
    if len(body) >= len(data) - len(data) // 8:
        kind, body = 1, data
    return bytes([kind]) + (len(body) + 4).to_bytes(3, "little") + _LENGTH.pack(masked_crc32c(data)) + body


def _zstd(data: bytes) -> bytes:
    """Returns a zstd frame with a checksum, which cramjam leaves out."""
    frame = bytearray(cramjam.zstd.compress(data))
    frame[4] |= 4
    return bytes(frame) + _LENGTH.pack(xxhash.xxh64_intdigest(data) & 0xFFFFFFFF)


class writer:  # noqa: N801 (the name of the reader is reader)
    """Writes records to a file, which appears under its name when it is complete:

        with recordio.writer("train-00000", compressor="snappy") as w:
            w.write(b"record")

    compressor is "none", "snappy", "gzip" or "zstd". A chunk has at most chunk_size bytes of records. If
    the with block raises, or discard is called, there is no file. path may be one of fsspec. On pfs:// the
    bytes go to the service as they come, and a process that is killed leaves no file.
    """

    def __init__(self, path: str | os.PathLike[str], compressor: str = "snappy", chunk_size: int = CHUNK_SIZE) -> None:
        codes = [code for code, name in COMPRESSORS.items() if name == compressor]
        if not codes:
            raise ValueError("compressor=%r: %s" % (compressor, ", ".join(COMPRESSORS.values())))
        if chunk_size < 1:
            raise ValueError("chunk_size=%d: at least 1" % chunk_size)
        self.path, self._compressor, self._chunk_size = os.fspath(path), codes[0], chunk_size
        self.records = self.record_bytes = self.bytes = 0  # written so far
        self._parts: list[bytes] = []
        self._count = self._size = 0  # of the chunk
        self._most = min(max(chunk_size, 1 << 20), 1 << 27)
        self._out, self._closed, self._failed = self._staged(), False, False

    def _staged(self) -> Staged:
        return Staged(self.path)

    def write(self, record: bytes | bytearray | memoryview) -> None:
        """Adds a record."""
        if not isinstance(record, (bytes, bytearray, memoryview)):
            raise TypeError("%s: a record is bytes, not %s" % (self.path, type(record).__name__))
        self._check_failed()
        if self._closed:
            raise ValueError("%s: the writer is closed" % self.path)
        data = bytes(record)
        size = len(data)
        if size > _MOST_RECORD:
            raise ValueError("%s: a record of %d bytes: at most %d" % (self.path, size, _MOST_RECORD))
        full = size > self._chunk_size - self._size or self._count >= self._most
        if self._count and (full or self._chunk_size <= _MOST_DATA and self._size + 4 * self._count + size + 4 > _MOST_DATA):
            self._flush()
        self._parts += (_LENGTH.pack(size), data)
        self._count += 1
        self._size += size
        self.records += 1
        self.record_bytes += size

    def _flush(self) -> None:
        if not self._count:
            return
        try:
            stored = compress(self._compressor, b"".join(self._parts))
            head = HEADER.pack(0x01020304, zlib.crc32(stored), self._compressor, len(stored), self._count)
            self._store(head + stored)
        except BaseException:  # some of the chunk may be in the file
            self._failed = True
            self._give_up()
            raise
        self._parts, self._count, self._size = [], 0, 0

    def _store(self, data: bytes) -> None:
        self._out.write(data)
        self.bytes += len(data)

    def close(self) -> None:
        """Completes the file. A second call does nothing."""
        self._check_failed()
        if self._closed:
            return
        try:
            self._finish()
            self._out.publish()
        except BaseException:
            self._failed = True
            self._give_up()
            raise

    def _finish(self) -> None:
        self._closed = True
        self._flush()
        self._out.finish()

    def _check_failed(self) -> None:
        if self._failed:
            raise ValueError("%s: a write failed, and the file was given up" % self.path)

    def _give_up(self) -> None:
        with contextlib.suppress(OSError):  # another exception is raised
            self.discard()

    def discard(self) -> None:
        """Removes what was written."""
        self._closed = True
        self._out.discard()

    def __enter__(self) -> writer:
        return self

    def __exit__(self, kind: Any, value: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._give_up()
