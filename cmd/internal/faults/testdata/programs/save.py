"""How frameworks save: a temporary, flushed and renamed over the old file, while others read it."""
import multiprocessing, os

def save(name, data):
    with open(name + ".tmp", "wb") as f:
        for at in range(0, len(data), 10007):
            f.write(data[at:at + 10007])
        f.flush()
        os.fsync(f.fileno())
    os.replace(name + ".tmp", name)

def read(stop):
    while not stop.is_set():
        b = open("model", "rb").read()
        assert len(b) == 300000 and len(set(b)) == 1, "%d bytes of %d kinds" % (len(b), len(set(b)))

context = multiprocessing.get_context("fork")
save("model", b"0" * 300000)
stop = context.Event()
readers = [context.Process(target=read, args=(stop,)) for _ in range(3)]
for p in readers:
    p.start()
for i in range(200 if os.environ["LONG"] else 15):
    save("model", bytes([i % 256]) * 300000)
stop.set()
for p in readers:
    p.join()
    assert p.exitcode == 0, "a reader ended with %s" % p.exitcode
assert os.listdir(".") == ["model"], os.listdir(".")
