"""Reads pickles that contain only data.

A pickle is a program that may import and call anything. Here it can only import the
constructors of numbers, text, bytes, containers and numpy arrays.
"""

from __future__ import absolute_import

import collections
import importlib
import io
import pickle
import sys

from . import arrays, memo
from .errors import PickleError

_BUILTINS = dict((f.__name__, f) for f in (complex, frozenset, set))


def _no_bytes():
    """Stands for bytes, which protocol 2 calls to make empty bytes."""
    return b""


def _latin1(text, encoding):
    """Stands for _codecs.encode, which protocol 2 uses to write bytes."""
    if encoding not in ("latin1", "latin-1"):
        raise PickleError("a pickle that encodes as %r" % (encoding,))
    return text.encode("latin1")


class _NDArray(object):
    """Stands for numpy.ndarray, which a valid pickle names but does not call: a call with a
    large shape would allocate that much memory."""

    def __new__(cls, *args):
        raise PickleError("a pickle that makes an array by itself")


def _numpy_multiarray(name):
    """numpy.core moved in numpy 2."""
    return _import(("numpy._core.multiarray", "numpy.core.multiarray"), name)


def _numpy(name):
    return _import(("numpy",), name)


def _import(places, name):
    for place in places:
        try:
            return getattr(importlib.import_module(place), name)
        except ImportError:
            pass
    raise PickleError("the pickle holds a numpy array, and numpy is not installed")


def _find(module, name):
    """Returns the object that a pickle may use under this name."""
    if module in ("builtins", "__builtin__"):
        if name in _BUILTINS:
            return _BUILTINS[name]
        if name == "bytes":
            return _no_bytes
    if (module, name) == ("_codecs", "encode"):
        return _latin1
    if (module, name) == ("collections", "OrderedDict"):
        return collections.OrderedDict
    if (module, name) == ("numpy", "dtype"):
        _numpy(name)  # raises if numpy is missing
        return arrays.DType
    if (module, name) == ("numpy", "ndarray"):
        return _NDArray
    if module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        if name == "_reconstruct":
            _numpy_multiarray(name)
            return arrays.reconstruct
        if name == "scalar":
            return arrays.scalar_of(_numpy_multiarray(name))
    if module in ("numpy.core.numeric", "numpy._core.numeric") and name == "_frombuffer":
        return arrays.frombuffer_of(_import(("numpy._core.numeric", "numpy.core.numeric"), name))
    raise PickleError(
        "the pickle uses %s.%s, which might run anything: "
        "if you trust its author, decode it with pickle.loads" % (module, name)
    )


class _Unpickler(pickle.Unpickler):
    """An unpickler that finds only the names of _find. In Python 2 it is the slow unpickler,
    because a class cannot restrict the fast one."""

    has_arrays = False

    def find_class(self, module, name):
        found = _find(module, name)
        self.has_arrays = self.has_arrays or found in (arrays.DType, arrays.reconstruct)
        return found

    def value(self):
        value = self.load()
        return arrays.plain(value) if self.has_arrays else value


def _unpickler(f):
    if sys.version_info[0] < 3:
        return _Unpickler(f)
    # Text of Python 2 may hold any bytes; latin1 keeps each, and numpy needs it.
    return _Unpickler(f, encoding="latin1")


def load(f):
    """Reads the one pickle of the binary file f."""
    return loads(f.read())


def loads(data):
    """Reads data (bytes), which must be one pickle."""
    memo.check(data)
    f = io.BytesIO(data)
    try:
        value = _unpickler(f).value()
        if f.tell() != len(data):
            raise PickleError("%d bytes behind the pickle" % (len(data) - f.tell()))
        return value
    except PickleError:
        raise
    except Exception as e:  # damaged pickles raise almost anything
        raise PickleError("not a pickle, or damaged: %s: %s" % (type(e).__name__, e))
