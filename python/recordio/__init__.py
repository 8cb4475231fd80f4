"""Reads RecordIO files and datasets of them. Needs only Python (2.7 or 3).

    reader(path)                records of one file, one after the other
    recordio_reader(...)        samples of the files that one of several trainers reads
    cluster_files_reader(...)   the same for files that hold one list each, as split writes
    dataset.RecordDataset(...)  recordio_reader as an iterable for PyTorch's DataLoader

By default the readers detect whether a sample is pickle, MessagePack or JSON. decode selects
"pickle", "msgpack", "json", "raw" or a function of bytes. Pickles are restricted: they may
contain numbers, text, bytes, containers and numpy arrays. A pickle that names anything else
raises PickleError, and nothing is called.

Damage raises RecordIOError. Missing files of a set, according to names such as
train-00003-of-00010, raise ValueError. Nothing is skipped silently.

Import the module dataset explicitly: it imports torch if that is installed.
"""

from __future__ import absolute_import

from .errors import PickleError, RecordIOError
from .reading import reader
from .trainers import cluster_files_reader, recordio_reader

__all__ = [
    "PickleError",
    "RecordIOError",
    "cluster_files_reader",
    "reader",
    "recordio_reader",
]
