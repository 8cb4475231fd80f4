"""Numpy arrays from pickles.

numpy trusts the state of a pickled dtype, so a malicious pickle can make it use bytes of the
pickle as addresses, or place a field beyond the end of its record. Here a pickle gets
stand-ins, which build the dtype from its description. plain() replaces the stand-ins by the
values that they built.
"""

from __future__ import absolute_import

import collections

from .errors import PickleError


class DType(object):
    """Stands for numpy.dtype."""

    def __init__(self, kind, align=False, copy=True):
        import numpy

        if isinstance(kind, bytes):
            kind = kind.decode("ascii")
        if not isinstance(kind, type(u"")):
            raise PickleError("a dtype whose description is not a text")
        self.made = numpy.dtype(str(kind))

    def __setstate__(self, state):
        order, subdtype, names, fields, size = state[1:6]
        self.made = self._described(order, subdtype, names, fields, size, state[8:])

    def _described(self, order, subdtype, names, fields, size, metadata):
        import numpy

        if subdtype is not None:
            return numpy.dtype((_made(subdtype[0], DType), subdtype[1]))
        if names is not None:
            parts = [fields[name] for name in names]
            described = {
                "names": [str(name) for name in names],
                "formats": [_made(part[0], DType) for part in parts],
                "offsets": [part[1] for part in parts],
                "itemsize": size,
            }
            return numpy.dtype(described)  # it refuses fields that do not fit
        made = self.made
        if metadata and made.kind in "mM":
            unit, number = metadata[0][-1][:2]
            if not isinstance(unit, type(u"")):
                unit = unit.decode("ascii")
            if unit != u"generic":
                made = numpy.dtype("%s8[%d%s]" % (made.kind, number, unit))
        return made.newbyteorder(str(order)) if order in ("<", ">") else made


class Array(object):
    """Stands for an array whose state follows in the pickle."""

    def __setstate__(self, state):
        import numpy

        shape, dtype, fortran, data = state[-4:]
        if type(data) is list:  # of objects
            data = plain(data)
        made = numpy.ndarray((0,), "b")
        made.__setstate__((1, shape, _made(dtype, DType), fortran, data))
        self.made = made


def reconstruct(subtype, shape, kind):
    """Stands for numpy's _reconstruct. The state of the array fills the result."""
    return Array()


def scalar_of(scalar):
    """Returns a stand-in for numpy's function scalar, which calls it."""

    def make(dtype, *data):
        return scalar(_made(dtype, DType), *data)

    return make


def frombuffer_of(frombuffer):
    """Returns a stand-in for numpy's function _frombuffer, which calls it."""

    def make(data, dtype, *shape):
        return frombuffer(data, _made(dtype, DType), *shape)

    return make


def _made(value, kind):
    if type(value) is not kind or not hasattr(value, "made"):
        raise PickleError("a pickle of an array whose parts are not in order")
    return value.made


def plain(value):
    """Returns value with all stand-ins in its lists, tuples and dictionaries replaced by the
    values that they built."""
    return _plain(value, {})


def _plain(value, seen):
    kind = type(value)
    if kind in (DType, Array):
        return _made(value, kind)
    if kind not in (list, tuple, dict, collections.OrderedDict):
        return value
    if id(value) in seen:
        return seen[id(value)]
    if kind is tuple:
        parts = tuple([_plain(part, seen) for part in value])
        same = all(a is b for a, b in zip(parts, value))
        seen[id(value)] = value if same else parts
        return seen[id(value)]
    seen[id(value)] = value
    if kind is list:
        value[:] = [_plain(part, seen) for part in value]
        return value
    items = [(_plain(key, seen), _plain(part, seen)) for key, part in value.items()]
    value.clear()
    value.update(items)
    return value
