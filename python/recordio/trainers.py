"""Readers of the part of a dataset that one of several trainers gets: file i, in
lexicographic order, goes to trainer i mod the number of trainers."""

from __future__ import absolute_import

import glob

from . import restricted
from .decoders import decoded, decoder_of
from .errors import PickleError
from .reading import reader as open_reader
from .sets import check_sets, in_directory


def check_trainer(trainer_id, count):
    """Raises ValueError unless 0 <= trainer_id < count."""
    if not 0 <= trainer_id < count:
        raise ValueError("trainer id %d of %d trainers: ids run from 0 to %d" % (trainer_id, count, count - 1))


def files_of(pattern, count, trainer_id, check=True):
    """Returns the files of one trainer, sorted. A directory is a pattern for the dataset in
    it. Raises ValueError if some trainer would get none: the others would wait for it for
    ever. With check it also does if the names say that files are missing, or of another set."""
    files = sorted(glob.glob(in_directory(pattern)))
    if not files:
        raise ValueError("%s: no file matches" % pattern)
    if check:
        check_sets(files)
    if len(files) < count:
        raise ValueError("%s: %d files for %d trainers: some would get none" % (pattern, len(files), count))
    return files[trainer_id::count]


def recordio_reader(filepath, parallelism, trainer_id, decode="auto", check=True):
    """Returns a function that yields the samples of one trainer's RecordIO files.

    filepath is a pattern such as "/pfs/dc/home/alice/dataset/housing_train*",
    parallelism the number of trainers. The files are looked for when the function is
    called; check=False takes what is there, though it be no complete set.
    """
    check_trainer(trainer_id, parallelism)
    decode = decoder_of(decode)

    def reader():
        for path in files_of(filepath, parallelism, trainer_id, check):
            for sample in samples(path, decode):
                yield sample

    return reader


def samples(path, decode):
    """Yields the decoded records of one file."""
    with open_reader(path) as records:
        for number, record in enumerate(records):
            yield decoded(decode, record, path, number)


def loaded(loader, f, path):
    """Calls loader with the open file. What the one of this package cannot read is said
    with its path."""
    try:
        return loader(f)
    except PickleError as e:
        raise PickleError("%s: %s" % (path, e))


def cluster_files_reader(files_pattern, trainer_count, trainer_id=None, loader=restricted.load, train_id=None, check=True):
    """Returns a function that yields the samples of one trainer's files, each of which
    holds one pickled list (or whatever loader, called with the open file, returns).

    train_id is another spelling of trainer_id. check is as of recordio_reader.
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
