import marshal
import pickle
import unittest

import recordio

from .files import InDirectory, records_chunk


def of_document(filepath, parallelism, trainer_id):
    """The reader of the documentation of PaddlePaddle Cloud, as users copied it."""
    import cPickle as pickle
    import recordio
    import glob
    import sys
    def reader():
        if trainer_id >= parallelism:
            sys.stdout.write("invalied trainer_id: %d\n" % trainer_id)
            return
        files = glob.glob(filepath)
        files.sort()
        my_file_list = []
        for idx, f in enumerate(files):
            if idx % parallelism == trainer_id:
                my_file_list.append(f)

        for fn in my_file_list:
            r = recordio.reader(fn)
            while True:
                d = r.read()
                if not d:
                    break
                yield pickle.loads(d)

    return reader


class WithDataset(InDirectory):
    def dataset(self, files=5, encode=lambda sample: pickle.dumps(sample, 2)):
        """Writes files of two samples each, and returns their pattern."""
        for i in range(files):
            records = [encode([i, j]) for j in range(2)]
            self.write("train-%05d" % i, records_chunk(records[:1]) + records_chunk(records[1:]))
        self.write(".train-00000.idx", b"not for readers")
        return self.dir + "/train*"

    def samples(self, *files):
        return [[i, j] for i in files for j in range(2)]


class Trainers(WithDataset):
    def test_document(self):
        pattern = self.dataset()
        self.assertEqual(list(of_document(pattern, 2, 0)()), self.samples(0, 2, 4))
        self.assertEqual(list(of_document(pattern, 2, 1)()), self.samples(1, 3))

    def test_directory(self):
        self.dataset()
        for sample in (recordio.recordio_reader, recordio.cluster_files_reader):
            with self.assertRaisesRegex(ValueError, r"is a directory without a dataset: name its files, such as .*/\*$"):
                list(sample(self.dir, 1, 0)())
        self.write(".train.manifest", b"{}")
        self.write("README.md", b"not a shard")
        self.assertEqual(list(recordio.recordio_reader(self.dir, 2, 0, decode="auto")()), self.samples(0, 2, 4))
        self.write(".test.manifest", b"{}")
        with self.assertRaisesRegex(ValueError, r"holds the datasets test, train: name its files, such as .*/test\*$"):
            list(recordio.recordio_reader(self.dir, 1, 0)())

    def test_elsewhere(self):
        with self.assertRaisesRegex(ValueError, "pfs://dc/x-.: this reader reads local files: recordio.stream"):
            list(recordio.recordio_reader("pfs://dc/x-*", 1, 0)())

    def test_nothing_matches(self):
        with self.assertRaisesRegex(ValueError, r"train-\*: no file matches$"):
            list(recordio.recordio_reader(self.dir + "/train-*", 1, 0)())

    def test_recordio_reader(self):
        pattern = self.dataset()
        for count in range(1, 6):
            for trainer in range(count):
                reader = recordio.recordio_reader(pattern, count, trainer, decode="auto")
                want = list(of_document(pattern, count, trainer)())
                self.assertEqual(list(reader()), want)
                self.assertEqual(list(reader()), want)  # once more, for the next pass

    def test_decoders(self):
        tests = {
            "json": lambda sample: b"[%d, %d]" % tuple(sample),
            "msgpack": lambda sample: b"\x92" + bytes(bytearray(sample)),
            "pickle": pickle.dumps,
        }
        for decode, encode in tests.items():
            reader = recordio.recordio_reader(self.dataset(encode=encode), 1, 0, decode=decode)
            self.assertEqual(list(reader()), self.samples(0, 1, 2, 3, 4), decode)
            self.assertEqual(list(recordio.recordio_reader(self.dir + "/train*", 1, 0, decode="auto")()), self.samples(0, 1, 2, 3, 4))
        pattern = self.dataset(1, encode=lambda sample: b"ab")
        self.assertEqual(list(recordio.recordio_reader(pattern, 5, 0, decode="raw")()), [b"ab"] * 2)
        self.assertEqual(list(recordio.recordio_reader(pattern, 5, 0, decode=len)()), [2, 2])
        with self.assertRaises(ValueError):
            recordio.recordio_reader(pattern, 1, 0, decode="yaml")

    def test_trainer_out_of_range(self):
        for trainer, count in ((2, 2), (-1, 2), (0, 0)):
            with self.assertRaises(ValueError):
                recordio.recordio_reader(self.dataset(), count, trainer)
            with self.assertRaises(ValueError):
                recordio.cluster_files_reader(self.dataset(), count, trainer)

    def test_fewer_files_than_trainers(self):
        pattern = self.dataset(2)
        for make in (recordio.recordio_reader, recordio.cluster_files_reader):
            with self.assertRaises(ValueError):
                list(make(pattern, 3, 0)())

    def test_cluster_files_reader(self):
        for i in range(3):
            self.write("train-%05d.pickle" % i, pickle.dumps(self.samples(i), 2))
        pattern = self.dir + "/train-*.pickle"
        reader = recordio.cluster_files_reader(pattern, trainer_count=2, trainer_id=0)
        self.assertEqual(list(reader()), self.samples(0, 2))
        reader = recordio.cluster_files_reader(pattern, trainer_count=2, train_id=1)
        self.assertEqual(list(reader()), self.samples(1))
        with self.assertRaises(TypeError):
            recordio.cluster_files_reader(pattern, 2)

    def test_loader(self):
        self.write("train-00000", marshal.dumps([1, 2]))
        reader = recordio.cluster_files_reader(self.dir + "/train*", 1, 0, loader=marshal.load)
        self.assertEqual(list(reader()), [1, 2])


if __name__ == "__main__":
    unittest.main()
