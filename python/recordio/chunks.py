"""The chunks of a file. The documentation of the Go package recordio describes the format."""

from __future__ import absolute_import

import collections
import struct
import zlib

from . import snappy
from .errors import RecordIOError, UnknownCompressorError

try:
    from . import native  # Python 3.10 and later
except ImportError:  # there was no C compiler at the installation
    native = None

MAX_CHUNK = 1 << 30  # bytes, stored and decompressed
_MAGIC = 0x01020304
MAGIC = struct.pack("<I", _MAGIC)
HEADER = struct.Struct("<5I")
_LENGTH = struct.Struct("<I")
_STEP = 1 << 20  # bytes read at a time, whatever length a header states
NONE, SNAPPY, GZIP, ZSTD = 0, 1, 2, 0x5A530001
COMPRESSORS = {NONE: "none", SNAPPY: "snappy", GZIP: "gzip", ZSTD: "zstd"}

Header = collections.namedtuple("Header", "compressor size records crc")


def read_chunks(f):
    """Yields the records of each chunk of the binary file f as a list of bytes. Errors name
    the number and the offset of the chunk."""
    number, offset = 0, 0
    while True:
        try:
            size, records = _read_chunk(f)
        except RecordIOError as e:
            raise type(e)("chunk %d, offset %d: %s" % (number, offset, e))
        if size == 0:
            return
        if records is not None:
            yield records
        number += 1
        offset += size


def _read_chunk(f):
    """Returns the size of the next chunk and its records. The size is 0 at the end; the records
    are None for a chunk with an index or metadata."""
    head = _read(f, HEADER.size)
    if not head:
        return 0, None
    header = parse_header(head)
    stored = _read(f, header.size)
    records = _loaded(head, stored) if header.records > 0 else None
    if records is not None:
        return len(head) + len(stored), records
    check_size(len(stored), header.size)
    check_crc(stored, header.crc)
    if header.records == 0:
        check_hidden(stored, header.compressor)
        return len(head) + len(stored), None
    return len(head) + len(stored), _records(decompressed(stored, header.compressor), header.records)


def _loaded(head, stored):
    """Returns the records of a chunk if the extension is there and can load it. Its memory does not stay for Python."""
    if native is None:
        return None
    chunk = native.Chunk()
    return chunk.records(None) if chunk.load(head + stored, head) else None


def parse_header(head, room=None):
    """Parses the header of a chunk, for which the file has room bytes if that is known."""
    if len(head) < HEADER.size:
        raise RecordIOError("cut off: %d bytes where a chunk would begin" % len(head))
    magic, checksum, compressor, size, count = HEADER.unpack(head)
    if magic != _MAGIC:
        raise RecordIOError("no chunk begins where one must: not a RecordIO file, or damaged")
    if size > MAX_CHUNK:
        raise RecordIOError("a chunk of %d bytes: at most %d" % (size, MAX_CHUNK))
    header = Header(compressor, size, count, checksum)
    if room is not None:
        check_room(header, room)
    return header


def check_room(header, room):
    check_size(min(room - HEADER.size, header.size), header.size)


def check_hidden(stored, compressor):
    """Raises RecordIOError if the payload of a chunk of 0 records has records: the header is damaged."""
    if not stored or compressor not in COMPRESSORS:
        return
    try:
        data = decompressed(stored, compressor)
        count, pos = 0, 0
        while pos + _LENGTH.size <= len(data):
            pos += _LENGTH.size + _LENGTH.unpack_from(data, pos)[0]
            count += 1
    except RecordIOError:  # an index or other metadata
        return
    if count and pos == len(data):
        raise RecordIOError("the header states 0 records, and the chunk has %d" % count)


def check_size(found, size):
    if found < size:
        raise RecordIOError("cut off: %d of a chunk's %d bytes" % (found, size))


def check_crc(stored, crc):
    if zlib.crc32(stored) & 0xFFFFFFFF != crc:
        raise RecordIOError("it does not match its checksum")


def compressor_name(compressor):
    return COMPRESSORS.get(compressor, "%#x" % compressor)


def _read(f, size):
    """Reads size bytes, or fewer at the end of the file."""
    parts = []
    while size > 0:
        part = f.read(min(size, _STEP))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def decompressed(stored, compressor):
    """Decompresses a payload, with the libraries of the extra [fast] if they are installed."""
    if compressor == NONE:
        return stored
    fast = _fast()
    if fast is not None:
        return fast(compressor, memoryview(stored)).tobytes()
    if compressor == SNAPPY:
        return snappy.decode_stream(stored, MAX_CHUNK)
    if compressor == GZIP:
        # A truncated member gives the bytes that it has; the lengths of the records then show the damage.
        return b"".join(part for _, part, _ in gzip_members(stored))
    raise UnknownCompressorError(
        "compressor %s is not supported without the extra [fast]: install paddle-recordio[fast], "
        "or rewrite the file with none, snappy or gzip (paddlectl recordio recompress)" % compressor_name(compressor)
    )


def _fast():
    """Returns the decompression of codecs, or None without its libraries. Python 2 cannot read that module."""
    if not _CODECS:
        try:
            from .codecs import decompress
        except (ImportError, SyntaxError):
            decompress = None
        _CODECS.append(decompress)
    return _CODECS[0]


_CODECS = []


def gzip_members(data):
    """Yields the stored size and the data of each gzip member in data, and its decompressor, which Python 3 knows to be complete."""
    room = MAX_CHUNK
    while data:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            part = member.decompress(data, room + 1)
        except zlib.error as e:
            raise RecordIOError("gzip: %s" % e)
        room -= len(part)
        if room < 0:
            raise RecordIOError("a chunk of more than %d bytes" % MAX_CHUNK)
        yield len(data) - len(member.unused_data), part, member
        data = member.unused_data


def _records(payload, count):
    """Cuts payload into exactly count records that fill it."""
    records, pos, end = [], 0, len(payload)
    if count * _LENGTH.size > end:
        raise RecordIOError("a chunk of %d bytes states %d records" % (end, count))
    while len(records) < count:
        if end - pos < _LENGTH.size:
            raise RecordIOError("a chunk states %d records and has %d" % (count, len(records)))
        (size,) = _LENGTH.unpack_from(payload, pos)
        pos += _LENGTH.size
        if size > end - pos:
            raise RecordIOError("a record of %d bytes where %d are left of its chunk" % (size, end - pos))
        records.append(payload[pos : pos + size])
        pos += size
    if pos != end:
        raise RecordIOError("%d bytes follow the last of %d records of a chunk" % (end - pos, count))
    return records
