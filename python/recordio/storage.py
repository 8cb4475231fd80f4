"""Files on this machine and, through fsspec, elsewhere."""

from __future__ import annotations

import errno
import glob
import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Iterable, Protocol, Sequence

from .errors import ChangedError

if TYPE_CHECKING:
    from . import native

MOST_OPEN = 64
Range = tuple[str, int, int]  # path, start, end


class ForkLock:
    """A lock with separate state for each process: after a fork, a lock that another thread held would stay held."""

    def __init__(self) -> None:
        self._of: dict[int, threading.Lock] = {}

    def __enter__(self) -> None:
        self._of.setdefault(os.getpid(), threading.Lock()).acquire()

    def __exit__(self, *exc: object) -> None:
        self._of[os.getpid()].release()


class Storage(Protocol):
    """The operations of a file system that the package uses. size, sizes and ranges raise ChangedError if a file whose size or
    ranges were read before was changed, replaced or removed, also in processes to which the storage is sent."""

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

    def write(self, path: str, data: bytes) -> None:
        """Makes a small file beside others. Raises OSError where that is not possible."""
        ...


def storage_of(path: str) -> Storage:
    return Remote(path) if "://" in path else Local()


def file_system(path: str) -> tuple[Any, str]:
    """Returns the fsspec file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        found: tuple[Any, str] = url_to_fs(path)
    except ImportError as e:
        raise ImportError("%s: pip install paddle-recordio[fsspec] (%s)" % (path, e))
    return found


class Local:
    """Files of this machine. They are read with pread and not mapped: if a mapped file is cut off or
    its mount fails, the kernel kills the process, while pread returns an error."""

    def __init__(self, seen: dict[str, tuple[int, int]] | None = None) -> None:
        self._seen = seen or {}  # size of each file, and time of its last change
        self._lock = ForkLock()
        self._open: OrderedDict[str, int] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        return Local, (self._seen,)

    def isdir(self, path: str) -> bool:
        return os.path.isdir(path)

    def names(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def glob(self, pattern: str) -> list[str]:
        return glob.glob(pattern)

    def size(self, path: str) -> int:
        try:
            st = os.stat(path)
        except FileNotFoundError:
            self._removed(path)
            raise
        self._check(path, st)
        return st.st_size

    def _check(self, path: str, st: os.stat_result) -> None:
        now = st.st_size, st.st_mtime_ns
        if self._seen.setdefault(path, now) != now:
            raise changed(path)

    def _removed(self, path: str) -> None:
        if path in self._seen:
            raise changed(path) from None

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
        with self._lock:
            read = [_pread(self._fd(path), start, end) for path, start, end in ranges]
            self._check_open(path for path, _, _ in ranges)
            return read

    def write(self, path: str, data: bytes) -> None:
        temporary = "%s.%d-%d.tmp" % (path, os.getpid(), threading.get_ident())
        try:
            with open(temporary, "wb") as f:
                f.write(data)
            os.replace(temporary, path)
        except OSError:
            if os.path.exists(temporary):
                os.remove(temporary)
            raise

    def into(self, path: str, start: int, room: memoryview) -> int:
        """Fills room with what is at start, and returns the number of bytes, fewer where the file ends."""
        at = 0
        with self._lock:
            fd = self._fd(path)
            while n := os.preadv(fd, [room[at:]], start + at) if at < len(room) else 0:
                at += n
            self._check_open([path])
        return at

    def load(self, path: str, start: int, chunk: native.Chunk, header: bytes) -> bool:
        """Fills a chunk with that at start, if it has this header and is intact."""
        with self._lock:
            loaded = chunk.load(self._fd(path), header, start)
            self._check_open([path])
        return loaded

    def _check_open(self, paths: Iterable[str]) -> None:
        for path in dict.fromkeys(paths):
            self._check(path, os.fstat(self._fd(path)))

    def _fd(self, path: str) -> int:
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        while len(self._open) >= MOST_OPEN:
            os.close(self._open.popitem(last=False)[1])
        try:
            self._open[path] = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except FileNotFoundError:
            self._removed(path)
            raise
        return self._open[path]

    def __del__(self) -> None:
        for fd in self._open.values():
            os.close(fd)


def changed(path: str) -> ChangedError:
    return ChangedError(errno.ESTALE, "changed, replaced or removed while it was read: open it again", path)


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

    def __init__(self, path: str, versions: dict[str, str] | None = None) -> None:
        self._url, self._pid = path, os.getpid()
        self._current = file_system(path)[0]
        self._versions = versions or {}  # of files on pfs://

    def __reduce__(self) -> tuple[Any, ...]:
        return Remote, (self._url, self._versions)

    @property
    def _fs(self) -> Any:
        if self._pid != os.getpid():  # the threads and connections of a file system are not those of a forked process
            self._current, self._pid = file_system(self._url)[0], os.getpid()
        return self._current

    def isdir(self, path: str) -> bool:
        return bool(self._fs.isdir(path))

    def names(self, path: str) -> list[str]:
        return sorted(p.rstrip("/").rsplit("/", 1)[-1] for p in self._fs.ls(path, detail=False))

    def glob(self, pattern: str) -> list[str]:
        return [self._fs.unstrip_protocol(p) for p in self._fs.glob(pattern)]

    def size(self, path: str) -> int:
        try:
            info = self._fs.info(path)
        except FileNotFoundError:
            if path in self._versions:
                raise changed(path) from None
            raise
        self._check(path, info)
        return int(info["size"])

    def _check(self, path: str, info: dict[str, Any]) -> None:
        now = info.get("version", "") if self._fs.protocol == "pfs" else ""
        if now and self._versions.setdefault(path, now) != now:
            raise changed(path)

    def sizes(self, paths: Sequence[str]) -> dict[str, int]:
        found: dict[str, dict[str, Any]] = {}
        for directory in dict.fromkeys(p.rsplit("/", 1)[0] for p in paths):
            for f in self._fs.ls(directory, detail=True):
                if f["type"] == "file":
                    found["%s/%s" % (directory, f["name"].rsplit("/", 1)[-1])] = f
        for p in found.keys() & set(paths):
            self._check(p, found[p])
        return {p: int(found[p]["size"]) for p in paths if p in found}

    def read(self, path: str) -> bytes:
        return bytes(self._fs.cat_file(path))

    def ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        paths, starts, ends = zip(*ranges)
        pinned = {"versions": [self._versions.get(p, "") for p in paths]} if self._versions else {}
        read = self._fs.cat_ranges(list(paths), list(starts), list(ends), **pinned)
        for path, got in zip(paths, read):
            if isinstance(got, FileNotFoundError) and path in self._versions:
                raise changed(path)
            if isinstance(got, Exception):
                raise got
        return [bytes(b) for b in read]

    def write(self, path: str, data: bytes) -> None:
        if self._fs.protocol != "pfs":
            raise PermissionError("%s: an index is made only beside files that this machine or pfs:// has" % path)
        self._fs.pipe_file(path, data)
