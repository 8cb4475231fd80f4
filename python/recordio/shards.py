"""Finds the files of a dataset, and reads their chunks and records."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Sequence

from . import index, manifest
from .chunks import HEADER, NONE, check_crc
from .codecs import decompress
from .errors import RecordIOError
from .index import Chunk, Chunks, Index
from .loading import Cut, Loaded, Memory
from .sets import check_sets
from .storage import Local, Storage, changed, storage_of

if TYPE_CHECKING:
    from .damage import Repairs

Pattern = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass
class Shard:
    """One file of a dataset."""

    storage: Storage
    path: str
    name: str  # in the fingerprint of the dataset
    stated: dict[str, Any] | None = None  # in the manifest
    _chunks: Chunks | None = field(default=None, repr=False)
    _index: Index | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_chunks": None, "_index": None}  # large, and quickly read again

    @property
    def records(self) -> int:
        return int(self.stated["records"]) if self.stated else len(self)

    def __len__(self) -> int:
        """The number of records in the file itself."""
        return int(self.chunks.first[-1])

    @property
    def chunks(self) -> Chunks:
        found = self._chunks
        if found is None:
            try:
                found = self._load_chunks()
            except RecordIOError as e:
                raise self.error(e)
            if self.stated and int(found.first[-1]) != self.stated["records"]:
                raise self.error("the file has %d records, and the manifest states %d" % (found.first[-1], self.stated["records"]))
            self._chunks = found
        return found

    def _load_chunks(self) -> Chunks:
        size = self.storage.size(self.path)
        if self.stated and size != self.stated["bytes"]:
            raise RecordIOError("the file has %d bytes, and the manifest states %d" % (size, self.stated["bytes"]))
        if not isinstance(self.storage, Local):  # each header costs a request
            self._index = found = self._stored_index(size)
            if found:
                return found
        return index.walk_headers(self._read, size, self.stated["records"] if self.stated else 0)

    @property
    def index(self) -> Index:
        """The index beside the file. If there is none, it is made and, if possible, stored there."""
        found = self._index  # threads may make it at the same time
        if found is None:
            size = self.chunks.size
            found = self._index or self._stored_index(size)  # the first may have read it
            if found is None:
                try:
                    text = index.build(self._read, size)
                except RecordIOError as e:
                    raise self.error(e)
                found = index.parse(text, size)
                self._keep(text)
            if [(c.offset, c.header) for c in found.chunks] != [(c.offset, c.header) for c in self.chunks.chunks]:
                raise self.error(self._stale())
            self._index = found
        return found

    def _stored_index(self, size: int) -> Index | None:
        try:
            return index.parse(self.storage.read(index.name_of(self.path)), size)
        except (OSError, RecordIOError):  # absent, or stale: the index of the file as it is will be made
            return None

    def _stale(self) -> str:
        return "its index %s is of another file: remove it" % index.name_of(self.path)

    def check_header(self, chunk: Chunk, stored: bytes | memoryview) -> None:
        """Raises RecordIOError unless the chunk begins there."""
        if stored[: HEADER.size] != chunk.header:
            raise RecordIOError(self._stale() if self._index is self._chunks else "the file has changed since it was opened")

    def _keep(self, text: bytes) -> None:
        """Stores the index for the next time. Where that is not possible, it is made again."""
        try:
            self.storage.write(index.name_of(self.path), text)
        except OSError:
            pass

    def _read(self, start: int, end: int) -> bytes:
        return self.storage.ranges([(self.path, start, end)])[0]

    def load(self, number: int, memory: Memory) -> Loaded:
        """Reads chunk number of those with records."""
        chunk, read = self.chunks.chunks[number], b""
        try:
            if chunk.unreadable:
                raise RecordIOError(chunk.unreadable)
            if isinstance(self.storage, Local):
                loaded = memory.take(chunk, partial(self.storage.load, self.path, chunk.offset))
            else:
                read = self._read(chunk.offset, chunk.offset + chunk.size)
                loaded = memory.take(chunk, lambda into, header: into.load(read, header))
            return loaded or Cut(self._cut(chunk, memory, read))
        except RecordIOError as e:
            raise self.error(e, chunk)

    def _cut(self, chunk: Chunk, memory: Memory, read: bytes) -> list[bytes]:
        view = memory.stored.room(chunk.size)
        if isinstance(self.storage, Local):
            view = view[: self.storage.into(self.path, chunk.offset, view)]
        else:
            view[: len(read)] = read
            view = view[: len(read)]
        if len(view) < chunk.size:
            raise RecordIOError("the file was cut off while it was read")
        self.check_header(chunk, view)
        check_crc(view[HEADER.size :], chunk.crc)
        if chunk.compressor == NONE:
            return index.cut(memory.stored.buffer, HEADER.size, chunk.size, chunk.records)
        size = len(decompress(chunk.compressor, view[HEADER.size :], room=memory.data.room))
        return index.cut(memory.data.buffer, 0, size, chunk.records)

    def error(self, cause: object, chunk: Chunk | None = None) -> RecordIOError:
        kind = type(cause) if isinstance(cause, RecordIOError) else RecordIOError
        place = ", chunk %d, offset %d" % (chunk.number, chunk.offset) if chunk else ""
        return kind("%s%s: %s (paddlectl recordio verify lists all damage)" % (self.path, place, cause))


def repaired(shards: list[Shard], policy: str) -> Repairs | None:
    """Finds the damage of files, unless the policy is fail."""
    if policy == "fail":
        return None
    from .damage import Repairs, check_policy  # which most programs do without

    check_policy(policy)
    repairs = Repairs()
    for shard in shards:
        repairs.scan(shard.path, shard._read, shard.storage.size(shard.path), policy, shard.stated["records"] if shard.stated else None)
    return repairs


def apply(repairs: Repairs, shards: list[Shard]) -> None:
    """Makes shards as they are without damage."""
    if not repairs.parts:
        return
    from .damage import Repaired

    storage = Repaired(shards[0].storage, repairs)
    for shard in shards:
        shard.storage = storage
        if shard.path in repairs.parts:
            shard.stated = None


@dataclass
class Set:
    """The files that a pattern names, in the order of their names."""

    shards: list[Shard]
    payload: str
    columns: list[dict[str, Any]]
    source: str  # the format that the dataset was made of
    manifests: dict[str, bytes]  # the text of each


def find(pattern: Pattern, check: bool = True) -> Set:
    """Finds the files of a dataset: of a directory with one dataset, DIR/PREFIX of one of several, or
    files that match a pattern. Raises ValueError if files are missing or of another set."""
    if not isinstance(pattern, (str, os.PathLike, Sequence)):
        raise TypeError("pattern=%r: a path, a pattern or a list of them is needed" % (pattern,))
    patterns = [os.fspath(p) for p in ([pattern] if isinstance(pattern, (str, os.PathLike)) else pattern)]
    if not patterns:
        raise ValueError("no file is named")
    storage = storage_of(patterns[0])
    texts: dict[str, bytes] = {}

    def read(path: str) -> bytes:
        texts[path] = storage.read(path)
        return texts[path]

    paths: list[str] = []
    by_path: dict[str, dict[str, Any]] = {}
    for text in patterns:
        more, found = _paths(storage, read, text, check)
        paths += more
        by_path.update((path, found) for path in more if found)
    if len(set(paths)) < len(paths):
        raise ValueError("%s: a file is named twice" % (pattern,))
    by_path.update(manifest.beside([p for p in paths if p not in by_path], partial(_names, storage), read))
    manifests = [by_path.get(path) for path in paths]
    stated = {id(m): {s["name"]: s for s in m["shards"]} for m in by_path.values()}
    shards = [Shard(storage, path, path, stated[id(m)][posixpath.basename(path)] if m else None) for path, m in zip(paths, manifests)]
    first = manifests[0] if manifests else None
    if check and [s.path for s in shards] != patterns[:1]:  # one file named by itself may be part of a set
        _check(shards, manifests)
    if first and all(m is first for m in manifests):
        for shard in shards:
            shard.name = posixpath.basename(shard.path)
    columns = first.get("columns", []) if first and all(m and m.get("columns") == first.get("columns") for m in manifests) else []
    payload = manifest.same_payload(manifests)
    sources = {m.get("source", "") if m else "" for m in manifests}
    return Set(sorted(shards, key=lambda s: os.fsencode(s.name)), payload, columns, sources.pop() if len(sources) == 1 else "", texts)


def _names(storage: Storage, directory: str) -> list[str]:
    try:
        return storage.names(directory)
    except PermissionError:  # files may be readable in a directory that is not
        return []


def _paths(storage: Storage, read: Callable[[str], bytes], text: str, check: bool) -> tuple[list[str], dict[str, Any] | None]:
    """Returns the files that text names and, if it names a dataset, its manifest."""
    if storage.isdir(text):
        text = text.rstrip("/") or "/"
        if storage.isdir(text + "/latest"):  # of a published dataset
            text += "/latest"
        names = [d for d in map(manifest.dataset_of, storage.names(text)) if d]
        if len(names) != 1:
            what = "holds the datasets " + ", ".join(names) if names else "is a directory without a dataset"
            raise ValueError("%s %s: name its files, such as %s/%s*" % (text, what, text, (names or [""])[0]))
        return _listed(storage, read, text, names[0], check)
    head, name = text.rsplit("/", 1) if "/" in text else (".", text)
    if not set("*?[") & set(text) and storage.isdir(head) and manifest.file_name(name) in _names(storage, head):
        return _listed(storage, read, head, name, check)
    paths = storage.glob(text)
    if not paths:
        if text.startswith("/pfs/"):
            raise FileNotFoundError("%s: no file matches; without a mount, the service has it as pfs://%s" % (text, text[len("/pfs/") :]))
        if not set("*?[") & set(text):
            storage.size(text)  # its error says which part of the path is missing
        raise FileNotFoundError("%s: no file matches" % text)
    return paths, None


def _listed(storage: Storage, read: Callable[[str], bytes], directory: str, name: str, check: bool) -> tuple[list[str], dict[str, Any]]:
    at = "%s/%s" % (directory, manifest.file_name(name))
    m = manifest.parse(read(at), at)
    if check:
        _refuse_stale(_names(storage, directory), name, m, directory)
    return ["%s/%s" % (directory, s["name"]) for s in m["shards"]], m


def _refuse_stale(names: list[str], dataset: str, m: dict[str, Any], directory: str) -> None:
    """Raises ValueError if names that the manifest does not list have the form of its shards: an earlier run left them."""
    listed = {s["name"] for s in m["shards"]}
    form = re.compile(re.escape(dataset) + "-[0-9]{5,}(-of-[0-9]{5,})?")
    stale = [n for n in names if n not in listed and form.fullmatch(n)]
    if stale:
        text = "%d files in %s are of another set than the manifest of %s, the first is %s: remove them; check=False accepts them"
        raise ValueError(text % (len(stale), directory, dataset, stale[0]))


def check_sizes(found: Set) -> None:
    """Raises FileNotFoundError or RecordIOError unless every file that a manifest lists is there, with its size, and
    ChangedError if the dataset is being replaced."""
    listed = [s for s in found.shards if s.stated]
    if not listed:
        return
    storage = listed[0].storage
    sizes = storage.sizes([s.path for s in listed])
    for path, text in found.manifests.items():
        try:
            same = storage.read(path) == text
        except FileNotFoundError:
            same = False
        if not same:
            raise changed(path)
    for s in listed:
        stated = s.stated["bytes"] if s.stated else 0
        if s.path not in sizes:
            raise FileNotFoundError("%s: the manifest lists this file, and it is missing" % s.path)
        if sizes[s.path] != stated:
            raise s.error("the file has %d bytes, and the manifest states %d" % (sizes[s.path], stated))


def _check(shards: list[Shard], manifests: list[dict[str, Any] | None]) -> None:
    """Compares the files with their manifests or, without one, with the numbers in their names."""
    by_id = {id(m): m for m in manifests if m}
    others = [s.path for s, m in zip(shards, manifests) if m is None]
    for m in by_id.values():
        mine = [s for s, of in zip(shards, manifests) if of is m]
        names = {posixpath.basename(s.path) for s in mine}
        absent = [s["name"] for s in m["shards"] if s["name"] not in names]
        if absent:
            raise ValueError(
                "%d of the %d files of the dataset %s are not among those named, the first is %s: name the dataset, such as %s; "
                "check=False reads what is there"
                % (len(absent), len(m["shards"]), m["name"], absent[0], posixpath.join(posixpath.dirname(mine[0].path), m["name"]))
            )
        directory = posixpath.dirname(mine[0].path)
        _refuse_stale([posixpath.basename(p) for p in others if posixpath.dirname(p) == directory], m["name"], m, directory)
    check_sets(others)
