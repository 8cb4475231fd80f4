from typing import Any, NamedTuple

class ExtType(NamedTuple):
    code: int
    data: bytes

def loads(data: bytes) -> Any: ...
