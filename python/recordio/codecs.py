"""Decompression by libraries, in memory that the sizes in the frames bound in advance."""

from __future__ import annotations

from typing import Callable, Iterator

import cramjam
import google_crc32c
import numpy as np

from . import chunks
from .chunks import GZIP, MAX_CHUNK, NONE, SNAPPY, ZSTD, compressor_name
from .errors import RecordIOError, UnknownCompressorError

Buffer = bytes | memoryview
Room = Callable[[int], memoryview]  # returns writable memory of this size
STREAM = b"\xff\x06\x00\x00sNaPpY"
_FRAME = 1 << 16
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def decompress(compressor: int, stored: memoryview, verify: bool = False, room: Room | None = None) -> memoryview:
    """Decompresses the payload of a chunk, or a part of it that can be decoded alone. With verify it
    compares the checksums of snappy frames, which otherwise the checksum of the chunk covers. The
    data is in memory that room returns, if it is given and the payload is compressed."""
    if compressor == NONE:
        return stored
    if compressor == SNAPPY:
        return _unsnap(stored, verify, room or _room)
    if compressor == ZSTD:
        return _unzstd(stored, room or _room)
    if compressor == GZIP:
        data = memoryview(b"".join(part for _, part in gzip_members(stored)))
        if room is None:
            return data
        out = room(len(data))
        out[:] = data
        return out
    raise UnknownCompressorError("compressor %s is not known" % compressor_name(compressor))


def _room(size: int) -> memoryview:
    return np.empty(size, np.uint8).data


def _bounded(size: int) -> int:
    if size > MAX_CHUNK:
        raise RecordIOError("a chunk of more than %d bytes" % MAX_CHUNK)
    return size


def snappy_frames(stored: memoryview) -> Iterator[tuple[int, int, int, int, int]]:
    """Yields start, end, kind, position of the data and size of the data decoded of each frame."""
    pos, end = 0, len(stored)
    while pos < end:
        if end - pos < 4:
            raise RecordIOError("a snappy frame is cut off")
        kind = stored[pos]
        after = pos + 4 + (stored[pos + 1] | stored[pos + 2] << 8 | stored[pos + 3] << 16)
        body, size = pos + 8, 0
        if after > end or kind <= 1 and after < body:
            raise RecordIOError("a snappy frame is cut off")
        if kind == 0:
            size = _block_size(stored, body, after)
        elif kind == 1:
            size = after - body
        elif kind < 0x80:
            raise RecordIOError("a snappy frame of kind %d is not known" % kind)
        elif kind == 0xFF and bytes(stored[pos:after]) != STREAM:
            raise RecordIOError("not a snappy stream")
        if size > _FRAME:
            raise RecordIOError("a snappy frame of %d bytes: at most %d" % (size, _FRAME))
        yield pos, after, kind, body, size
        pos = after


def _block_size(stored: memoryview, pos: int, end: int) -> int:
    """Reads the size at the start of a snappy block."""
    size = 0
    for i in range(min(5, end - pos)):
        byte = stored[pos + i]
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return size
    raise RecordIOError("a snappy block without its size")


def _unsnap(stored: memoryview, verify: bool, room: Room) -> memoryview:
    frames = [f for f in snappy_frames(stored) if f[2] < 0x80]
    out = room(_bounded(sum(f[4] for f in frames)))
    if len(frames) > 1 and stored[: len(STREAM)] == STREAM:
        try:  # one call, during which other threads run
            if cramjam.snappy.decompress_into(stored, out) == len(out):
                return out
        except cramjam.DecompressionError:  # which frame, and whether it matters, shows below
            pass
    at = 0
    for pos, after, kind, body, size in frames:
        piece = out[at : at + size]
        if kind == 1:
            piece[:] = stored[body:after]
        elif _into(cramjam.snappy.decompress_raw_into, stored[body:after], piece, "snappy") != size:
            raise RecordIOError("a snappy block does not have the size that it states")
        if verify and masked_crc32c(piece) != int.from_bytes(stored[pos + 4 : body], "little"):
            raise RecordIOError("a snappy frame does not match its checksum")
        at += size
    return out


def _into(decode: object, stored: memoryview, out: memoryview, name: str) -> int:
    try:
        return decode(stored, out) if len(out) else 0  # type: ignore[operator]
    except cramjam.DecompressionError as e:
        raise RecordIOError("%s: %s" % (name, e))


def masked_crc32c(data: Buffer) -> int:
    c = crc32c(data)
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def crc32c(data: Buffer) -> int:
    return int(google_crc32c.value(data if isinstance(data, bytes) else np.asarray(data)))


def zstd_frames(stored: memoryview) -> Iterator[tuple[int, int, int]]:
    """Yields start, end and size of the data of each frame. Frames must state that size."""
    pos = 0
    while pos < len(stored):
        try:
            end, size = _zstd_frame(stored, pos)
        except IndexError:
            raise RecordIOError("a zstd frame is cut off")
        if end > len(stored):
            raise RecordIOError("a zstd frame is cut off")
        yield pos, end, size
        pos = end


def _zstd_frame(b: memoryview, pos: int) -> tuple[int, int]:
    """Returns the end of the zstd frame at pos, and the size of its data."""
    if bytes(b[pos : pos + 4]) != _ZSTD_MAGIC:
        raise RecordIOError("not a zstd frame")
    flags = b[pos + 4]
    single, width = flags >> 5 & 1, (0, 2, 4, 8)[flags >> 6]
    width = width or single
    if not width:
        raise RecordIOError("a zstd frame that does not state its size")
    at = pos + 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
    size = int.from_bytes(b[at : at + width], "little") + (256 if width == 2 else 0)
    at, last, most = at + width, 0, 0
    while not last:
        head = b[at] | b[at + 1] << 8 | b[at + 2] << 16
        last, kind = head & 1, head >> 1 & 3
        at += 3 + (1 if kind == 1 else head >> 3)
        most += 128 << 10
    if size > most:
        raise RecordIOError("a zstd frame states more data than its blocks can have")
    return at + (4 if flags >> 2 & 1 else 0), size


def _unzstd(stored: memoryview, room: Room) -> memoryview:
    out = room(_bounded(sum(size for _, _, size in zstd_frames(stored))))
    if _into(cramjam.zstd.decompress_into, stored, out, "zstd") != len(out):
        raise RecordIOError("zstd: a frame does not have the size that it states")
    return out


def gzip_members(stored: memoryview) -> Iterator[tuple[int, bytes]]:
    """Yields the stored size and the data of each gzip member."""
    for size, part, member in chunks.gzip_members(bytes(stored)):
        if not member.eof:
            raise RecordIOError("gzip: the data is cut off")
        yield size, part
