from .dataset import Dataset as Dataset
from .errors import PickleError as PickleError
from .errors import RecordIOError as RecordIOError
from .reading import reader as reader
from .streaming import stream as stream
from .trainers import cluster_files_reader as cluster_files_reader
from .trainers import recordio_reader as recordio_reader
