"""Uses WebHDFS at the address sys.argv[1] with the user's name sys.argv[2] and password sys.argv[3]: HdfsCLI, fsspec, pandas.
sys.argv[4], if given, is the one to use: hdfscli, or fsspec with pandas."""
import io, posixpath, sys

import fsspec, hdfs, pandas, requests

url, user, password, *parts = sys.argv[1:]
parts = parts or ["hdfscli", "fsspec"]
host, port = url.split("//")[1].split(":")
home = "/pfs/local/home/" + user


def check(what, got, want):
    if got != want:
        sys.exit("%s: %r, want %r" % (what, got, want))


# HdfsCLI: every operation that it has.
session = requests.Session()
session.auth = (user, password)
for client in [hdfs.InsecureClient(url, user=user), hdfs.Client(url, session=session)] if "hdfscli" in parts else []:
    check("home", client.resolve(""), home)
    client.makedirs("/tree/sub", permission="750")
    client.write("/tree/a", b"hello, world", overwrite=True, permission="640", blocksize=1 << 20, replication=1)
    client.write("/tree/a", b"!", append=True)
    with client.write("/tree/sub/b", encoding="utf-8", overwrite=True) as w:
        for i in range(100000):
            w.write("line %d\n" % i)
    with client.read("/tree/a", offset=7, length=5) as r:
        check("read", r.read(), b"world")
    with client.read("/tree/sub/b", encoding="utf-8", delimiter="\n") as r:
        check("lines", sum(1 for line in r if line), 100000)
    check("list", sorted(client.list("/tree")), ["a", "sub"])
    status = client.status("/tree/a")
    check("status", (status["length"], status["type"], status["permission"]), (13, "FILE", "640"))
    check("no status", client.status("/none", strict=False), None)
    check("walk", [(p, d, f) for p, d, f in client.walk("/tree")], [("/tree", ["sub"], ["a"]), ("/tree/sub", [], ["b"])])
    check("content", client.content("/tree")["fileCount"], 2)
    check("checksum", client.checksum("/tree/a")["algorithm"], "MD5-of-0MD5-of-512CRC32C")
    client.set_permission("/tree/a", "600")
    client.set_times("/tree/a", modification_time=1000000000000)
    check("time", client.status("/tree/a")["modificationTime"], 1000000000000)
    client.rename("/tree/a", "/tree/c")
    for what, call in {
        "read of nothing": lambda: client.read("/none").__enter__(),
        "write over a file": lambda: client.write("/tree/c", b""),
        "rename of nothing": lambda: client.rename("/none", "/x"),
        "delete of a full directory": lambda: client.delete("/tree"),
        "another home": lambda: client.list("/pfs/local/home/bob"),
    }.items():
        try:
            call()
        except hdfs.HdfsError as e:
            check(what + ": has a message", bool(str(e)), True)
        else:
            sys.exit(what + " succeeds")
    check("delete", client.delete("/tree", recursive=True), True)
    check("delete again", client.delete("/tree", recursive=True), False)

# fsspec, with user.name and with a password, and pandas on it.
for options in [{"user": user}, {"user": user, "password": password, "kerberos": False}] if "fsspec" in parts else []:
    fs = fsspec.filesystem("webhdfs", host=host, port=int(port), skip_instance_cache=True, **options)
    check("home", fs.home_directory(), home)
    d = home + "/fs"
    fs.makedirs(d + "/x/y", exist_ok=True)
    with fs.open(d + "/f", "wb", block_size=1 << 20) as f:
        for i in range(30):
            f.write(bytes([i]) * 100_000)  # in several parts, all sent to one address
    check("size", fs.info(d + "/f")["size"], 3_000_000)
    check("range", fs.cat_file(d + "/f", 99_999, 100_001), b"\0\1")
    with fs.open(d + "/f", "rb") as f:
        f.seek(-3, 2)
        check("end", f.read(), bytes([29]) * 3)
    check("ls", [posixpath.basename(p) for p in sorted(fs.ls(d, detail=False))], ["f", "x"])
    check("du", fs.content_summary(d)["length"], 3_000_000)
    check("checksum", fs.ukey(d + "/f")["algorithm"], "MD5-of-0MD5-of-512CRC32C")
    fs.mv(d + "/f", d + "/g")
    check("moved", (fs.exists(d + "/f"), fs.exists(d + "/g")), (False, True))
    table = pandas.DataFrame({"a": range(1000), "b": ["text %d" % i for i in range(1000)]})
    with fs.open(d + "/t.csv", "wb") as f:
        table.to_csv(f, index=False)
    back = pandas.read_csv("webhdfs://%s:%s%s/t.csv" % (host, port, d), storage_options=options)
    check("pandas", back.equals(table), True)
    fs.rm(d, recursive=True)
    check("removed", fs.exists(d), False)
print("all right")
