"""The name that Python 2 has for the fast pickle: programs that import it run
unchanged in Python 3, whose pickle is fast by itself.

Text that Python 2 pickled may hold any bytes, and load and loads therefore keep each of
them (as latin1 does) where Python 3 would only take ASCII. As everywhere, a pickle may
run anything: load only what you trust.
"""

import functools
import pickle
import sys
from pickle import *  # noqa: F401,F403 (this module is that one)

if sys.version_info[0] >= 3:
    load = functools.partial(pickle.load, encoding="latin1")
    loads = functools.partial(pickle.loads, encoding="latin1")
