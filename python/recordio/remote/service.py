"""Requests to one service: connections, tokens, retries and verified bytes."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import aiohttp

from . import protocol
from .config import Ask, Entry
from .protocol import LIMIT, OTHER, UNAUTHENTICATED, UNAVAILABLE, UNSUPPORTED, Failure

T = TypeVar("T")
Receive = Callable[[aiohttp.ClientResponse, memoryview], T]

_STALL = 60.0  # seconds without progress after which a request fails
_CONNECTIONS = 16
_REPAIRS = 3  # repetitions of a request whose bytes were damaged in transit
_PARALLEL = 4  # chunks of one file, and batches, in progress


class Tokens(Protocol):
    async def token(self, ask: Ask, refused: str) -> str: ...


class Range:
    """A part of a file to read."""

    __slots__ = ("name", "version", "off", "size")

    def __init__(self, name: str, version: str, off: int, size: int):
        self.name, self.version, self.off, self.size = name, version, off, size


class Service:
    """One service as one user sees it. All methods belong to one event loop."""

    def __init__(self, entry: Entry, tokens: Tokens, retry_seconds: float):
        self._entry, self._tokens, self._total = entry, tokens, retry_seconds
        self._token = ""
        self._renewing = asyncio.Lock()
        self._requests = asyncio.Semaphore(_PARALLEL)  # of chunks and batches: bounds memory
        self._session: aiohttp.ClientSession | None = None

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:  # the first request runs in the loop that the session belongs to
            pinned = self._entry.fingerprint
            tls: aiohttp.Fingerprint | bool = aiohttp.Fingerprint(bytes.fromhex(pinned)) if pinned else True
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_CONNECTIONS, ssl=tls),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=_STALL),
                auto_decompress=False,
                read_bufsize=1 << 20,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    # Requests.

    async def call(self, method: str, request: dict[str, Any], change: bool = False) -> dict[str, Any]:
        """Makes a call. The service executes one that changes something only once, also if it is sent again."""
        name = request.get("path") or request.get("old") or request.get("source") or ""
        return await self._send("POST", "/v1/call/" + method, name, _reply, body=protocol.encode(request), kind="application/msgpack", once=change)

    async def read(self, name: str, version: str, off: int, size: int, info: bool = False) -> tuple[bytes, dict[str, Any]]:
        """Returns a chunk, shorter only at the end of the file, and the file's Info if it is asked for."""
        query = {"path": name, "off": str(off), "len": str(size)}
        if version:
            query["version"] = version
        if info:
            query["info"] = "1"

        def receive(resp: aiohttp.ClientResponse, body: memoryview) -> tuple[bytes, dict[str, Any]]:
            chunk, _ = protocol.cut_chunk(body, len(body) - protocol.SUM)
            return chunk, protocol.decode_header(resp.headers.get("Pfs-Info", "")) if info else {}

        async with self._requests:
            return await self._send("GET", "/v1/data", name, receive, query=query)

    async def write(self, name: str, upload: str, off: int, data: bytes) -> None:
        """Writes a chunk of an upload."""
        body = data + protocol.leaf(data)
        async with self._requests:
            await self._send("PUT", "/v1/data", name, lambda *_: None, query={"path": name, "id": upload, "off": str(off)}, body=body)

    async def write_small(self, name: str, data: bytes, mode: int, exclusive: bool) -> None:
        """Makes a whole file of at most a chunk in one request."""
        sum = protocol.leaf(data)
        entry = {"path": name, "mode": mode, "time": None, "size": len(data), "no_replace": exclusive}
        entry["digest"] = protocol.digest([sum] if data else [], len(data))
        body = protocol.frame({"entries": [entry]}) + data + sum
        async with self._requests:
            reply = await self._send("POST", "/v1/batch", name, _reply, body=body, once=True)
        for failed in reply.get("failed") or []:
            raise protocol.failure(failed["error"]).named(name)

    async def read_ranges(self, ranges: list[Range]) -> list[bytes | Failure]:
        """Reads many ranges in as few requests as their bounds allow. A range is shorter only at the end of its file."""
        groups: list[list[int]] = [[]]
        total = 0
        for i, r in enumerate(ranges):
            if groups[-1] and (len(groups[-1]) == protocol.BATCH_ENTRIES or total + r.size > protocol.BATCH_BYTES):
                groups.append([])
                total = 0
            groups[-1].append(i)
            total += r.size
        results: list[bytes | Failure] = [b""] * len(ranges)

        async def group(indices: list[int]) -> None:
            some = [ranges[i] for i in indices]
            for i, result in zip(indices, await self._read_group(some)):
                results[i] = result

        await asyncio.gather(*[group(g) for g in groups if g])
        return results

    async def _read_group(self, ranges: list[Range]) -> list[bytes | Failure]:
        if len(ranges) == 1:
            return [await self._read_long(ranges[0])]
        asked = [{"path": r.name, "version": r.version, "off": r.off, "size": r.size} for r in ranges]

        def receive(_: aiohttp.ClientResponse, body: memoryview) -> list[bytes | Failure]:
            reply, rest = protocol.cut_frame(body)
            results: list[bytes | Failure] = []
            for r, got in zip(ranges, reply.get("ranges") or []):
                if got.get("error"):
                    results.append(protocol.failure(got["error"]).named(r.name))
                else:
                    chunk, rest = protocol.cut_chunk(rest, got["size"])
                    results.append(chunk)
            return results

        async with self._requests:
            results = await self._send("POST", "/v1/read", "", receive, body=protocol.frame({"files": [], "ranges": asked}))
        if results:
            return results
        return list(await asyncio.gather(*[self._read_long(r) for r in ranges]))  # the service does not know ranges

    async def _read_long(self, r: Range) -> bytes | Failure:
        try:
            return await self.read_all(r.name, r.version, r.off, r.size)
        except Failure as e:
            return e

    async def read_all(self, name: str, version: str, off: int, size: int) -> bytes:
        """Returns a range of any length, of one version of the file if it is named."""
        sizes = [min(protocol.CHUNK, size - done) for done in range(0, size, protocol.CHUNK)]
        chunks = await asyncio.gather(*[self.read(name, version, off + i * protocol.CHUNK, n) for i, n in enumerate(sizes)])
        return chunks[0][0] if len(chunks) == 1 else b"".join(chunk for chunk, _ in chunks)

    # Uploads.

    async def create(self, name: str, upload: str, size: int = 0) -> tuple[str, bool]:
        """Begins or resumes an upload. Returns its ID, and whether it has staged bytes."""
        reply = await self.call("create", {"path": name, "id": upload, "reopen": False, "size": size})
        return reply["id"], bool(reply.get("resumed"))

    async def staged_leaves(self, name: str, upload: str, size: int) -> list[bytes]:
        """Returns the digests of the leaves that were staged before."""
        count = -(-size // protocol.CHUNK)
        leaves: list[bytes] = []
        while len(leaves) < count:
            request = {"path": name, "id": upload, "size": size, "first": len(leaves), "count": min(count - len(leaves), protocol.MAX_LEAVES)}
            got = (await self.call("leaves", request)).get("leaves") or b""
            if not got:
                break
            leaves += [got[i : i + protocol.SUM] for i in range(0, len(got), protocol.SUM)]
        return leaves

    async def commit(self, name: str, upload: str, leaves: list[bytes], size: int, mode: int, exclusive: bool) -> None:
        request = {"path": name, "id": upload, "size": size, "mode": mode, "time": None, "no_replace": exclusive}
        await self.call("commit", request | {"digest": protocol.digest(leaves, size)}, change=True)

    async def discard(self, name: str, upload: str) -> None:
        await self.call("discard", {"path": name, "id": upload})

    # Sending.

    async def _send(
        self,
        method: str,
        path: str,
        name: str,
        receive: Receive[T],
        *,
        query: dict[str, str] | None = None,
        body: bytes | None = None,
        kind: str = "application/octet-stream",
        once: bool = False,
        anonymous: bool = False,
    ) -> T:
        """Sends a request until it succeeds, fails for good, or the time for retries is over."""
        headers = {"Pfs-Protocol": protocol.VERSION, "User-Agent": "paddle-recordio"}
        if self._entry.name:
            headers["Pfs-Datacenter"] = self._entry.name
        if once:
            headers["Pfs-Request"] = secrets.token_hex(16)
        if body is not None:
            headers["Content-Type"] = kind

        async def attempt() -> T:
            token = "" if anonymous else await self._current()
            if token:
                headers["Authorization"] = "Bearer " + token
            try:
                async with self._http().request(
                    method, self._entry.endpoint + path, params=query, data=body, headers=headers, allow_redirects=False
                ) as resp:
                    content = memoryview(await resp.read())
                    _check(self._entry.endpoint, resp, content)
                    return receive(resp, content)
            except aiohttp.ServerFingerprintMismatch as e:
                text = "%s shows a certificate with fingerprint %s, not the known one" % (self._entry.endpoint, e.got.hex())
                raise Failure(UNAUTHENTICATED, text + ": if its administrator confirms it, log in again with --fingerprint", final=True) from None
            except aiohttp.ClientSSLError as e:
                raise Failure(UNAUTHENTICATED, "%s: log in with --fingerprint to trust its certificate" % e, final=True) from None
            except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as e:
                raise Failure(UNAVAILABLE, "%s: %s" % (self._entry.endpoint, e or type(e).__name__)) from None
            except Failure as e:
                if e.kind == UNAUTHENTICATED and token == self._token:
                    self._token = ""
                    self._refused = token
                raise e.named(name)

        return await _retry(attempt, self._total, anonymous)

    _refused = ""  # the token that the service refused last

    async def _current(self) -> str:
        """Returns the access token, and gets another one for the one that was refused."""
        if not self._token:
            async with self._renewing:
                if not self._token:
                    self._token = await self._tokens.token(self._ask, self._refused)
        return self._token

    async def _ask(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        return await self._send("POST", path, "", _reply, body=protocol.encode(request), kind="application/msgpack", anonymous=True)


async def _retry(attempt: Callable[[], Awaitable[T]], total: float, anonymous: bool) -> T:
    """Repeats attempt as the Go client does: after temporary failures for that many seconds, with growing pauses."""
    first, tries, repairs, refreshed = 0.0, 0, 0, False
    while True:
        began = time.monotonic()
        try:
            return await attempt()
        except Failure as e:
            if e.final:
                raise
            if e.kind == UNAUTHENTICATED and not anonymous and not refreshed:
                refreshed = True
                continue
            if e.damaged and repairs < _REPAIRS:
                repairs += 1
                continue
            if e.kind not in (UNAVAILABLE, LIMIT) or e.held or anonymous and e.kind == LIMIT:
                raise
            now = time.monotonic()
            took = min(now - began, total / 2)
            first = first or now - took
            left = total - (now - first) - took / 2
            if left <= 0:
                raise
            pause = min(0.1 * 2 ** min(tries, 8), max(0.1, total / 20))
            tries += 1
            await asyncio.sleep(min(left, pause / 2 + random.random() * pause / 2))


def _check(endpoint: str, resp: aiohttp.ClientResponse, content: memoryview) -> None:
    """Raises the error that the answer carries, if any."""
    version = resp.headers.get("Pfs-Protocol")
    if version is None:
        text = "%s answered %d, but not as a pfs service: check the endpoint and what is between" % (endpoint, resp.status)
        raise Failure(protocol.kind_of_status(resp.status), text)
    if resp.status < 300:
        if version != protocol.VERSION:
            raise Failure(UNSUPPORTED, "the service speaks protocol %.20r, this client %s" % (version, protocol.VERSION))
        return
    try:
        m = protocol.decode(bytes(content))
    except Failure:
        raise Failure(protocol.kind_of_status(resp.status), "%s answered %d" % (endpoint, resp.status)) from None
    raise protocol.failure(m)


def _reply(resp: aiohttp.ClientResponse, content: memoryview) -> dict[str, Any]:
    """Returns a reply message, which was sent at once or in frames."""
    kind = resp.headers.get("Content-Type")
    if kind == "application/msgpack":
        return protocol.decode(bytes(content))
    if kind != "application/x-pfs-frames":
        raise Failure(OTHER, "the service answered with content of type %.40r" % kind)
    while True:
        m, content = protocol.cut_frame(content)
        if m.get("error"):
            raise protocol.failure(m["error"])
        if m.get("done"):
            return protocol.decode(m.get("reply") or b"")



