"""What careless and hostile users do. Nothing may hang, crash, or be lost, and each error is the usual one."""
import errno, mmap, os, random, signal, subprocess, sys, threading, time

long = bool(os.environ["LONG"])

def fails(want, do, *args, **named):
    try:
        do(*args, **named)
    except OSError as e:
        assert e.errno in want, "%s%r: %s" % (do.__name__, args, e)
        return
    raise AssertionError("%s%.200r is done" % (do.__name__, args))

def put(name, data):
    with open(name, "wb") as f:
        f.write(data)

# Names.
names = ["new\nline", "tab\t", " ", "a" * 255, "\u00e9" * 127, "-rf", "*", "\\", "'\"$(x)`", "...", "\x01\x7f", "a%2fb", "\u202e"]
for n in names:
    put(n, n.encode())
assert sorted(os.listdir(".")) == sorted(names), os.listdir(".")
for n in names:
    assert open(n, "rb").read() == n.encode(), n
    os.rename(n, n[:50] + "2")
    os.unlink(n[:50] + "2")
fails([errno.ENAMETOOLONG], put, "a" * 256, b"")
fails([errno.ENAMETOOLONG], os.stat, "a" * 256)
fails([errno.EINVAL, errno.EILSEQ], put, b"\xff\xfe", b"")
fails([errno.ENOENT], os.stat, b"\xff\xfe")

# Deep paths: as deep as a path may be, and one too deep.
top, depth = os.getcwd(), 0
try:
    while depth < 2500:
        os.mkdir("d" * 9)
        os.chdir("d" * 9)
        depth += 1
except OSError as e:
    assert e.errno == errno.ENAMETOOLONG, e
assert depth > 300, depth
os.chdir(top)
subprocess.run(["rm", "-r", "d" * 9], check=True)

# Loops of links.
if os.environ["LINKS"]:
    os.symlink("b", "a")
    os.symlink("a", "b")
    fails([errno.ELOOP], open, "a")
    os.symlink(".", "here")
    assert os.path.samefile("here/" * 30, ".")
    for n in ("a", "b", "here"):
        os.unlink(n)

# A directory that is open, and the working directory of a process, moves; then it is removed.
os.makedirs("x/y")
put("x/y/f", b"1")
fd = os.open("x/y", os.O_RDONLY)
os.rename("x", "z")
assert os.listdir(fd) == ["f"]
assert os.read(os.open("f", os.O_RDONLY, dir_fd=fd), 9) == b"1"
os.close(os.open("g", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
assert sorted(os.listdir("z/y")) == ["f", "g"]
fails([errno.EINVAL], os.rename, "z", "z/y/z")
subprocess.run(["rm", "-r", "z"], check=True)
fails([errno.ENOENT], os.open, "h", os.O_CREAT | os.O_WRONLY, dir_fd=fd)
os.close(fd)

# A file shrinks and grows while others read and map it: only its bytes, or zeros, or the end.
put("shrinks", b"s" * 500000)
stop = threading.Event()
def shrink():
    while not stop.is_set():
        os.truncate("shrinks", 1000)
        with open("shrinks", "r+b") as f:
            f.write(b"s" * 500000)
changer = threading.Thread(target=shrink)
changer.start()
for _ in range(300 if long else 20):
    b = open("shrinks", "rb").read()
    assert not b.strip(b"s\0"), "strange bytes"
stop.set()
changer.join()

# Thousands of processes at once; readers and writers that are killed.
processes = []
for i in range(1500 if long else 60):
    pid = os.fork()
    if pid == 0:
        put("p%d" % i, b"%d" % i)
        while i % 3 == 0:
            open("shrinks", "rb").read()
            put("killed%d" % i, b"k" * 100000)
        os._exit(0 if open("p%d" % i, "rb").read() == b"%d" % i else 1)
    processes.append(pid)
time.sleep(0.5)
for i, pid in enumerate(processes):
    if i % 3 == 0:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert i % 3 == 0 or status == 0, "process %d: status %d" % (i, status)

# One directory, many makers of the same name: one makes it.
def race(i, made):
    try:
        os.close(os.open("one", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        made.append(i)
    except FileExistsError:
        pass
made = []
racers = [threading.Thread(target=race, args=(i, made)) for i in range(16)]
for t in racers:
    t.start()
for t in racers:
    t.join()
assert len(made) == 1, made

# Sizes: far beyond the end of a file, and of what there can be. A staged file is uploaded whole when it is closed.
far = 1 << 30 if os.environ["STAGED"] else 1 << 36
with open("sparse", "w+b") as f:
    f.seek(far)
    try:
        f.write(b"x")
        f.flush()
        assert os.fstat(f.fileno()).st_size == far + 1
    except OSError as e:
        assert e.errno in (errno.EDQUOT, errno.ENOSPC, errno.EFBIG), e
