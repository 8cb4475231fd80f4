"""Checks the memo indexes of a pickle before it is read.

The unpickler written in C keeps the memo in an array as long as the largest index, so nine
bytes can allocate 2 GiB of memory or 64. A valid pickle never needs an index that is larger
than its number of bytes.
"""

from __future__ import absolute_import

import re
import struct

from .errors import PickleError

_SHORT = 24  # the longest text that the pattern skips together with other opcodes


def _texts(codes, more):
    """Returns a pattern for opcodes with short texts; the further bytes of their lengths are 0."""
    sizes = b"|".join(struct.pack("<B", n) + more + b".{%d}" % n for n in range(_SHORT))
    return b"[" + codes + b"](?:" + sizes + b")"


# Opcodes whose arguments have a fixed length, end with the line, or are short, as most are: the
# pattern skips many at a time. It excludes STOP and opcodes that may use a large memo index.
_FIXED = re.compile(
    b"(?:[()\\]}012NQRabdelostu\x81\x85-\x89\x8f-\x94\x97\x98]|[Khq\x80\x82].|[M\x83]..|[Jj\x84].{4}|[G\x95].{8}"
    b"|r..\0\0|p\\d{1,4}\n|[ILFSVgP][^\n]*\n|" + _texts(b"U\x8cC", b"") + b"|" + _texts(b"X", b"\0\0\0") + b"){1,5000}",
    re.DOTALL,
)
_LINES = {b"I": 1, b"L": 1, b"F": 1, b"S": 1, b"V": 1, b"g": 1, b"P": 1, b"c": 2, b"i": 2}
_SIZED = {}
for _codes, _form in ((b"U\x8cC\x8a", "<B"), (b"XTB\x8b", "<I"), (b"\x8d\x8e\x96", "<Q")):
    for _i in range(len(_codes)):
        _SIZED[_codes[_i : _i + 1]] = struct.Struct(_form)
_INDEX = struct.Struct("<I")
_MOST_DIGITS = 20


def check(data):
    """Raises PickleError if the pickle at the start of data (bytes) uses a memo index larger than
    len(data). If data is not a pickle, it checks the part that an unpickler would reach."""
    pos, end = 0, len(data)
    while pos < end:
        run = _FIXED.match(data, pos)
        if run:
            pos = run.end()
            continue
        pos = _after(data, pos)


def _after(data, pos):
    """Returns the end of the opcode at pos, or of data if an unpickler stops there."""
    code, pos, end = data[pos : pos + 1], pos + 1, len(data)
    if code in _SIZED:
        form = _SIZED[code]
        if end - pos < form.size:
            return end
        return pos + form.size + form.unpack_from(data, pos)[0]
    if code == b"r":
        if end - pos < _INDEX.size:
            return end
        _check_index(_INDEX.unpack_from(data, pos)[0], end)
        return pos + _INDEX.size
    if code == b"p":
        line = data[pos : _line(data, pos)].strip()
        _check_index(int(line) if line.isdigit() and len(line) <= _MOST_DIGITS else end + 1, end)
        return _line(data, pos)
    for _ in range(_LINES.get(code, 0)):
        pos = _line(data, pos)
    return pos if code in _LINES else end


def _line(data, pos):
    """Returns the end of the line at pos."""
    return data.find(b"\n", pos) + 1 or len(data)


def _check_index(index, most):
    if index > most:
        raise PickleError("a pickle of %d bytes puts a value aside under an index beyond, for which it would take memory" % most)
