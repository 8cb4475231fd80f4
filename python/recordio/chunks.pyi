from struct import Struct
from typing import Any, BinaryIO, Iterator, NamedTuple

from . import native as native

MAX_CHUNK: int
HEADER: Struct
MAGIC: bytes
NONE: int
SNAPPY: int
GZIP: int
ZSTD: int
COMPRESSORS: dict[int, str]

class Header(NamedTuple):
    compressor: int
    size: int
    records: int
    crc: int

def read_chunks(f: BinaryIO) -> Iterator[list[bytes]]: ...
def parse_header(head: bytes, room: int | None = ...) -> Header: ...
def check_room(header: Header, room: int) -> None: ...
def check_hidden(stored: bytes | memoryview, compressor: int) -> None: ...
def check_size(found: int, size: int) -> None: ...
def check_crc(stored: bytes | memoryview, crc: int) -> None: ...
def gzip_members(data: bytes) -> Iterator[tuple[int, bytes, Any]]: ...
def compressor_name(compressor: int) -> str: ...
