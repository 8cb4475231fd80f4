"""Checks by their names whether files are complete sets: the name train-00003-of-00010
contains the number of the file and of all files. The Go package shard has the same rules."""

from __future__ import absolute_import

import os
import re

_MANIFEST = re.compile(r"^\.(.+)\.manifest$", re.DOTALL)
_NAME = re.compile(r"^((?:.*\D)?)(\d{1,18})-of-(\d{1,18})((?:\D.*)?)$", re.DOTALL)
_PIECE = re.compile(r"^(.*\d-of-\d{1,18})-\d{1,18}((?:\.[^/]*)?)$", re.DOTALL)
_PLAIN = re.compile(r"^((?:.*\D)?)\d{1,18}((?:\D.*)?)$", re.DOTALL)
_MOST_NAMED = 3


def in_directory(pattern):
    """Returns pattern or, if it is a directory, the pattern of the one dataset in it, from the
    name of its manifest. Raises ValueError if there is no dataset, or more than one."""
    if not os.path.isdir(pattern):
        return pattern
    found = [m.group(1) for m in map(_MANIFEST.match, sorted(os.listdir(pattern))) if m]
    if len(found) != 1:
        text = "holds the datasets " + ", ".join(found) if found else "is a directory without a dataset"
        raise ValueError("%s %s: name its files, such as %s" % (pattern, text, os.path.join(pattern, (found or [""])[0] + "*")))
    return os.path.join(_literal(pattern), _literal(found[0]) + "-*")


def _literal(text):
    """Returns the pattern that matches only text."""
    return re.sub(r"([*?[])", r"[\1]", text)


def check_sets(names):
    """Raises ValueError if files of a set are missing or duplicate, or belong to another set.
    Names without -of- are not checked."""
    sets, others = {}, []
    for name in names:
        match = _NAME.match(name)
        if match is None or _PIECE.match(name):
            others.append(name)
            continue
        stem, index, of, suffix = match.groups()
        sets.setdefault(stem, {}).setdefault((int(of), suffix), []).append((int(index), name))
    stale = [name for name in others if _is_stale(name, sets, names)]
    for stem in sorted(sets):
        stale += _check_set(sets[stem])
    if stale:
        _fail("files of another set are mixed in, or there twice", sorted(stale))


def _is_stale(name, sets, names):
    """Reports whether a name without -of- may be left over from an earlier run."""
    piece, plain = _PIECE.match(name), _PLAIN.match(name)
    if piece:
        return piece.group(1) + piece.group(2) in names
    return plain is not None and plain.group(1) in sets


def _check_set(sets):
    """Checks the files of one stem. Their names may state different numbers of files: the set
    with the most files must be complete. Returns the names of the other files."""
    main = max(sets, key=lambda key: (len(sets[key]), key[0]))
    found, stale = {}, []
    for index, name in sorted(sets[main]):
        if index in found or index > main[0]:
            stale.append(name)
        else:
            found[index] = name
    # The number after -of- is the number of files or, in old PaddlePaddle files, the number of
    # the last file.
    count = main[0] + 1 if main[0] in found else main[0]
    if len(found) < count:
        absent = count - len(found)
        first = 0
        while first in found:
            first += 1
        text = "%d of the %d files of %s are missing, the first is number %d" % (absent, count, sets[main][0][1], first)
        raise ValueError(text + ": copy the set again; check=False reads what is there")
    for key in sets:
        if key != main:
            stale += [name for _, name in sets[key]]
    return stale


def _fail(what, names):
    text = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        text += " and %d more" % (len(names) - _MOST_NAMED)
    raise ValueError("%s: %s: use a narrower pattern, or remove them; check=False reads all" % (what, text))
