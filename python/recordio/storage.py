"""Files on this machine and, through fsspec, elsewhere."""

from __future__ import annotations

import glob
import os
import threading
from collections import OrderedDict
from typing import Any, Protocol, Sequence

MOST_OPEN = 64
Range = tuple[str, int, int]  # path, start, end


class Storage(Protocol):
    """What the package needs of a file system."""

    def isdir(self, path: str) -> bool: ...
    def names(self, path: str) -> list[str]: ...
    def glob(self, pattern: str) -> list[str]: ...
    def size(self, path: str) -> int: ...

    def sizes(self, paths: Sequence[str]) -> dict[str, int]:
        """Returns the sizes of those of the files that exist."""
        ...

    def read(self, path: str) -> bytes: ...

    def ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Returns the bytes of each range; fewer where a file ends."""
        ...


def storage_of(path: str) -> Storage:
    return Remote(path) if "://" in path else Local()


class Local:
    """Files of this machine. They are read with pread and not mapped: if a mapped file is cut off or
    its mount fails, the kernel kills the process, while pread returns an error."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._open: OrderedDict[str, int] = OrderedDict()

    def __reduce__(self) -> tuple[type[Local], tuple[()]]:
        return Local, ()

    def isdir(self, path: str) -> bool:
        return os.path.isdir(path)

    def names(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def glob(self, pattern: str) -> list[str]:
        return glob.glob(pattern)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def sizes(self, paths: Sequence[str]) -> dict[str, int]:
        found = {}
        for path in paths:
            try:
                found[path] = self.size(path)
            except FileNotFoundError:
                pass
        return found

    def read(self, path: str) -> bytes:
        with open(path, "rb") as f:
            return f.read()

    def ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        with self._mine():
            return [_pread(self._fd(path), start, end) for path, start, end in ranges]

    def _mine(self) -> threading.Lock:
        if self._pid != os.getpid():  # forked, perhaps while another thread held the lock
            self._pid, self._lock, self._open = os.getpid(), threading.Lock(), OrderedDict()
        return self._lock

    def into(self, path: str, start: int, room: memoryview) -> int:
        """Fills room with what is at start, and returns the number of bytes, fewer where the file ends."""
        at = 0
        with self._mine():
            fd = self._fd(path)
            while n := os.preadv(fd, [room[at:]], start + at) if at < len(room) else 0:
                at += n
        return at

    def _fd(self, path: str) -> int:
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        while len(self._open) >= MOST_OPEN:
            os.close(self._open.popitem(last=False)[1])
        self._open[path] = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        return self._open[path]

    def __del__(self) -> None:
        for fd in self._open.values():
            os.close(fd)


def _pread(fd: int, start: int, end: int) -> bytes:
    data = os.pread(fd, end - start, start)
    if len(data) == end - start or not data:
        return data
    parts = [data]
    while data and (start := start + len(data)) < end:
        data = os.pread(fd, end - start, start)
        parts.append(data)
    return b"".join(parts)


class Remote:
    """Files of an fsspec file system, such as pfs://."""

    def __init__(self, path: str) -> None:
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError("%s: pip install paddle-recordio[fsspec]" % path)
        self._url, self._open, self._pid = path, url_to_fs, os.getpid()
        self._current: Any = url_to_fs(path)[0]
        self._versions: dict[str, str] = {}  # of files on pfs://, which then raises ChangedError if one is replaced

    def __reduce__(self) -> tuple[type[Remote], tuple[str]]:
        return Remote, (self._url,)

    @property
    def _fs(self) -> Any:
        if self._pid != os.getpid():  # the threads and connections of a file system are not those of a forked process
            self._pid, self._current = os.getpid(), self._open(self._url)[0]
        return self._current

    def isdir(self, path: str) -> bool:
        return bool(self._fs.isdir(path))

    def names(self, path: str) -> list[str]:
        return sorted(p.rstrip("/").rsplit("/", 1)[-1] for p in self._fs.ls(path, detail=False))

    def glob(self, pattern: str) -> list[str]:
        return [self._fs.unstrip_protocol(p) for p in self._fs.glob(pattern)]

    def size(self, path: str) -> int:
        info = self._fs.info(path)
        if self._fs.protocol == "pfs":
            self._versions[path] = info.get("version", "")
        return int(info["size"])

    def sizes(self, paths: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for directory in dict.fromkeys(p.rsplit("/", 1)[0] for p in paths):
            for f in self._fs.ls(directory, detail=True):
                if f["type"] == "file":
                    found["%s/%s" % (directory, f["name"].rsplit("/", 1)[-1])] = int(f["size"])
        return {p: found[p] for p in paths if p in found}

    def read(self, path: str) -> bytes:
        return bytes(self._fs.cat_file(path))

    def ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        paths, starts, ends = zip(*ranges)
        pinned = {"versions": [self._versions.get(p, "") for p in paths]} if self._versions else {}
        return [bytes(b) for b in self._fs.cat_ranges(list(paths), list(starts), list(ends), on_error="raise", **pinned)]
