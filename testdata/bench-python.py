"""Measures the Python package beside other formats: bench-python.py DIR PADDLECTL makes the data in DIR and prints a table."""

import glob
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time

RUNS, RECORDS, ONLY = int(os.environ.get("RUNS", "3")), int(os.environ.get("RECORDS", "100000")), os.environ.get("ONLY", "")
BATCH, SHARDS = 1024, 8
DIR = sys.argv[1]


def samples():
    r = random.Random(1)
    words = ["".join(r.choices("abcdefghijklmnopqrstuvwxyz", k=r.randint(2, 10))) for _ in range(2000)]
    for i in range(RECORDS):
        yield {"id": i, "label": i % 10, "text": " ".join(r.choices(words, k=155))[:980]}


def make(paddlectl):
    import msgpack
    import numpy as np
    import tfrecord
    import webdataset
    from array_record.python.array_record_module import ArrayRecordWriter
    from streaming import MDSWriter

    each = list(samples())
    with open(DIR + "/in.jsonl", "w") as f:
        f.writelines(json.dumps(s) + "\n" for s in each)
    np.save(DIR + "/vectors.npy", np.random.default_rng(1).random((RECORDS, 256), np.float32))
    shards = "--num-shards=%d" % SHARDS
    for args in (["ours", "in.jsonl"], ["none", "--compressor=none", "in.jsonl"], ["vectors", "--compressor=none", "vectors.npy"]):
        command = [paddlectl, "dataset", "convert", shards, "--output-path", DIR + "/" + args[0], "--name-prefix=t", *args[1:-1]]
        subprocess.run(command + [DIR + "/" + args[-1]], check=True, capture_output=True)
    packed = [msgpack.packb(s) for s in each]
    with open(DIR + "/bytes", "w") as f:
        f.write(str(sum(map(len, packed))))
    for name, options in ARRAY_RECORDS.items():
        writer = ArrayRecordWriter("%s/%s.array" % (DIR, name), options)
        for record in packed:
            writer.write(record)
        writer.close()
    for k in range(SHARDS):
        part = range(k * RECORDS // SHARDS, (k + 1) * RECORDS // SHARDS)
        tf = tfrecord.TFRecordWriter("%s/%d.tfrecord" % (DIR, k))
        with webdataset.TarWriter("%s/%d.tar" % (DIR, k)) as tar:
            for i in part:
                s = each[i]
                tar.write({"__key__": "%08d" % i, "mp": packed[i]})
                tf.write({"id": (s["id"], "int"), "label": (s["label"], "int"), "text": (s["text"].encode(), "byte")})
        tf.close()
    with MDSWriter(out=DIR + "/mds", columns={"id": "int", "label": "int", "text": "str"}) as mds:
        for s in each:
            mds.write(s)


ARRAY_RECORDS = {
    "snappy-1024": "group_size:1024,snappy",
    "none-1024": "group_size:1024,uncompressed",
    "snappy-1": "group_size:1,snappy",
}
TF = {"id": "int", "label": "int", "text": "byte"}


def reader(name, options=""):
    from array_record.python.array_record_module import ArrayRecordReader

    return ArrayRecordReader("%s/%s.array" % (DIR, name), options)


def array_record(name):
    import msgpack

    r = reader(name)
    for i in range(0, RECORDS, BATCH):
        yield from map(msgpack.unpackb, r.read(i, min(i + BATCH, RECORDS)))


def batches():
    order = list(range(RECORDS))
    random.Random(2).shuffle(order)
    return (order[i : i + BATCH] for i in range(0, RECORDS, BATCH))


def random_array_record(name):
    r = reader(name, "readahead_buffer_size:0,max_parallelism:0")
    for batch in batches():
        yield from r.read(batch)


def random_ours(name):
    import recordio

    dataset = recordio.Dataset(DIR + "/" + name)
    for batch in batches():
        yield from dataset.read_batch(batch)


def stream(name, **options):
    import recordio

    return recordio.stream(DIR + "/" + name, **options)


def tf_records(paths):
    from tfrecord import tfrecord_loader

    for path in paths:
        yield from tfrecord_loader(path, None, TF)


def tars():
    import webdataset

    return webdataset.WebDataset(sorted(glob.glob(DIR + "/*.tar")), shardshuffle=False).decode()


def mds():
    from streaming import StreamingDataset

    return StreamingDataset(local=DIR + "/mds", batch_size=128, shuffle=False)


class ArrayRecords:
    """A dataset for a DataLoader, which reads a batch at a time."""

    def __init__(self, name):
        self.name, self.reader = name, None

    def __len__(self):
        return RECORDS

    def __getitems__(self, batch):
        import msgpack

        self.reader = self.reader or reader(self.name, "readahead_buffer_size:0,max_parallelism:0")
        return list(map(msgpack.unpackb, self.reader.read(batch)))


def tf_dataset():
    from torch.utils.data import IterableDataset, get_worker_info

    class Files(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            return tf_records(sorted(glob.glob(DIR + "/*.tfrecord"))[info.id :: info.num_workers])

    return Files()


def loaded(dataset, **options):
    """The samples of a DataLoader with 4 workers."""
    from torch.utils.data import DataLoader

    for batch in DataLoader(dataset, batch_size=128, num_workers=4, collate_fn=list, **options):
        yield from batch


def ours_loaded():
    import torch.utils.data  # noqa: F401 (a stream is an IterableDataset if torch is imported)

    return loaded(stream("ours", batch_size=128))


def dataset_loaded():
    import recordio

    return loaded(recordio.Dataset(DIR + "/ours"), shuffle=True)


ROWS = {
    "in order, decoded: recordio (snappy, the default of convert)": lambda: stream("ours"),
    "in order, decoded: ArrayRecord (groups of 1024, snappy, batches)": lambda: array_record("snappy-1024"),
    "in order, decoded: recordio (no compression)": lambda: stream("none"),
    "in order, decoded: ArrayRecord (groups of 1024, no compression, batches)": lambda: array_record("none-1024"),
    "in order, decoded: tfrecord": lambda: tf_records(sorted(glob.glob(DIR + "/*.tfrecord"))),
    "in order, decoded: webdataset": tars,
    "in order, decoded: MosaicML Streaming": mds,
    "in order, bytes: recordio (snappy)": lambda: stream("ours", decode="raw"),
    "in order, bytes: recordio (no compression)": lambda: stream("none", decode="raw"),
    "in order, arrays of 256 float32: recordio": lambda: stream("vectors"),
    "random batches, bytes: recordio (snappy)": lambda: random_ours("ours"),
    "random batches, bytes: ArrayRecord (groups of 1, snappy)": lambda: random_array_record("snappy-1"),
    "random batches, bytes: ArrayRecord (groups of 1024, snappy)": lambda: random_array_record("snappy-1024"),
    "DataLoader, in order: recordio.stream": ours_loaded,
    "DataLoader, in order: tfrecord": lambda: loaded(tf_dataset()),
    "DataLoader, in order: webdataset": lambda: loaded(tars()),
    "DataLoader, in order: MosaicML Streaming": lambda: loaded(mds()),
    "DataLoader, shuffled: recordio.Dataset": dataset_loaded,
    "DataLoader, shuffled: ArrayRecord (groups of 1)": lambda: loaded(ArrayRecords("snappy-1"), shuffle=True),
}

IMPORTS = {
    "import: recordio": "import recordio",
    "import: recordio with Dataset and stream, which import numpy": "import recordio; recordio.Dataset, recordio.stream",
}

# The goals of rows: a number of GB/s, of records a second, of seconds, or of times the rate of another row.
GOALS = {
    "in order, decoded: recordio (snappy, the default of convert)": (1.1, "in order, decoded: ArrayRecord (groups of 1024, snappy, batches)"),
    "in order, decoded: recordio (no compression)": (1.1, "in order, decoded: ArrayRecord (groups of 1024, no compression, batches)"),
    "in order, bytes: recordio (snappy)": (0.5, "GB/s"),
    "in order, bytes: recordio (no compression)": (1.5, "GB/s"),
    "in order, arrays of 256 float32: recordio": (300, "k"),
    "random batches, bytes: recordio (snappy)": (1.0, "random batches, bytes: ArrayRecord (groups of 1, snappy)"),
    "import: recordio": (100, "ms"),
}


def measure(name):
    if name in IMPORTS:
        code = "import time; start = time.perf_counter(); %s; print(time.perf_counter() - start)" % IMPORTS[name]
        print(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
        return
    import msgpack  # noqa: F401 (imports are not part of the time)

    import recordio

    recordio.Dataset.__name__, recordio.stream.__name__  # noqa: B018 (imported at first use)
    if "tfrecord" in name:
        import tfrecord  # noqa: F401
    if "webdataset" in name:
        import webdataset  # noqa: F401
    if "MosaicML" in name:
        import streaming  # noqa: F401
    if "DataLoader" in name:
        import torch.utils.data  # noqa: F401
    if "ArrayRecord" in name:
        import array_record.python.array_record_module  # noqa: F401
    start = time.perf_counter()
    count = sum(1 for _ in ROWS[name]())
    seconds = time.perf_counter() - start
    if count != RECORDS:
        sys.exit("%s: %d of %d records" % (name, count, RECORDS))
    print(seconds)


def figure(name, seconds, size):
    """Returns a number and its unit."""
    if name in IMPORTS:
        return seconds * 1000, "ms"
    if "bytes: recordio" in name and "in order" in name:
        return size / seconds / 1e9, "GB/s"
    return RECORDS / seconds / 1000, "k"


def goal(name, medians, size):
    """Returns the goal of a row, and what the median is in relation to it, as text."""
    if name not in GOALS or name not in medians:
        return "", ""
    least, of = GOALS[name]
    value, unit = figure(name, medians[name], size)
    if unit == of:
        return "%s %g %s" % ("<" if unit == "ms" else ">=", least, unit), reached(value < least if unit == "ms" else value >= least)
    if of not in medians:
        return ">= %gx" % least, "the other row was not measured"
    times = medians[of] / medians[name]
    return ">= %gx %s" % (least, of.split(": ")[1].split(" (")[0]), "%s: %.2fx" % (reached(times >= least), times)


def reached(yes):
    return "reached" if yes else "MISSED"


def main():
    make(sys.argv[2])
    with open(DIR + "/bytes") as f:
        size = int(f.read())
    names = [n for n in [*ROWS, *IMPORTS] if re.search(ONLY, n)]
    seconds = {n: [] for n in names}
    for _ in range(RUNS):
        for n in names:
            run = subprocess.run([sys.executable, "-W", "ignore", __file__, DIR, "row", n], capture_output=True, text=True)
            if run.returncode:
                print("%s: %s" % (n, run.stderr.strip()[-500:]), file=sys.stderr)
            else:
                seconds[n].append(float(run.stdout.split()[-1]))
    medians = {n: statistics.median(each) for n, each in seconds.items() if each}
    print("k: thousands of records a second, %d records of about 1 KB, median of %d\n" % (RECORDS, RUNS))
    print("| row | median | from | to | goal | |\n|---|---|---|---|---|---|")
    for n, each in seconds.items():
        cells = ["failed"] * 3
        if each:
            cells = ["%.*f %s" % (2 if unit == "GB/s" else 0, v, unit) for v, unit in (figure(n, t, size) for t in (medians[n], max(each), min(each)))]
        print("| %s |" % " | ".join([n, *cells, *goal(n, medians, size)]))
    sys.exit(any(len(each) < RUNS for each in seconds.values()))


if __name__ == "__main__":
    measure(sys.argv[3]) if sys.argv[2] == "row" else main()
