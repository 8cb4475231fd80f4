"""The fast pickle of Python 2 for Python 3, whose pickle is fast: programs that import cPickle
run unchanged.

A text that Python 2 pickled may contain any bytes. load and loads keep them by decoding latin1,
where Python 3 would accept only ASCII. A pickle may run any code: load only pickles that you
trust.
"""

import functools
import pickle
import sys
from pickle import *  # noqa: F401,F403 (this module is that one)

if sys.version_info[0] >= 3:
    load = functools.partial(pickle.load, encoding="latin1")
    loads = functools.partial(pickle.loads, encoding="latin1")
