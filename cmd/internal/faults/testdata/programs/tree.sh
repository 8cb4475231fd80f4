# A tree with links, modes and times is extracted by tar and copied by rsync; both compare it with the original.
# In the long form it is as large as that of the Linux kernel, or a tenth of it over a cluster.
files=120
[ ! "$LONG" ] || files=80000
[ ! "$LONG" ] || [ ! "$CLUSTER" ] || files=8000
"$PYTHON" - "$SCRATCH/tree" "$files" <<'P'
import os, random, sys
r = random.Random(1)
top, files = sys.argv[1], int(sys.argv[2])
for i in range(files):
    d = os.path.join(top, *("d%d" % r.randrange(12) for _ in range(r.randrange(1, 4))))
    os.makedirs(d, exist_ok=True)
    name = os.path.join(d, "f%d%s" % (i, r.choice(["", " with space", "\u00e9\u4e2d", "\\back", "'quote"])))
    with open(name, "wb") as f:
        f.write(r.randbytes(int(r.expovariate(1 / 13000))))
    os.chmod(name, r.choice([0o644, 0o755, 0o600, 0o444]))
    os.utime(name, ns=(10**18 + i, 10**18 + i * 1000003))
    if LINKS := os.environ.get("LINKS"):
        if i % 20 == 0:
            os.symlink(os.path.basename(name), name + ".sym")
        if i % 50 == 0:
            os.link(name, name + ".hard")
P
tar -C "$SCRATCH" -cf "$SCRATCH/tree.tar" tree
tar -xpf "$SCRATCH/tree.tar"
tar -df "$SCRATCH/tree.tar" # compares contents, modes, owners and times
mkdir copy
rsync -rltpH --checksum tree/ copy/
rsync -rltpH --checksum "$SCRATCH/tree/" copy/
left=$(rsync -rltpHn --delete --checksum --itemize-changes "$SCRATCH/tree/" copy/)
[ -z "$left" ] || { echo "rsync finds differences:"; echo "$left"; exit 1; }
chmod -R u+w tree copy
rm -r tree
[ "$(ls)" = copy ]
