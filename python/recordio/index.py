"""Positions of chunks, records and separately readable blocks in a file, and their stored form, the
dot-file .NAME.idx of the Go package recordio."""

from __future__ import annotations

import io
import os
import struct
from dataclasses import dataclass
from typing import Callable, Iterator

import numpy as np
import numpy.typing as npt

from .chunks import COMPRESSORS, GZIP, HEADER, MAGIC, MAX_CHUNK, NONE, SNAPPY, ZSTD, check_crc, check_hidden, parse_header
from .codecs import crc32c, decompress, gzip_members, snappy_frames, zstd_frames
from .errors import RecordIOError

Ints = npt.NDArray[np.int64]
Read = Callable[[int, int], bytes]  # of a range of the file

_MAGIC = b"RIOINDX1"
_LENGTH = struct.Struct("<I")
_PLAIN_BLOCK = 64 << 10
_GO_DIALECT = 1


@dataclass(frozen=True)
class Chunk:
    """A chunk that holds records."""

    number: int  # among all chunks of the file
    offset: int
    size: int  # with its header
    records: int
    compressor: int
    crc: int
    unreadable: str = ""  # why the header of the chunk cannot be read

    @property
    def header(self) -> bytes:
        return HEADER.pack(int.from_bytes(MAGIC, "little"), self.crc, self.compressor, self.size - HEADER.size, self.records)


@dataclass(frozen=True)
class Chunks:
    """The chunks of a file that hold records."""

    size: int  # of the file
    chunks: list[Chunk]
    first: Ints  # number of the first record of each chunk; the last element is that of all records


@dataclass(frozen=True)
class Index(Chunks):
    """Also locates records and blocks. The data of all chunks, decompressed, is counted as one."""

    ends: Ints  # of the records in the data
    data: Ints  # start of the data of each chunk; the last element is that of all data
    block_data: Ints  # start of the data of each block, and the end
    block_at: Ints  # start of each block in the file
    block_size: Ints  # as stored
    block_sum: npt.NDArray[np.uint32]  # CRC-32C of the data of uncompressed blocks


def chunks_of(chunks: list[Chunk], size: int) -> Chunks:
    return Chunks(size, chunks, _starts([c.records for c in chunks]))


def _starts(counts: list[int] | Ints) -> Ints:
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def walk_headers(read: Read, size: int, stated: int | None = None) -> Chunks:
    """Reads the headers of a file of size bytes. If the number of records is stated (0: not known), what follows a
    damaged header counts as one chunk with the rest of the records, at least one."""
    chunks: list[Chunk] = []
    offset = number = 0
    while offset < size:
        try:
            chunk = parse_header(read(offset, offset + HEADER.size), size - offset)
            if chunk.records == 0:
                stored = read(offset + HEADER.size, offset + HEADER.size + chunk.size)
                check_crc(stored, chunk.crc)
                check_hidden(stored, chunk.compressor)
        except RecordIOError as e:
            if stated is None:
                raise type(e)("chunk %d, offset %d: %s" % (number, offset, e))
            rest = max(1, stated - sum(c.records for c in chunks))
            chunks.append(Chunk(number, offset, size - offset, rest, NONE, 0, str(e)))
            break
        if chunk.records:
            chunks.append(Chunk(number, offset, HEADER.size + chunk.size, chunk.records, chunk.compressor, chunk.crc))
        offset += HEADER.size + chunk.size
        number += 1
    return chunks_of(chunks, size)


def record_ends(data: memoryview, count: int) -> list[int]:
    """Returns the end of each of count records, whose lengths must fill data exactly."""
    ends: list[int] = []
    pos, size = 0, len(data)
    if count * _LENGTH.size > size:
        raise RecordIOError("a chunk of %d bytes states %d records" % (size, count))
    unpack, add = _LENGTH.unpack_from, ends.append
    try:
        for _ in range(count):
            pos += 4 + unpack(data, pos)[0]
            add(pos)
    except struct.error:
        raise RecordIOError("a chunk states %d records and has %d" % (count, len(ends)))
    if pos != size:
        raise RecordIOError("the records of a chunk take %d bytes and its data has %d" % (pos, size))
    return ends


def cut(data: io.BytesIO, start: int, end: int, count: int) -> list[bytes]:
    """Returns the count records that must fill data from start to end. At least one byte follows there."""
    if count * _LENGTH.size > end - start:
        raise RecordIOError("a chunk of %d bytes states %d records" % (end - start, count))
    data.seek(start)
    read, unpack = data.read, _LENGTH.unpack
    try:
        records = [read(unpack(read(4))[0]) for _ in range(count)]
    except struct.error:
        raise RecordIOError("a chunk states %d records and has fewer" % count)
    if data.tell() != end:
        raise RecordIOError("the records of a chunk take %d bytes and its data has %d" % (data.tell() - start, end - start))
    return records


# Blocks: (stored size, size of the data, checksum of the data of an uncompressed block).
_Block = tuple[int, int, int]


def blocks_of(compressor: int, stored: memoryview) -> list[_Block]:
    """Divides the payload of a chunk into parts that can be decoded alone."""
    if compressor == NONE:
        parts = (stored[i : i + _PLAIN_BLOCK] for i in range(0, len(stored), _PLAIN_BLOCK))
        return [(len(p), len(p), crc32c(p)) for p in parts]
    if compressor == SNAPPY:
        return list(_snappy_blocks(stored))
    if compressor == GZIP:
        return [(size, len(data), 0) for size, data in gzip_members(stored)]
    if compressor == ZSTD:
        return [(end - start, size, 0) for start, end, size in zstd_frames(stored)]
    raise RecordIOError("compressor %#x is not known" % compressor)


def _snappy_blocks(stored: memoryview) -> Iterator[_Block]:
    """Each data frame with the frames before it that have no data; the last also with those behind."""
    frames = list(snappy_frames(stored))
    ends = [after for _, after, kind, _, _ in frames if kind < 0x80]
    sizes = [size for _, _, kind, _, size in frames if kind < 0x80]
    if ends:
        ends[-1] = len(stored)
    for start, end, size in zip([0] + ends, ends, sizes):
        yield end - start, size, 0


def build(read: Read, size: int) -> bytes:
    """Reads and checks the whole file, and returns its index as stored."""
    table = walk_headers(read, size)
    out = [_MAGIC, _varints([size, _GO_DIALECT if size else 0, len(table.chunks)])]
    end = 0
    for chunk in table.chunks:
        stored = memoryview(read(chunk.offset, chunk.offset + chunk.size))[HEADER.size :]
        try:
            check_crc(stored, chunk.crc)
            data = decompress(chunk.compressor, stored, verify=True)
            ends = record_ends(data, chunk.records)
            blocks = blocks_of(chunk.compressor, stored)
        except RecordIOError as e:
            raise type(e)("chunk %d, offset %d: %s" % (chunk.number, chunk.offset, e))
        out.append(encode_chunk(chunk, end, ends, blocks))
        end = chunk.offset + chunk.size
    text = b"".join(out)
    return text + _LENGTH.pack(crc32c(text))


def encode_chunk(chunk: Chunk, end: int, ends: list[int], blocks: list[_Block]) -> bytes:
    """Returns the description of a chunk; the previous one ends at end."""
    raw = ends[-1] if ends else 0
    out = [_varints([chunk.offset - end, chunk.size, chunk.records, raw, chunk.compressor, chunk.crc])]
    out.append(_varints([b - a - 4 for a, b in zip([0] + ends, ends)] + [len(blocks)]))
    for stored, data, checksum in blocks:
        out.append(_varints([stored]))
        out.append(_LENGTH.pack(checksum) if chunk.compressor == NONE else _varints([data]))
    return b"".join(out)


def _varints(numbers: list[int]) -> bytes:
    out = bytearray()
    for n in numbers:
        while n > 0x7F:
            out.append(n & 0x7F | 0x80)
            n >>= 7
        out.append(n)
    return bytes(out)


def parse(text: bytes, size: int) -> Index:
    """Reads an index. Raises RecordIOError unless it is intact and of a file of size bytes."""
    body = text[:-4]
    if not body.startswith(_MAGIC) or crc32c(body) != _LENGTH.unpack(text[-4:])[0]:
        raise RecordIOError("not an index, or damaged")
    try:
        index = _Parser(body).index()
    except (IndexError, struct.error, OverflowError):
        raise RecordIOError("the index is cut off, or contradicts itself")
    if index.size != size:
        raise RecordIOError("the index is of a file of %d bytes, and the file has %d" % (index.size, size))
    return index


class _Parser:
    def __init__(self, body: bytes) -> None:
        self.body, self.pos = body, len(_MAGIC)
        self.array = np.frombuffer(body, np.uint8)

    def varint(self) -> int:
        n = shift = 0
        while True:
            byte = self.body[self.pos]
            self.pos += 1
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return n
            if shift > 63:
                raise RecordIOError("the index contradicts itself")

    def lengths(self, count: int) -> Ints:
        """Reads many varints below 2**35 at once."""
        last = np.flatnonzero(self.array[self.pos : self.pos + 5 * count] < 0x80)[:count]
        if len(last) < count:
            raise RecordIOError("the index contradicts itself")
        first = np.concatenate([[0], last[:-1] + 1])
        sizes = last - first + 1
        if count and sizes.max() > 5:
            raise RecordIOError("the index contradicts itself")
        values = np.zeros(count, np.int64)
        for k in range(int(sizes.max()) if count else 0):
            has = sizes > k
            values[has] |= (self.array[self.pos + first[has] + k].astype(np.int64) & 0x7F) << 7 * k
        self.pos += int(last[-1]) + 1 if count else 0
        return values

    def index(self) -> Index:
        size, dialect, count = self.varint(), self.varint(), self.varint()
        if dialect not in (0, _GO_DIALECT) and count:
            raise RecordIOError("a file of another dialect: rewrite it (paddlectl recordio recompress)")
        chunks: list[Chunk] = []
        ends: list[Ints] = []
        blocks: list[tuple[Ints, ...]] = []
        data, end = [0], 0
        for i in range(count):
            offset, stored, records, raw, compressor, crc = [self.varint() for _ in range(6)]
            chunk = Chunk(i, end + offset, stored, records, compressor, crc)
            end = chunk.offset + stored
            if end > size or not 0 < records <= len(self.body) or raw > MAX_CHUNK or compressor not in COMPRESSORS or crc >> 32:
                raise RecordIOError("the index contradicts itself")
            own = np.cumsum(self.lengths(records) + 4)
            chunks.append(chunk)
            ends.append(own + data[-1])
            blocks.append(self.blocks(chunk, data[-1], raw))
            if own[-1] != raw:
                raise RecordIOError("the index contradicts itself")
            data.append(data[-1] + raw)
        parts = [np.concatenate(p) if p else np.zeros(0, np.int64) for p in (zip(*blocks) if blocks else [(), (), (), ()])]
        return Index(
            size, chunks, _starts([c.records for c in chunks]), np.concatenate(ends) if ends else np.zeros(0, np.int64),
            np.array(data, np.int64), np.append(parts[0], data[-1]), parts[1], parts[2], parts[3].astype(np.uint32),
        )  # fmt: skip

    def blocks(self, chunk: Chunk, data: int, raw: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Reads the blocks of a chunk whose data begins at data and has raw bytes."""
        rows = []
        for _ in range(self.varint()):
            stored = self.varint()
            if chunk.compressor == NONE:
                rows.append((stored, stored, _LENGTH.unpack_from(self.body, self.pos)[0]))
                self.pos += 4
            else:
                rows.append((stored, self.varint(), 0))
        table = np.array(rows, np.int64).reshape(-1, 3)
        at, of = _starts(table[:, 0]), _starts(table[:, 1])
        if at[-1] != chunk.size - HEADER.size or of[-1] != raw:
            raise RecordIOError("the index contradicts itself")
        return data + of[:-1], chunk.offset + HEADER.size + at[:-1], table[:, 0], table[:, 2]


def name_of(path: str) -> str:
    """Returns the path of the index of a file."""
    head, tail = os.path.split(path) if "://" not in path else path.rsplit("/", 1)
    return "%s/.%s.idx" % (head, tail) if head else ".%s.idx" % tail
