"""Readers for one of several trainers: file i of a dataset, in lexicographic order, goes to
trainer i modulo the number of trainers."""

from __future__ import absolute_import

import glob
import os

from . import restricted
from .decoders import decoded, decoder_of
from .errors import ChangedError, PickleError
from .manifest import payload_of
from .reading import reader as open_reader
from .sets import check_sets, in_directory


def check_trainer(trainer_id, count):
    """Raises ValueError unless 0 <= trainer_id < count."""
    if not 0 <= trainer_id < count:
        raise ValueError("trainer id %d of %d trainers: ids run from 0 to %d" % (trainer_id, count, count - 1))


def files_of(pattern, count, trainer_id, check=True):
    """Returns the files of one trainer, sorted. A directory stands for the dataset in it. Raises
    ValueError if a trainer would get no file, because the others would wait for it forever.
    With check it also raises ValueError if check_sets does."""
    if "://" in pattern:
        raise ValueError("%s: this reader reads local files: recordio.stream and recordio.reader read others" % pattern)
    files = sorted(glob.glob(in_directory(pattern)))
    if not files:
        raise ValueError("%s: no file matches" % pattern)
    if check:
        check_sets(files)
    if len(files) < count:
        raise ValueError("%s: %d files for %d trainers: some would get none" % (pattern, len(files), count))
    return files[trainer_id::count]


def recordio_reader(filepath, parallelism, trainer_id, decode=None, check=True):
    """Returns a function that yields the samples of one trainer's RecordIO files.

    filepath is a pattern such as "/pfs/dc/home/alice/dataset/housing_train*",
    parallelism the number of trainers. The returned function finds the files when it is
    called. check=False accepts incomplete sets, and files with another size than their manifest
    states. Samples are decoded as the manifest of the files says, and are bytes without one. decode
    sets "pickle", "msgpack", "json", "raw", "auto", which recognizes containers, or a function of bytes.
    """
    check_trainer(trainer_id, parallelism)
    if decode is not None:
        decoder_of(decode)  # report an unknown name here

    def reader():
        files = files_of(filepath, parallelism, trainer_id, check)
        seen = [_seen(path) for path in files]
        decoder = decoder_of(payload_of(files, check) if decode is None else decode)
        for path, before in zip(files, seen):
            for sample in samples(path, decoder, before):
                yield sample

    return reader


def _seen(path):
    """Returns what changes when a file is replaced."""
    st = os.stat(path)
    return st.st_size, st.st_mtime


def samples(path, decode, before=None):
    """Yields the decoded records of one file. Raises ChangedError if the file was replaced since before."""
    with open_reader(path) as records:
        if before is not None and _seen(path) != before:
            raise ChangedError("%s was changed or replaced while its dataset was read" % path)
        for number, record in enumerate(records):
            yield decoded(decode, record, path, number)


def loaded(loader, f, path):
    """Calls loader with the open file. Errors of this package's own loader name the path."""
    try:
        return loader(f)
    except PickleError as e:
        raise PickleError("%s: %s" % (path, e))


def cluster_files_reader(files_pattern, trainer_count, trainer_id=None, loader=restricted.load, train_id=None, check=True):
    """Returns a function that yields the samples of one trainer's files, each of which
    holds one pickled list (or whatever loader, called with the open file, returns).

    train_id is another spelling of trainer_id. check has the same meaning as in
    recordio_reader.
    """
    if (trainer_id is None) == (train_id is None):
        raise TypeError("cluster_files_reader needs trainer_id")
    if trainer_id is None:
        trainer_id = train_id
    check_trainer(trainer_id, trainer_count)

    def reader():
        for path in files_of(files_pattern, trainer_count, trainer_id, check):
            with open(path, "rb") as f:
                lines = loaded(loader, f, path)
            for line in lines:
                yield line

    return reader
