"""The manifest beside the shards of a dataset, and the payload of files. Plain Python: the readers
for Python 2.7 use it, too."""

from __future__ import absolute_import

import json
import os

from .errors import RecordIOError

_MOST = 64 << 20  # bytes
_SUFFIX = ".manifest"


def dataset_of(name):
    """Returns the dataset whose manifest has this file name; None if it is not such a name."""
    if name.startswith(".") and name.endswith(_SUFFIX) and len(name) > len(_SUFFIX) + 1:
        return name[1 : -len(_SUFFIX)]
    return None


def file_name(dataset):
    return "." + dataset + _SUFFIX


def parse(text, path):
    """Parses the text of a manifest. Raises ValueError unless it is one of this version."""
    if len(text) > _MOST:
        raise ValueError("%s: a manifest of more than %d bytes" % (path, _MOST))
    try:
        m = json.loads(text.decode("utf-8"))
        if m["format"] != "paddle-dataset" or m["version"] != 1:
            raise ValueError("format %s, version %s: this package knows paddle-dataset, version 1" % (m["format"], m["version"]))
        if sum(s["records"] for s in m["shards"]) != m["records"]:
            raise ValueError("the records of the shards do not add up")
        if any("/" in s["name"] or s["bytes"] < 0 for s in m["shards"]) or not isinstance(m["payload"], type(u"")):
            raise ValueError("malformed")
        return m
    except (KeyError, TypeError, ValueError, RuntimeError) as e:
        raise ValueError("%s: not a manifest, or damaged: %s: %s" % (path, type(e).__name__, e))


def beside(paths, names_of, read):
    """Returns the manifests that list the files, by path of the file. Files without one are left
    out. names_of lists a directory, read reads a file."""
    found, known = {}, {}
    for path in paths:
        head, name = os.path.split(path)
        if head not in known:
            datasets = [dataset_of(n) for n in names_of(head or ".")]
            known[head] = sorted((d for d in datasets if d), key=len, reverse=True)
        for dataset in known[head]:
            if not name.startswith(dataset + "-"):
                continue
            at = os.path.join(head, file_name(dataset))
            if at not in known:
                known[at] = parse(read(at), at)
                known[at, "names"] = set(s["name"] for s in known[at]["shards"])
            if name in known[at, "names"]:
                found[path] = known[at]
                break
    return found


def payload_of(paths, check=True):
    """Returns the payload of local files from their manifests; "raw" without a manifest. Raises
    ValueError if it is not the same for all, or with check if a file has another size than its manifest states."""
    found = beside(paths, os.listdir, _read)
    sizes = dict((id(m), dict((s["name"], s["bytes"]) for s in m["shards"])) for m in found.values())
    for path, m in found.items() if check else ():
        size, stated = os.path.getsize(path), sizes[id(m)][os.path.basename(path)]
        if size != stated:
            raise RecordIOError("%s: the file has %d bytes, and the manifest states %s: copy the dataset again" % (path, size, stated))
    return same_payload([found.get(path) for path in paths])


def same_payload(manifests):
    """Returns the payload that manifests (None: bytes) have in common."""
    payloads = sorted(set(m["payload"] if m else "raw" for m in manifests))
    if len(payloads) > 1:
        raise ValueError("the files have records of %s: read them one after the other, or set decode" % " and ".join(payloads))
    return payloads[0] if payloads else "raw"


def _read(path):
    with open(path, "rb") as f:
        return f.read(_MOST + 1)
