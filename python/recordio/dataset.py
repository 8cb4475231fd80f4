"""An iterable for PyTorch's DataLoader."""

from __future__ import absolute_import

from .decoders import decoder_of
from .trainers import check_trainer, files_of, samples

try:
    from torch.utils.data import IterableDataset as _Base
    from torch.utils.data import get_worker_info as _worker_info
except ImportError:
    _Base = object

    def _worker_info():
        return None


class RecordDataset(_Base):
    """The samples of one trainer's RecordIO files:

        dataset = recordio.dataset.RecordDataset("/pfs/dc/home/alice/dataset/housing_train*",
                                                 parallelism=4, trainer_id=1)
        for batch in torch.utils.data.DataLoader(dataset, batch_size=32, num_workers=2):

    The workers of a DataLoader divide the trainer's files as the trainers divide the dataset:
    with fewer files than workers, some workers have no work. Each iteration starts at the
    first file. Without torch the class is an ordinary iterable.
    """

    def __init__(self, pattern, parallelism=1, trainer_id=0, decode="auto", check=True):
        super(RecordDataset, self).__init__()
        check_trainer(trainer_id, parallelism)
        decoder_of(decode)  # report an unknown name here, not in a worker
        self._pattern = pattern
        self._parallelism = parallelism
        self._trainer_id = trainer_id
        self._decode = decode
        self._check = check

    def __iter__(self):
        files = files_of(self._pattern, self._parallelism, self._trainer_id, self._check)
        worker = _worker_info()
        if worker is not None:
            files = files[worker.id :: worker.num_workers]
        decode = decoder_of(self._decode)  # workers receive the name, because functions may not pickle
        for path in files:
            for sample in samples(path, decode):
                yield sample
