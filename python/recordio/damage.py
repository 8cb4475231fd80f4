"""The policies skip and salvage for damaged files. They return the same records as the Scanner of the Go package recordio."""

from __future__ import annotations

import re
import warnings
import zlib
from dataclasses import dataclass, field
from typing import Callable, Iterator, Sequence

import numpy as np

from . import index
from .chunks import COMPRESSORS, GZIP, HEADER, MAGIC, MAX_CHUNK, NONE, SNAPPY, ZSTD, Header, check_crc, check_room, parse_header
from .codecs import STREAM, decompress, gzip_members, snappy_frames, zstd_frames
from .errors import DamageWarning, RecordIOError
from .storage import Range, Storage

POLICIES = ("fail", "skip", "salvage")
Read = Callable[[int, int], bytes]  # of a range of the file

_STEP = 64 << 10  # bytes read at a time during a search
_COST = 64  # bytes that may be hashed for each omitted byte, in addition to a few chunks
_TRIES = 4096  # false blocks that are decoded in one damaged range
_BLOCK = {SNAPPY: 64 << 10, GZIP: 1 << 20, ZSTD: 256 << 10}  # data in each block but the last
_MOST_FRAME = 76498  # bytes of a snappy frame
_BEGINS = {  # what a block with data begins with
    SNAPPY: re.compile(rb"(?=[\0\1]..[\0\1])[\0\1]", re.DOTALL),
    GZIP: re.compile(rb"\x1f\x8b\x08"),
    ZSTD: re.compile(rb"\x28\xb5\x2f\xfd"),
}


@dataclass(frozen=True)
class Damage:
    """A place in a file whose bytes differ from what was written."""

    path: str
    offset: int
    bytes: int  # from there to the next whole chunk or the end
    lost: int | None  # records; None if that is not known
    saved: int  # records of that place that were returned
    reason: str

    def __str__(self) -> str:
        lost = "an unknown number of records is" if self.lost is None else "%d records are" % self.lost
        return "%s: %d bytes at offset %d: %s: %s left out, %d saved" % (
            self.path, self.bytes, self.offset, self.reason, lost, self.saved,
        )  # fmt: skip


@dataclass
class Piece:
    """A chunk, or a damaged range with the records saved from it."""

    offset: int
    size: int
    data: memoryview
    ends: list[int]  # of the records in data, each behind its length
    damage: Damage | None = None

    def records(self) -> list[bytes]:
        return [bytes(self.data[a + 4 : b]) for a, b in zip([0, *self.ends], self.ends)]


@dataclass
class _Run:
    """A part of the data of a chunk that its checksums prove correct."""

    at: int  # in the data; -1 if that is not known
    data: bytes
    last: bool = False  # whether it ends where the data ends


def check_policy(policy: str) -> None:
    if policy not in POLICIES:
        raise ValueError("on_damage=%r: it is one of %s" % (policy, ", ".join(POLICIES)))


def _records_in(data: memoryview) -> list[int]:
    """Returns the ends of the records, which must fill data."""
    ends, pos = [], 0
    while pos < len(data):
        pos += 4 + int.from_bytes(data[pos : pos + 4], "little")
        ends.append(pos)
    if pos != len(data):
        raise RecordIOError("record %d of a chunk is longer than its data" % (len(ends) - 1))
    return ends


class Scan:
    """Reads a file of size bytes to its end, whatever is damaged."""

    def __init__(self, path: str, read: Read, size: int, policy: str) -> None:
        self.path, self.size, self.salvages = path, size, policy == "salvage"
        self.read: Read = lambda start, end: read(start, min(end, size))
        self.budget = 4 * MAX_CHUNK  # bytes that the search for chunks may still hash
        self.framed = False  # whether the blocks of a chunk have the sizes that the writers of this project give them

    def pieces(self) -> Iterator[Piece]:
        offset, first = 0, True
        while offset < self.size:
            head = self.read(offset, offset + HEADER.size)
            header, truncated = None, False
            try:
                header = parse_header(head)
                truncated = self.size - offset - HEADER.size < header.size
                check_room(header, self.size - offset)
                stored = memoryview(self.read(offset + HEADER.size, offset + HEADER.size + header.size))
                check_crc(stored, header.crc)
            except RecordIOError as e:
                piece = self._damaged(offset, header, truncated or len(head) < HEADER.size, e)
            else:
                if first:
                    self.framed = not (header.compressor == SNAPPY and _of_other_writer(stored))
                    first = False
                piece = self._decoded(offset, header, stored)
            yield piece
            offset += piece.size

    def _decoded(self, offset: int, header: Header, stored: memoryview) -> Piece:
        size = HEADER.size + header.size
        empty = Piece(offset, size, memoryview(b""), [])
        if header.compressor not in COMPRESSORS:
            return empty
        try:
            data = decompress(header.compressor, stored)
            ends = _records_in(data)
        except RecordIOError as e:
            if header.records == 0:
                return empty  # an index or other metadata
            return self._opened(offset, size, header, False, e)
        if len(ends) == header.records:
            return Piece(offset, size, data, ends)
        if not ends and header.records == 0:
            return empty
        error = RecordIOError("the header states %d records, and the chunk has %d" % (header.records, len(ends)))
        return self._opened(offset, size, header._replace(records=len(ends)), False, error)

    def _damaged(self, offset: int, header: Header | None, truncated: bool, error: RecordIOError) -> Piece:
        if header is not None and self._chained(offset, header):
            size = HEADER.size + header.size
        else:
            size = self._seek(offset) - offset
        return self._opened(offset, size, header, truncated, error)

    def _chained(self, offset: int, header: Header) -> bool:
        """Reports whether a header is credible: a chunk or the end of the file follows its payload."""
        end = offset + HEADER.size + header.size
        return _possible(header) and (end == self.size or end < self.size and self.read(end, end + len(MAGIC)) == MAGIC)

    def _seek(self, offset: int) -> int:
        """Returns the offset of the next intact chunk, or the end."""
        at = offset + 1
        while at < self.size:
            window = self.read(at, at + _STEP + len(MAGIC) - 1)
            i = window.find(MAGIC)
            while 0 <= i:
                if self._begins(at + i):
                    return at + i
                i = window.find(MAGIC, i + 1)
            at += _STEP
            self.budget += _COST * _STEP
        return self.size

    def _begins(self, at: int) -> bool:
        head = self.read(at, at + HEADER.size + 4)
        if len(head) < HEADER.size:
            return False
        _, crc, compressor, size, count = HEADER.unpack(head[: HEADER.size])
        header = Header(compressor, size, count, crc)
        if size == 0 or not _possible(header) or self.budget < size or at + HEADER.size + size > self.size:
            return False
        if count and compressor == NONE and int.from_bytes(head[HEADER.size :], "little") + 4 > size:
            return False
        self.budget -= size
        return zlib.crc32(self.read(at + HEADER.size, at + HEADER.size + size)) == int(crc)

    def _opened(self, offset: int, size: int, header: Header | None, truncated: bool, error: RecordIOError) -> Piece:
        """Describes a damaged range, with the records that can be saved."""
        records: list[bytes] = []
        proven = False
        if self.salvages and HEADER.size < size <= MAX_CHUNK:
            stored = self.read(offset, offset + size)
            _, crc, compressor, length, count = HEADER.unpack(stored[: HEADER.size])
            header = Header(compressor, length, count, crc)
            records, proven = self._salvage(header, memoryview(stored)[HEADER.size :], truncated)
        lost = 0 if proven else None
        if not proven and header and size == HEADER.size + header.size and header.records > len(records) and _possible(header):
            lost = header.records - len(records)
        data = b"".join(len(r).to_bytes(4, "little") + r for r in records)
        damage = Damage(self.path, offset, size, lost, len(records), str(error))
        return Piece(offset, size, memoryview(data), _records_in(memoryview(data)), damage)

    def _salvage(self, header: Header, payload: memoryview, truncated: bool) -> tuple[list[bytes], bool]:
        """Returns the records that checksums prove, and whether these are all."""
        likely = _likely(header.compressor, bytes(payload[: len(STREAM)]))
        wrong = zlib.crc32(payload) ^ header.crc
        if wrong & (wrong - 1) == 0:  # at most one bit of the checksum itself
            for compressor in likely:
                try:
                    data = decompress(compressor, payload)
                    return Piece(0, 0, data, _records_in(data)).records(), True
                except RecordIOError:
                    pass
        for compressor in likely:
            runs = self._runs(compressor, payload)
            if not runs:
                continue
            if truncated:
                runs[-1].last = False
            records = _from_start(runs) + _from_end(runs[-1])
            if records:
                return records, False
        return [], False

    def _runs(self, compressor: int, payload: memoryview) -> list[_Run]:
        if compressor == NONE:
            return []
        runs: list[_Run] = []
        at, pos, joined, left, tries = 0, 0, False, MAX_CHUNK, [_TRIES]
        while pos < len(payload):
            size, raw, data = self._piece(compressor, payload[pos:], tries)
            pos += size
            left -= max(raw, 0)
            if left < 0:
                return runs
            if data is not None and joined:
                runs[-1].data += data
            elif data is not None:
                runs.append(_Run(at, data))
            joined = data is not None
            at = -1 if at < 0 or raw < 0 else at + raw
        if joined:
            runs[-1].last = True
        return runs

    def _piece(self, compressor: int, p: memoryview, tries: list[int]) -> tuple[int, int, bytes | None]:
        """Returns the stored size, the size of the data (-1 if not known) and the data of the block at the
        start of p; without data, the stored size leads to the next correct block."""
        block = _block(compressor, p)
        data = _data(compressor, p[: block[0]]) if block else None
        if block and data is not None:
            return block[0], len(data), data
        size = len(p)
        for m in _BEGINS[compressor].finditer(p, 1):
            if tries[0] <= 0:
                break
            other = _block(compressor, p[m.start() :])
            if other and other[1]:
                tries[0] -= 1
                if _data(compressor, p[m.start() : m.start() + other[0]]) is not None:
                    size = m.start()
                    break
        if block and block[0] == size and self.framed and block[1] == _BLOCK[compressor]:
            return size, block[1], None
        return size, -1, None


def _possible(header: Header) -> bool:
    if header.size > MAX_CHUNK:
        return False
    least = 4 * header.records if header.compressor == NONE else 1
    return header.records == 0 or header.compressor in COMPRESSORS and header.size >= least


def _of_other_writer(stored: memoryview) -> bool:
    """Recognizes a snappy payload in which the length of a record has a frame of its own."""
    try:
        frames = snappy_frames(stored)
        return next(frames)[2] == 0xFF and next(frames)[4] == 4 and next(frames) is not None
    except (StopIteration, RecordIOError):
        return False


def _likely(said: int, begin: bytes) -> list[int]:
    """Returns the compressors that a payload may be stored with: that of the header, and that which it looks like."""
    looks = SNAPPY if begin == STREAM else NONE
    for compressor in (GZIP, ZSTD):
        if _BEGINS[compressor].match(begin):
            looks = compressor
    return [looks] if said == looks or said not in COMPRESSORS else [said, looks]


def _block(compressor: int, p: memoryview) -> tuple[int, int] | None:
    """Measures the block at the start of p: its stored size, and the size of its data."""
    try:
        if compressor == SNAPPY:
            _, end, kind, _, size = next(snappy_frames(p))
            return None if kind <= 1 and end > _MOST_FRAME else (end, size)
        if compressor == ZSTD:
            _, end, size = next(zstd_frames(p))
            return end, size
        if not _BEGINS[GZIP].match(p):
            return None
        end, data = next(gzip_members(p))
        return end, len(data)
    except (RecordIOError, StopIteration):
        return None


def _data(compressor: int, p: memoryview) -> bytes | None:
    try:
        return bytes(decompress(compressor, p, verify=True))
    except RecordIOError:
        return None


def _from_start(runs: list[_Run]) -> list[bytes]:
    """Returns the records that lengths lead to from the first record. The length of a record that extends
    into a gap still locates the next one. What is left of the runs is for _from_end."""
    records, pos = [], 0
    for r in runs:
        if r.at < 0 or pos < r.at:
            break
        while pos + 4 <= r.at + len(r.data):
            start = pos - r.at + 4
            end = start + int.from_bytes(r.data[start - 4 : start], "little")
            pos = r.at + end
            if end > len(r.data):
                break
            records.append(r.data[start:end])
        r.data, r.at = r.data[max(0, pos - r.at) :], pos
    return records


def _from_end(run: _Run) -> list[bytes]:
    """Returns the records of a run whose lengths lead exactly to the end of the chunk, from the position on
    where all candidate chains of lengths meet."""
    if not run.last or len(run.data) < 4:
        return []
    end = len(run.data)
    b = np.frombuffer(run.data, np.uint8).astype(np.int64)
    leads = np.arange(end - 3) + 4 + (b[:-3] | b[1:-2] << 8 | b[2:-1] << 16 | b[3:] << 24)
    good: dict[int, int] = {}
    for i in np.flatnonzero(leads <= end)[::-1].tolist():
        n = int(leads[i])
        if n == end or n in good:
            good[i] = n
    reach, begun = 0, False
    for i in reversed(good):
        n = good[i]
        if begun and reach <= i and n > i + 4:
            records = []
            while i < end:
                records.append(run.data[i + 4 : good[i]])
                i = good[i]
            return records
        begun = begun or n > i + 4
        reach = max(reach, n)
    return []


@dataclass
class Part:
    """A part of a file as if it were intact: bytes of the file from offset on, or data."""

    start: int
    end: int
    offset: int
    data: bytes = b""


@dataclass
class Repairs:
    """The undamaged content of damaged files, by path."""

    parts: dict[str, list[Part]] = field(default_factory=dict)  # by path
    damage: list[Damage] = field(default_factory=list)

    def scan(self, path: str, read: Read, size: int, policy: str, stated: int | None) -> None:
        """Reads a whole file, which states a number of records in its manifest or not."""
        parts: list[Part] = []
        found: list[Damage] = []
        end = records = 0
        for piece in Scan(path, read, size, policy).pieces():
            data = b""
            if piece.damage is not None:
                found.append(piece.damage)
                if piece.ends:
                    header = HEADER.pack(int.from_bytes(MAGIC, "little"), zlib.crc32(piece.data), NONE, len(piece.data), len(piece.ends))
                    data = header + piece.data
            records += len(piece.ends)
            length = len(data) if piece.damage else piece.size
            if parts and not data and not parts[-1].data and piece.damage is None and parts[-1].offset + end - parts[-1].start == piece.offset:
                parts[-1].end += length
            elif length:
                parts.append(Part(end, end + length, piece.offset, data))
            end += length
        if stated is not None and records < stated and not any(d.lost != 0 for d in found):
            reason = "the manifest states %d records, and the file has %d" % (stated, records)
            found.append(Damage(path, size, 0, stated - records, 0, reason))
        if found:
            self.parts[path] = parts
            self.damage += found
            lost = [d.lost for d in found]
            text = "%s: %d damaged places: %d records are left out%s, %d saved; the first is %s" % (
                path, len(found), sum(n or 0 for n in lost), ", and more whose number is not known" if None in lost else "",
                sum(d.saved for d in found), found[0],
            )  # fmt: skip
            warnings.warn(text, DamageWarning, stacklevel=5)


class Repaired:
    """A storage that shows damaged files without their damage."""

    def __init__(self, base: Storage, repairs: Repairs) -> None:
        self.base, self.parts = base, repairs.parts
        self.indexes = {index.name_of(path) for path in self.parts}
        self.isdir, self.names, self.glob, self.sizes = base.isdir, base.names, base.glob, base.sizes

    def write(self, path: str, data: bytes) -> None:
        raise PermissionError("%s: damaged files get no index" % path)

    def size(self, path: str) -> int:
        parts = self.parts.get(path)
        return self.base.size(path) if parts is None else parts[-1].end if parts else 0

    def read(self, path: str) -> bytes:
        if path in self.indexes:  # of the file as it is
            raise FileNotFoundError(path)
        return self.base.read(path)

    def ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        wanted: list[Range] = []
        pieces: list[list[bytes | None]] = []
        for path, start, end in ranges:
            pieces.append([])
            if path not in self.parts:
                wanted.append((path, start, end))
                pieces[-1].append(None)
                continue
            for part in self.parts[path]:
                a, b = max(start, part.start) - part.start, min(end, part.end) - part.start
                if a < b and part.data:
                    pieces[-1].append(part.data[a:b])
                elif a < b:
                    wanted.append((path, part.offset + a, part.offset + b))
                    pieces[-1].append(None)
        read = iter(self.base.ranges(wanted) if wanted else [])
        return [b"".join(next(read) if p is None else p for p in each) for each in pieces]


def records_of(path: str, read: Read, size: int, policy: str, damage: list[Damage]) -> Iterator[list[bytes]]:
    """Yields the records of each chunk. It appends damage to the list, and warns of it."""
    for piece in Scan(path, read, size, policy).pieces():
        if piece.damage is not None:
            damage.append(piece.damage)
            warnings.warn(str(piece.damage), DamageWarning, stacklevel=5)
        yield piece.records()
