"""Messages, checksums and errors of the protocol. The documentation of the Go package pfs/wire describes it."""

from __future__ import annotations

import base64
import errno
import struct
from typing import Any

import msgpack  # type: ignore[import-untyped]
import xxhash

from ..errors import ChangedError as ChangedError

VERSION = "1"
CHUNK = 4 << 20  # bytes of a chunk, and of a leaf of a digest
SUM = 16  # bytes of the checksum after a chunk
BATCH_ENTRIES = 1024
BATCH_BYTES = 2 * CHUNK
MAX_MESSAGE = 4 << 20
MAX_LEAVES = 1024

# The numbers of the kinds of errors.
OTHER, INVALID, NOT_EXIST, EXIST, PERMISSION, UNAUTHENTICATED, IS_DIR, NOT_DIR, NOT_EMPTY = range(9)
SYMLINK, CROSS_STORE, UNSUPPORTED, READ_ONLY, NO_SPACE, QUOTA, CONFLICT, UNAVAILABLE, LIMIT, INTEGRITY = range(9, 19)

# Their texts, and the number of the OSError, which selects its class: FileNotFoundError and so on.
_KINDS = {
    OTHER: ("failed", errno.EIO),
    INVALID: ("invalid argument", errno.EINVAL),
    NOT_EXIST: ("no such file or directory", errno.ENOENT),
    EXIST: ("already exists", errno.EEXIST),
    PERMISSION: ("permission denied", errno.EACCES),
    UNAUTHENTICATED: ("not logged in", errno.EACCES),
    IS_DIR: ("is a directory", errno.EISDIR),
    NOT_DIR: ("not a directory", errno.ENOTDIR),
    NOT_EMPTY: ("directory not empty", errno.ENOTEMPTY),
    SYMLINK: ("symbolic link not followed", errno.ELOOP),
    CROSS_STORE: ("on another store", errno.EXDEV),
    UNSUPPORTED: ("not supported by this store", errno.ENOTSUP),
    READ_ONLY: ("read-only", errno.EROFS),
    NO_SPACE: ("no space left", errno.ENOSPC),
    QUOTA: ("quota exceeded", errno.EDQUOT),
    CONFLICT: ("changed in the meantime", errno.ESTALE),
    UNAVAILABLE: ("unavailable", errno.EHOSTUNREACH),
    LIMIT: ("limit exceeded", errno.EAGAIN),
    INTEGRITY: ("integrity check failed", errno.EBADMSG),
    19: ("canceled", errno.ECANCELED),
    20: ("already closed", errno.EBADF),
    21: ("handle expired", errno.ESTALE),
    22: ("no such attribute", errno.ENODATA),
}


class ServiceUnavailableError(ConnectionError):
    """The service did not answer, or had no free slot, for the whole time of the retries."""


class IntegrityError(OSError):
    """Bytes do not match their checksum."""


_CLASSES: dict[int, type[OSError]] = {
    UNAVAILABLE: ServiceUnavailableError,
    LIMIT: ServiceUnavailableError,
    CONFLICT: ChangedError,
    INTEGRITY: IntegrityError,
}


class Failure(Exception):
    """An error of the protocol, which the retries judge. Callers of the file system get its OSError."""

    def __init__(self, kind: int, text: str = "", path: str = "", damaged: bool = False, held: bool = False, final: bool = False):
        super().__init__(text)
        self.kind, self.text, self.path, self.damaged, self.held = kind, text, path, damaged, held
        self.final = final  # repeating does not help, whatever the kind

    def named(self, path: str) -> Failure:
        self.path = self.path or path
        return self

    def os_error(self) -> OSError:
        text, number = _KINDS.get(self.kind, _KINDS[OTHER])
        if self.text:
            text += ": " + self.text
        return _CLASSES.get(self.kind, OSError)(number, text, self.path or None)


def failure(m: dict[str, Any]) -> Failure:
    """Returns the Failure of an Error message."""
    return Failure(m.get("kind", OTHER), m.get("text", ""), m.get("path", ""), bool(m.get("damaged")), bool(m.get("held")))


def kind_of_status(status: int) -> int:
    """Returns the kind of an answer without an Error message, which comes from a proxy."""
    if status in (408, 425, 502, 503, 504):
        return UNAVAILABLE
    return {429: LIMIT, 413: INVALID}.get(status, OTHER)


def encode(message: dict[str, Any]) -> bytes:
    packed: bytes = msgpack.packb(message)
    return packed


def decode(data: bytes) -> dict[str, Any]:
    try:
        m = msgpack.unpackb(data, strict_map_key=False)
    except ValueError as e:
        raise Failure(OTHER, "the service answered a malformed message: %s" % e) from None
    if not isinstance(m, dict):
        raise Failure(OTHER, "the service answered a message that is not a map")
    return m


def frame(message: dict[str, Any]) -> bytes:
    data = encode(message)
    return struct.pack(">I", len(data)) + data


def cut_frame(data: memoryview) -> tuple[dict[str, Any], memoryview]:
    """Returns the message at the start of data, and the rest."""
    if len(data) < 4:
        raise Failure(UNAVAILABLE, "the answer is cut off")
    (n,) = struct.unpack_from(">I", data)
    if n > MAX_MESSAGE:
        raise Failure(OTHER, "the service answered a message of %d bytes" % n)
    if len(data) < 4 + n:
        raise Failure(UNAVAILABLE, "the answer is cut off")
    return decode(bytes(data[4 : 4 + n])), data[4 + n :]


def leaf(data: bytes | memoryview) -> bytes:
    return xxhash.xxh3_128_digest(data)


def digest(leaves: list[bytes], size: int) -> str:
    """Returns the digest of a file of that size from the digests of its leaves."""
    return "xxh3:" + xxhash.xxh3_128_hexdigest(struct.pack(">Q", size) + b"".join(leaves))


def cut_chunk(data: memoryview, n: int) -> tuple[bytes, memoryview]:
    """Returns the verified chunk of n bytes at the start of data, and the rest."""
    if len(data) < n + SUM:
        raise Failure(UNAVAILABLE, "the answer is cut off")
    chunk = bytes(data[:n])
    if leaf(chunk) != data[n : n + SUM]:
        raise Failure(INTEGRITY, "%d bytes changed on their way" % n, damaged=True)
    return chunk, data[n + SUM :]


def decode_header(value: str) -> dict[str, Any]:
    """Decodes a message in a header."""
    try:
        return decode(base64.b64decode(value, validate=True))
    except ValueError as e:
        raise Failure(OTHER, "the service answered a malformed header: %s" % e) from None
