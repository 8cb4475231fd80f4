"""PfsFileSystem: the files of pfs services for fsspec, and so for pandas, pyarrow, dask, torch and Hugging Face."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import functools
import hashlib
import os
import secrets
import stat
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from fsspec.asyn import AsyncFileSystem, sync  # type: ignore[import-untyped]
from fsspec.callbacks import DEFAULT_CALLBACK  # type: ignore[import-untyped]
from fsspec.spec import AbstractBufferedFile  # type: ignore[import-untyped]
from fsspec.utils import isfilelike, stringify_path  # type: ignore[import-untyped]

from . import config, protocol
from .protocol import CHUNK, EXIST, INTEGRITY, INVALID, IS_DIR, NOT_DIR, NOT_EXIST, Failure
from .service import Range, Service, Tokens

F = TypeVar("F", bound=Callable[..., Awaitable[Any]])

_FILE_MODE, _DIR_MODE = 0o644, 0o755
_PASSES = 3  # of an upload whose staged bytes the service lost


def _raises(method: F) -> F:
    """Lets a method raise OSErrors."""

    @functools.wraps(method)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return await method(*args, **kwargs)
        except Failure as e:
            raise e.os_error() from None

    return wrapped  # type: ignore[return-value]


class PfsFileSystem(AsyncFileSystem):  # type: ignore[misc]
    """The tree of the datacenters in the configuration of paddlectl: pfs://dc1/home/alice/x is /pfs/dc1/home/alice/x.

    The login is that of paddlectl: tokens, their refresh, and the pinned certificate. Every chunk is verified. A file that
    is replaced while it is read raises ChangedError. New files appear whole, when they are closed; the directories above
    them are made. A service that does not answer is asked again for retry_seconds, and then raises
    ServiceUnavailableError, a ConnectionError.

    config_file       the configuration; by default PADDLE_CONFIG, or ~/.paddle/config
    endpoint          the service to use in place of the configuration, with its fingerprint and the token in token_file
    token_file        by default PFS_TOKEN_FILE
    """

    protocol = "pfs"
    root_marker = ""
    cachable = True

    def __init__(
        self,
        config_file: str | None = None,
        endpoint: str | None = None,
        fingerprint: str = "",
        token_file: str | None = None,
        retry_seconds: float = 60,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._config_file, self._endpoint, self._fingerprint = config_file or config.path(), endpoint, fingerprint
        self._token_file = token_file or os.environ.get("PFS_TOKEN_FILE")
        if endpoint and not self._token_file:
            raise ValueError("endpoint=%r: token_file or PFS_TOKEN_FILE must name a file with a token" % endpoint)
        self._retry_seconds = retry_seconds
        self._config: config.Config | None = None
        self._entries: dict[str, config.Entry] = {}
        self._services: dict[str, Service] = {}

    # Paths.

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(p) for p in path]
        path = stringify_path(path)
        if path.startswith("pfs://"):
            path = path[len("pfs://") :]
        elif path == "/pfs" or path.startswith("/pfs/"):
            path = path[len("/pfs") :]
        return path.strip("/") or cls.root_marker

    @classmethod
    def _parent(cls, path: str) -> str:
        parent: str = cls._strip_protocol(path).rpartition("/")[0]
        return parent

    def _at(self, path: str) -> tuple[Service, str]:
        """Returns the service of a path, and its name there."""
        path = self._strip_protocol(path)
        datacenter = path.partition("/")[0]
        entry = self._entries.get(datacenter)
        if entry is None:
            try:
                entry = self._entries[datacenter] = self._entry(datacenter)
            except ValueError as e:
                raise Failure(INVALID, str(e), final=True) from None
        s = self._services.get(entry.name)
        if s is None:
            tokens: Tokens = config.TokenFile(self._token_file) if self._token_file else config.Login(self._config_file, entry)
            s = self._services[entry.name] = Service(entry, tokens, self._retry_seconds)
            if not self.asynchronous:
                weakref.finalize(self, _close, self.loop, s)
        return s, "/pfs/" + path if path else "/pfs"

    def _entry(self, datacenter: str) -> config.Entry:
        if self._endpoint:
            return config.Entry(self._endpoint, fingerprint=self._fingerprint)
        if self._config is None:
            self._config = config.Config(self._config_file)
        return self._config.find(datacenter)

    # Looking.

    def _describe(self, path: str, m: dict[str, Any]) -> dict[str, Any]:
        mode, t = m["mode"], m["time"]
        info = {
            "name": path,
            "size": m["size"],
            "type": "directory" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "link" if stat.S_ISLNK(mode) else "other",
            "mode": mode,
            "mtime": t["s"] + t["n"] / 1e9,
            "islink": stat.S_ISLNK(mode),
        }
        if info["type"] == "directory":
            info["size"] = 0
        for key, name in (("owner", "owner"), ("group", "group"), ("version", "version"), ("digest", "digest"), ("target", "destination")):
            if m.get(key):
                info[name] = m[key]
        return info

    async def _follow(self, info: dict[str, Any]) -> dict[str, Any]:
        """Describes a link as its target."""
        if info["type"] != "link":
            return info
        s, name = self._at(info["name"])
        try:
            _, m = await s.read(name, "", 0, 0, info=True)
        except Failure as e:
            if e.kind == IS_DIR:
                return info | {"type": "directory", "size": 0}
            if e.kind in (NOT_EXIST, protocol.SYMLINK):
                return info  # a link that leads nowhere
            raise
        target = self._describe(info["name"], m)
        return target | {"islink": True, "destination": info.get("destination", "")}

    async def _stat(self, path: str) -> dict[str, Any]:
        path = self._strip_protocol(path)
        s, name = self._at(path)
        reply = await s.call("stat", {"path": name})
        return await self._follow(self._describe(path, reply["info"]))

    @_raises
    async def _info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        return await self._stat(path)

    @_raises
    async def _ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        path = self._strip_protocol(path)
        s, name = self._at(path)
        token, entries = "", []
        try:
            while True:
                reply = await s.call("list", {"path": name, "token": token, "limit": 0})
                entries += [self._describe(path + "/" + m["name"] if path else m["name"], m) for m in reply.get("entries") or []]
                before, token = token, reply.get("next") or ""
                if not token:
                    break
                if token == before:
                    raise Failure(protocol.OTHER, "the service answers the same page again and again", path)
        except Failure as e:
            if e.kind != NOT_DIR:
                raise
            info = await self._stat(path)
            if info["type"] == "directory":
                raise
            entries = [info]
        entries = list(await asyncio.gather(*[self._follow(e) for e in entries]))
        return entries if detail else [e["name"] for e in entries]

    # An answer that did not come is not "no".

    async def _is(self, path: str, kind: str) -> bool:
        try:
            return bool((await self._info(path))["type"] == kind)
        except (FileNotFoundError, NotADirectoryError):
            return False

    async def _isfile(self, path: str) -> bool:
        return await self._is(path, "file")

    async def _isdir(self, path: str) -> bool:
        return await self._is(path, "directory")

    async def _exists(self, path: str, **kwargs: Any) -> bool:
        try:
            await self._info(path)
            return True
        except (FileNotFoundError, NotADirectoryError):
            return False

    async def _walk(self, path: str, maxdepth: int | None = None, on_error: Any = "omit", **kwargs: Any) -> AsyncIterator[Any]:
        def judge(e: Exception) -> None:
            if not isinstance(e, (FileNotFoundError, NotADirectoryError, PermissionError)):
                raise e

        async for step in super()._walk(path, maxdepth=maxdepth, on_error=judge if on_error == "omit" else on_error, **kwargs):
            yield step

    def modified(self, path: str) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.info(path)["mtime"], datetime.timezone.utc)

    def ukey(self, path: str) -> str:
        info = self.info(path)
        return hashlib.sha256(repr((info.get("version"), info["size"], info["mtime"])).encode()).hexdigest()

    # Reading.

    @_raises
    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, version: str = "", **kwargs: Any) -> bytes:
        start = start or 0
        s, name = self._at(path)
        if start < 0 or end is not None and end < 0:
            info = await self._stat(path)
            version = version or info.get("version", "")
            start = max(0, start + info["size"]) if start < 0 else start
            end = max(0, end + info["size"]) if end is not None and end < 0 else end
        size = CHUNK if end is None else min(CHUNK, max(0, end - start))
        first, m = await s.read(name, version, start, size, info=True)
        end = m["size"] if end is None else min(end, m["size"])
        if start + len(first) >= end:
            return first
        rest = await s.read_all(name, m.get("version", ""), start + len(first), end - start - len(first))
        return first + rest

    @_raises
    async def _cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        batch_size: int | None = None,
        on_error: str = "return",
        versions: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> list[Any]:
        """Reads many ranges of many files in one request, or in few. versions are the versions that info showed, if the files must have them."""
        if not isinstance(paths, list):
            raise TypeError("paths is not a list")
        starts = starts if isinstance(starts, Sequence) else [starts] * len(paths)
        ends = ends if isinstance(ends, Sequence) else [ends] * len(paths)
        wanted = versions or [""] * len(paths)
        if not len(paths) == len(starts) == len(ends) == len(wanted):
            raise ValueError("paths, starts, ends and versions differ in length")
        results: list[Any] = [None] * len(paths)
        groups: dict[Service, list[tuple[int, Range]]] = {}
        for i, (path, start, end, version) in enumerate(zip(paths, starts, ends, wanted)):
            start = start or 0
            if start < 0 or end is None or end < 0:
                try:
                    results[i] = await self._cat_file(path, start, end, version=version)
                except OSError as e:
                    results[i] = e
                continue
            s, name = self._at(path)
            groups.setdefault(s, []).append((i, Range(name, version, start, max(0, end - start))))
        for s, asked in groups.items():
            for (i, _), got in zip(asked, await s.read_ranges([r for _, r in asked])):
                results[i] = got.os_error() if isinstance(got, Failure) else got
        if on_error != "return":
            for r in results:
                if isinstance(r, OSError):
                    raise r
        return results

    @_raises
    async def _read(self, path: str, version: str, start: int, end: int) -> bytes:
        s, name = self._at(path)
        return await s.read_all(name, version, start, max(0, end - start))

    @_raises
    async def _get_file(self, rpath: str, lpath: Any, callback: Any = DEFAULT_CALLBACK, **kwargs: Any) -> None:
        info = await self._stat(rpath)
        if info["type"] == "directory":
            os.makedirs(lpath, exist_ok=True)
            return
        size, version = info["size"], info.get("version", "")
        s, name = self._at(rpath)
        callback.set_size(size)
        if isfilelike(lpath):
            for off in range(0, size, CHUNK):
                chunk, _ = await s.read(name, version, off, min(CHUNK, size - off))
                lpath.write(chunk)
                callback.relative_update(len(chunk))
            return
        part = "%s.%s.part" % (lpath, secrets.token_hex(4))
        try:
            with open(part, "wb") as f:

                async def fetch(off: int) -> None:
                    chunk, _ = await s.read(name, version, off, min(CHUNK, size - off))
                    await asyncio.to_thread(os.pwrite, f.fileno(), chunk, off)
                    callback.relative_update(len(chunk))

                await _several(fetch, range(0, size, CHUNK))
            os.replace(part, lpath)
        except BaseException:
            _remove(part)
            raise

    # Changing.

    async def _with_parents(self, path: str, do: Callable[[], Awaitable[Any]], source: str = "") -> Any:
        """Makes the directories above a new file, if they are missing and not the source of a copy."""
        try:
            return await do()
        except Failure as e:
            if e.kind != NOT_EXIST or source and e.path == source:
                raise
        await self._makedirs(self._parent(path), exist_ok=True)
        return await do()

    @_raises
    async def _pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        data = bytes(value)
        s, name = self._at(path)
        exclusive = mode == "create"
        if len(data) <= CHUNK:
            await self._with_parents(path, lambda: s.write_small(name, data, _FILE_MODE, exclusive))
        else:
            upload = Upload(self, path, secrets.token_hex(16), exclusive)

            async def read(off: int) -> bytes:
                return data[off : off + CHUNK]

            await upload.send(read, len(data), _FILE_MODE)

    @_raises
    async def _put_file(self, lpath: str, rpath: str, mode: str = "overwrite", callback: Any = DEFAULT_CALLBACK, **kwargs: Any) -> None:
        """Uploads a local file. If it is interrupted and called again, it resumes."""
        if os.path.isdir(lpath):
            await self._makedirs(rpath, exist_ok=True)
            return
        with open(lpath, "rb") as f:
            st = os.fstat(f.fileno())
            permissions = stat.S_IMODE(st.st_mode) & 0o777
            callback.set_size(st.st_size)

            async def read(off: int) -> bytes:
                data = await asyncio.to_thread(os.pread, f.fileno(), CHUNK, off)
                if os.fstat(f.fileno()).st_mtime_ns != st.st_mtime_ns:
                    raise protocol.ChangedError("%s changed while it was uploaded" % lpath)
                return data

            if st.st_size <= CHUNK:
                data = await read(0)
                s, name = self._at(rpath)
                await self._with_parents(rpath, lambda: s.write_small(name, data, permissions, mode == "create"))
                callback.relative_update(len(data))
                return
            source = "%s\0%d\0%d" % (os.path.abspath(lpath), st.st_size, st.st_mtime_ns)
            upload = Upload(self, rpath, hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:32], mode == "create")
            await upload.send(read, st.st_size, permissions, callback)

    @_raises
    async def _cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        (s, source), (to, target) = self._at(path1), self._at(path2)
        if await self._isdir(path1):
            await self._makedirs(path2, exist_ok=True)
        elif s is to:
            request = {"source": source, "target": target, "id": secrets.token_hex(16), "no_replace": False, "new_time": True}
            await self._with_parents(path2, lambda: s.call("copy", request, change=True), source)
        else:
            info = await self._stat(path1)

            async def read(off: int) -> bytes:
                return (await s.read(source, info.get("version", ""), off, min(CHUNK, info["size"] - off)))[0]

            await Upload(self, path2, secrets.token_hex(16), False).send(read, info["size"], stat.S_IMODE(info["mode"]) & 0o777)

    @_raises
    async def _mv_file(self, path1: str, path2: str) -> None:
        (s, source), (to, target) = self._at(path1), self._at(path2)
        if s is to:
            try:
                await self._with_parents(path2, lambda: s.call("rename", {"old": source, "new": target}, change=True), source)
                return
            except Failure as e:
                if e.kind != protocol.CROSS_STORE or await self._isdir(path1):
                    raise
        await self._cp_file(path1, path2)
        await self._rm_file(path1)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **kwargs: Any) -> None:
        """Moves a file, or with recursive a directory, in one step where both are on one store."""
        source = self._strip_protocol(path1)
        if isinstance(path1, list) or maxdepth is not None or any(c in source for c in "*?["):
            super().mv(path1, path2, recursive=recursive, maxdepth=maxdepth, **kwargs)
            return
        isdir = self.isdir(source)
        if isdir and not recursive:
            raise Failure(IS_DIR, "recursive=True moves it", source).os_error()
        target = self._strip_protocol(path2)
        if str(path2).endswith("/") or self.isdir(target):
            target += "/" + source.rpartition("/")[2]
        try:
            sync(self.loop, self._mv_file, source, target)
        except OSError as e:
            if not isdir or e.errno != Failure(protocol.CROSS_STORE).os_error().errno:
                raise
            super().mv(source, target, recursive=True)

    rename = move = mv

    @_raises
    async def _rm_file(self, path: str, **kwargs: Any) -> None:
        s, name = self._at(path)
        await s.call("remove", {"path": name}, change=True)

    @_raises
    async def _rm(self, path: Any, recursive: bool = False, batch_size: int | None = None, maxdepth: int | None = None, **kwargs: Any) -> None:
        paths = await self._expand_path(path)
        for p in paths:
            s, name = self._at(p)
            if not await self._isdir(p) or (await self._stat(p))["islink"]:
                await s.call("remove", {"path": name}, change=True)
            elif recursive and maxdepth is None:
                await s.call("remove-tree", {"path": name}, change=True)
            elif recursive:
                raise NotImplementedError("rm of a directory with maxdepth")
            else:
                raise Failure(IS_DIR, "recursive=True removes it", p)

    @_raises
    async def _mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        s, name = self._at(path)

        if await self._exists(path):  # the service accepts a directory that is there already
            raise Failure(EXIST, "", path)

        async def make() -> None:
            await s.call("mkdir", {"path": name, "mode": _DIR_MODE}, change=True)

        await (self._with_parents(path, make) if create_parents else make())

    @_raises
    async def _makedirs(self, path: str, exist_ok: bool = False) -> None:
        path = self._strip_protocol(path)
        s, name = self._at(path)
        if not exist_ok and await self._exists(path):
            raise Failure(EXIST, "", path)
        try:
            await s.call("mkdir", {"path": name, "mode": _DIR_MODE}, change=True)
        except Failure as e:
            if e.kind == NOT_EXIST and self._parent(path):
                await self._makedirs(self._parent(path), exist_ok=True)
                await self._makedirs(path, exist_ok=True)
            elif not await self._isdir(path):
                raise

    @_raises
    async def _rmdir(self, path: str) -> None:
        if not await self._isdir(path):
            raise Failure(NOT_DIR, "", self._strip_protocol(path))
        await self._rm_file(path)

    def rmdir(self, path: str) -> None:
        sync(self.loop, self._rmdir, path)

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **kwargs: Any) -> Any:
        if "a" in mode or "+" in mode:
            raise NotImplementedError("a file of pfs:// is read, or written from its start to its end")
        if mode == "xb" and self.exists(path):
            raise Failure(EXIST, "", path).os_error()
        return PfsFile(self, path, mode, block_size or CHUNK, **kwargs)


class Upload:
    """A new file whose bytes have no name before commit."""

    def __init__(self, fs: PfsFileSystem, path: str, id: str, exclusive: bool):
        self._fs, self._path, self._id, self._exclusive = fs, path, id, exclusive
        self._service, self._name = fs._at(path)
        self._leaves: list[bytes] = []
        self._size = 0
        self.begun = False

    async def begin(self, size: int = 0) -> bool:
        """Begins or resumes the upload, and returns whether there are staged bytes."""
        resumed: bool
        self._id, resumed = await self._fs._with_parents(self._path, lambda: self._service.create(self._name, self._id, size))
        self.begun = True
        return resumed

    async def send(self, read: Callable[[int], Awaitable[bytes]], size: int, mode: int, callback: Any = DEFAULT_CALLBACK) -> None:
        """Sends what the service does not have yet, and commits. read returns the chunk at an offset."""
        for left in reversed(range(_PASSES)):
            staged = await self._service.staged_leaves(self._name, self._id, size) if await self.begin(size) else []
            self._size, self._leaves = size, [b""] * -(-size // CHUNK)

            async def one(off: int, staged: list[bytes] = staged) -> None:
                n = off // CHUNK
                data = await read(off)
                if len(data) != min(CHUNK, size - off):
                    raise Failure(protocol.CONFLICT, "the source became shorter while it was read", self._path)
                self._leaves[n] = await asyncio.to_thread(protocol.leaf, data)
                if n >= len(staged) or staged[n] != self._leaves[n]:
                    await self._service.write(self._name, self._id, off, data)
                callback.relative_update(len(data))

            try:
                await _several(one, range(0, size, CHUNK))
                return await self.commit(mode)
            except Failure as e:
                if e.kind != INTEGRITY or left == 0:
                    raise

    async def append(self, data: bytes) -> None:
        """Adds the next leaf."""
        await self._service.write(self._name, self._id, self._size, data)
        self._leaves.append(protocol.leaf(data))
        self._size += len(data)

    async def commit(self, mode: int) -> None:
        await self._service.commit(self._name, self._id, self._leaves, self._size, mode, self._exclusive)
        self.begun = False

    async def discard(self) -> None:
        if self.begun:
            await self._service.discard(self._name, self._id)


class PfsFile(AbstractBufferedFile):  # type: ignore[misc]
    """An open file: one version of it for reading, or an upload."""

    DEFAULT_BLOCK_SIZE = CHUNK

    def __init__(self, fs: PfsFileSystem, path: str, mode: str, block_size: int = CHUNK, **kwargs: Any):
        super().__init__(fs, path, mode, block_size=block_size, **kwargs)
        if mode == "rb":
            if self.details["type"] == "directory":
                raise Failure(IS_DIR, "", path).os_error()
            self._version = self.details.get("version", "")
        else:
            self._upload = Upload(fs, path, secrets.token_hex(16), mode == "xb")
            self._rest = b""
            self._small: bytes | None = None  # the whole content, if one request makes the file
            self._failure: BaseException | None = None  # nothing is written after it: a part might come twice

    def _fetch_range(self, start: int, end: int) -> bytes:
        got: bytes = sync(self.fs.loop, self.fs._read, self.path, self._version, start, end)
        return got

    def _initiate_upload(self) -> None:
        pass  # a small file is one request

    def _upload_chunk(self, final: bool = False) -> bool:
        if self._failure is not None:
            raise self._failure
        data = self._rest + self.buffer.getvalue()
        try:
            if final and self.autocommit and not self._upload.begun and len(data) <= CHUNK:
                self._small = data
            else:
                sync(self.fs.loop, self._send, data, final)
            if final and self.autocommit:
                self.commit()
        except BaseException as e:
            self._failure = e
            raise
        return True

    @_raises
    async def _send(self, data: bytes, final: bool) -> None:
        if not self._upload.begun:
            await self._upload.begin()
        while len(data) >= CHUNK or final and data:
            await self._upload.append(data[:CHUNK])
            data = data[CHUNK:]
        self._rest = data

    def commit(self) -> None:
        """Gives the file its name."""
        sync(self.fs.loop, self._commit)

    @_raises
    async def _commit(self) -> None:
        if self._small is None:
            await self._upload.commit(_FILE_MODE)
        else:
            await self.fs._pipe_file(self.path, self._small, mode="create" if self.mode == "xb" else "overwrite")

    def discard(self) -> None:
        """Discards the written bytes. A partial file gets no name."""
        self.closed = True
        if not isinstance(self._failure, ConnectionError):  # a service that is gone removes what was abandoned
            sync(self.fs.loop, self._discard)

    @_raises
    async def _discard(self) -> None:
        await self._upload.discard()

    def __exit__(self, kind: Any, value: Any, tb: Any) -> None:
        if kind is None or self.mode == "rb":
            self.close()
            return
        with contextlib.suppress(OSError):  # the exception of the with block is raised
            self.discard()


async def _several(do: Callable[[int], Awaitable[None]], offsets: range, parallel: int = 4) -> None:
    """Calls do with all offsets, some at a time, and ends all at the first error."""
    todo = iter(offsets)

    async def worker() -> None:
        for off in todo:
            await do(off)

    workers = [asyncio.ensure_future(worker()) for _ in range(min(parallel, len(offsets)))]
    try:
        await asyncio.gather(*workers)
    except BaseException:
        for w in workers:
            w.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise


def _close(loop: asyncio.AbstractEventLoop, service: Service) -> None:
    if loop.is_running():
        asyncio.run_coroutine_threadsafe(service.close(), loop)


def _remove(name: str) -> None:
    try:
        os.remove(name)
    except OSError:
        pass  # it was not made
