"""Reads and writes RecordIO files and datasets of them.

With Python only, 2.7 or 3.6 and later:

    reader(path)                records of one file, one after the other
    recordio_reader(...)        samples of the files that one of several trainers reads
    cluster_files_reader(...)   the same for files that hold one list each, as split writes

With the libraries of paddle-recordio[fast] and Python 3.10 or later:

    Dataset(pattern)            the records of a dataset by number, for DataLoaders and samplers
    stream(pattern, ...)        the records of an epoch, shuffled, for one of several ranks
    writer(path, ...)           writes a file
    convert(...)                writes a dataset

Samples are decoded as the manifest beside the files says. Without a manifest they are bytes, unless
decode says "pickle", "msgpack", "json", "raw" or is a function of bytes. Pickles are restricted:
they may contain numbers, text, bytes, containers and numpy arrays. A pickle that names anything else
raises PickleError, and nothing is called.

Damage raises RecordIOError. Missing files of a set, according to its manifest or to names such as
train-00003-of-00010, raise ValueError. on_damage="skip" and "salvage" read the rest of damaged files,
and a DamageWarning names what is left out. Files that are changed or replaced while they are read raise
ChangedError.
"""

from __future__ import absolute_import

import importlib

from .errors import ChangedError, DamageWarning, PickleError, RecordIOError
from .reading import reader
from .trainers import cluster_files_reader, recordio_reader

__all__ = [
    "ChangedError",
    "DamageWarning",
    "PickleError",
    "RecordIOError",
    "cluster_files_reader",
    "reader",
    "recordio_reader",
]

_LATER = {"Dataset": "dataset", "stream": "streaming", "writer": "writing", "convert": "converting"}


def __getattr__(name):
    """Imports the parts that need libraries when they are first used (Python 3.7 and later)."""
    if name not in _LATER:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    try:
        module = importlib.import_module("." + _LATER[name], __name__)
    except ImportError as e:
        raise ImportError("recordio.%s needs Python 3.10 and the extra: pip install paddle-recordio[fast] (%s)" % (name, e))
    globals()[name] = getattr(module, name)
    return globals()[name]


def __dir__():
    return sorted(set(globals()) | set(_LATER))
