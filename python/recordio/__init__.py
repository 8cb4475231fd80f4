"""Reads RecordIO files and datasets made of them. Needs nothing but Python (2.7 or 3).

    reader(path)                records of one file, one after the other
    recordio_reader(...)        samples of the files that one of several trainers reads
    cluster_files_reader(...)   the same for files that hold one list each, as split writes
    dataset.RecordDataset(...)  recordio_reader as an iterable for PyTorch's DataLoader

Samples are decoded as pickle, MessagePack or JSON, whichever they are, unless told otherwise:
decode="pickle", "msgpack", "json", "raw" or a function of bytes. Pickles are restricted:
they make numbers, text, bytes, containers and numpy arrays, and call nothing else; what
asks for more raises PickleError.

What is damaged raises RecordIOError. Nothing is passed over silently: files that are
missing from a set, as names such as train-00003-of-00010 tell, raise ValueError.

The module dataset is imported by who needs it, because it imports torch if that is there.
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
