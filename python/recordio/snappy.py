"""Decodes snappy's framing format.

The checksums of the frames are not verified: the bytes come from a chunk whose own checksum
was verified.
"""

from __future__ import absolute_import

from .errors import RecordIOError

_STREAM = b"\xff\x06\x00\x00sNaPpY"
_COMPRESSED, _STORED, _FIRST_SKIPPABLE = 0x00, 0x01, 0x80
_MAX_BLOCK = 1 << 16


def decode_stream(data, limit):
    """Decodes the frames in data (bytes). Raises RecordIOError beyond limit bytes."""
    if not data.startswith(_STREAM):
        raise RecordIOError("not a snappy stream")
    blocks, total, pos = [], 0, 0
    while pos < len(data):
        kind, body, pos = _frame(data, pos)
        block = _block_of(kind, body)
        total += len(block)
        if total > limit:
            raise RecordIOError("a chunk of more than %d bytes" % limit)
        blocks.append(block)
    return b"".join(blocks)


def _frame(data, pos):
    """Returns kind, content and end of the frame at pos."""
    head = bytearray(data[pos : pos + 4])
    if len(head) < 4:
        raise RecordIOError("a snappy frame is cut off")
    end = pos + 4 + (head[1] | head[2] << 8 | head[3] << 16)
    if end > len(data):
        raise RecordIOError("a snappy frame is cut off")
    return head[0], data[pos + 4 : end], end


def _block_of(kind, body):
    if kind >= _FIRST_SKIPPABLE:  # padding, the start of another stream, or application-specific
        return b""
    if kind not in (_COMPRESSED, _STORED):
        raise RecordIOError("a snappy frame of kind %d is not known" % kind)
    if len(body) < 4:
        raise RecordIOError("a snappy frame is cut off")
    block = body[4:]  # after the frame's checksum
    if kind == _COMPRESSED:
        block = decode_block(block)
    if len(block) > _MAX_BLOCK:
        raise RecordIOError("a snappy frame of %d bytes: at most %d" % (len(block), _MAX_BLOCK))
    return block


def decode_block(data):
    """Decodes the block in data (bytes), of at most 65536 bytes decoded."""
    src = bytearray(data)
    size, pos = _varint(src)
    if size > _MAX_BLOCK:
        raise RecordIOError("a snappy block of %d bytes: at most %d" % (size, _MAX_BLOCK))
    out = bytearray()
    try:
        _elements(src, pos, out)
    except IndexError:
        raise RecordIOError("a snappy block is cut off")
    if len(out) != size:
        raise RecordIOError("a snappy block has %d bytes and states %d" % (len(out), size))
    return bytes(out)


def _varint(src):
    value = 0
    for i in range(min(5, len(src))):
        value |= (src[i] & 0x7F) << (7 * i)
        if src[i] < 0x80:
            return value, i + 1
    raise RecordIOError("a snappy block without its size")


def _elements(src, pos, out):
    """Decodes the elements from pos on and appends them to out. It is one long function
    because a call for each element would take most of the time."""
    end = len(src)
    while pos < end:
        tag = src[pos]
        kind = tag & 3
        if kind == 0:
            length, pos = (tag >> 2) + 1, pos + 1
            if length > 60:
                length, pos = _long_literal(src, pos, length - 60)
            if length > end - pos:
                raise IndexError
            out += src[pos : pos + length]
            pos += length
            continue
        if kind == 1:
            length = (tag >> 2 & 7) + 4
            offset = (tag & 0xE0) << 3 | src[pos + 1]
            pos += 2
        else:
            length = (tag >> 2) + 1
            offset = src[pos + 1] | src[pos + 2] << 8
            pos += 3
            if kind == 3:
                offset |= src[pos] << 16 | src[pos + 1] << 24
                pos += 2
        start = len(out) - offset
        if offset == 0 or start < 0:
            raise RecordIOError("a snappy block refers to what is not there")
        if offset >= length:
            out += out[start : start + length]
        else:  # overlapping: it copies bytes that it has just appended
            out += (out[start:] * (length // offset + 1))[:length]


def _long_literal(src, pos, width):
    """Reads the length of a literal from width bytes; returns it and their end."""
    length = 1
    for i in range(width):
        length += src[pos + i] << (8 * i)
    return length, pos + width
