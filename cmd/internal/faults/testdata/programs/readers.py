"""What trainers do: forked workers read samples in random order with pread, with mmap, and with NumPy if
there is one, in files that were open before the fork and in files that each opens."""
import hashlib, mmap, multiprocessing, os, random

try:
    import numpy
except ImportError:
    numpy = None

files, samples, size = (64, 256, 40000) if os.environ["LONG"] else (6, 16, 20001)
if os.environ["STAGED"]: # an open is a request to the store there
    samples = min(samples, 32)
r, want = random.Random(3), {}
for f in range(files):
    with open("shard%d" % f, "wb") as out:
        for s in range(samples):
            b = r.randbytes(size)
            want[f, s] = hashlib.blake2b(b).digest()
            out.write(b)
if numpy:
    table = numpy.arange(200000, dtype=numpy.int64).reshape(1000, 200)
    numpy.save("table.npy", table)

opened = [os.open("shard%d" % f, os.O_RDONLY) for f in range(files)]
mapped = [mmap.mmap(fd, 0, prot=mmap.PROT_READ) for fd in opened]

def read(job):
    f, s, how = job
    if how == 0:
        b = os.pread(opened[f], size, s * size)
    elif how == 1:
        b = mapped[f][s * size:(s + 1) * size]
    elif how == 2:
        with open("shard%d" % f, "rb") as file:
            file.seek(s * size)
            b = file.read(size)
    elif numpy:
        b = numpy.memmap("shard%d" % f, dtype=numpy.uint8, mode="r", offset=s * size, shape=size).tobytes()
        row = (f * samples + s) % 1000
        assert (numpy.load("table.npy", mmap_mode="r")[row] == table[row]).all(), "table"
    else:
        return
    assert hashlib.blake2b(b).digest() == want[f, s], "sample %d of file %d, read in way %d" % (s, f, how)

context = multiprocessing.get_context("fork")
for epoch in range(3 if os.environ["LONG"] else 2):
    jobs = [(f, s, how) for f in range(files) for s in range(samples) for how in range(4)]
    random.Random(epoch).shuffle(jobs)
    with context.Pool(4) as pool:
        pool.map(read, jobs, chunksize=8)
# A mapping that several processes write is one file.
with open("shared", "wb") as out:
    out.truncate(4 * 65536)
def fill(k):
    with open("shared", "r+b") as f:
        m = mmap.mmap(f.fileno(), 0)
        m[k * 65536:(k + 1) * 65536] = bytes([65 + k]) * 65536
        m.flush()
with context.Pool(4) as pool:
    pool.map(fill, range(4))
assert open("shared", "rb").read() == b"".join(bytes([65 + k]) * 65536 for k in range(4)), "shared mapping"
print("NumPy", numpy.__version__ if numpy else "is missing")
