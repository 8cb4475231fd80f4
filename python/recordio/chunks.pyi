from typing import BinaryIO, Iterator

MAX_CHUNK: int

def read_chunks(f: BinaryIO) -> Iterator[list[bytes]]: ...
