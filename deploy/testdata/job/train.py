"""Linear regression by trainers and a parameter server, or trainer 0 in its place, with the standard library only.

$PFS_OUTPUT gets the records that this trainer read, and the model. MODE says what else happens: "fail" ends the first run of
trainer 1 with exit code 3, and "memory" has it use too much memory. With "wait" the trainers go on until SIGTERM or SIGUSR1,
and look at the dataset meanwhile; with "idle" they do not look; with "once" only the first runs do so. With "round" parameter
servers end by themselves when they have served a round, three seconds before the trainers. BIG is the size in MiB of
an output that is written last.
"""
import encodings.idna  # a connection would import it, from a package whose service may be away then
import json
import os
import signal
import socket
import sys
import threading
import time

import recordio

ENV = os.environ
MODE, OUTPUT, INDEX = ENV.get("MODE", ""), ENV["PFS_OUTPUT"], int(ENV["PFS_INDEX"])
FIRST = ENV["PFS_ATTEMPT"] == "1" and ENV["PFS_RESTART"] == "0"
TRAINERS = int(ENV["PADDLE_TRAINERS_NUM"])
answered = threading.Event()


def write(name, text):
    with open(os.path.join(OUTPUT, name), "w") as f:
        f.write(text)


def serve():
    """Adds up what all trainers send in a round, and answers each with the sum."""
    port = int(ENV["PADDLE_CURRENT_ENDPOINT"].rsplit(":", 1)[1])
    listener = socket.create_server(("", port))
    print("serving", flush=True)
    while True:
        waiting, total = [], [0.0] * 5
        while len(waiting) < TRAINERS:
            f = listener.accept()[0].makefile("rw")
            part = json.loads(f.readline())
            total = [a + b for a, b in zip(total, part)]
            waiting.append(f)
        for f in waiting:
            f.write(json.dumps(total) + "\n")
            f.close()
        answered.set()
        if MODE == "round":
            return


def combine(part):
    """Returns the sum of the parts of all trainers."""
    servers = ENV.get("PADDLE_PSERVERS_IP_PORT_LIST")
    if servers:
        return [exchange(server, part) for server in servers.split(",")][0]
    if INDEX == 0:
        threading.Thread(target=serve, daemon=True).start()
    total = exchange(ENV["PADDLE_TRAINER_ENDPOINTS"].split(",")[0], part)
    if INDEX == 0:
        answered.wait()
    return total


def exchange(server, part):
    """Sends a part to a server and returns its answer."""
    host, port = server.split(":")
    for _ in range(600):
        try:
            s = socket.create_connection((host, int(port)), 5)
            break
        except OSError:  # it has not started, or has no name yet
            time.sleep(0.1)
    s.settimeout(None)  # a peer may be starting again
    f = s.makefile("rw")
    f.write(json.dumps(part) + "\n")
    f.flush()
    return json.loads(f.readline())


def train():
    part, records = [0.0] * 5, []
    for line in recordio.recordio_reader(ENV["DATA"] + "/train-*", parallelism=TRAINERS, trainer_id=INDEX, decode="raw")():
        number, x, y = line.decode().split()
        x, y = float(x), float(y)
        records.append(number)
        part = [a + b for a, b in zip(part, [1, x, y, x * x, x * y])]
    print(len(records), "records read", flush=True)
    write("records", "".join(r + "\n" for r in records))
    if FIRST and INDEX == 1:
        if MODE == "fail":
            time.sleep(2)
            sys.exit(3)
        if MODE == "memory":
            hog = [bytearray(1 << 20) for _ in range(1 << 20)]
            print(len(hog))
    if MODE in ("wait", "idle") or MODE == "once" and FIRST:
        def end(*_):
            write("last", "the last words of trainer %d" % INDEX)
            sys.exit(0)
        signal.signal(signal.SIGTERM, end)
        on = []
        signal.signal(signal.SIGUSR1, lambda *_: on.append(True))
        print("waiting", flush=True)
        while not on:
            time.sleep(0.2)
            if MODE == "wait":
                os.listdir(ENV["DATA"])
    n, sx, sy, sxx, sxy = combine(part)
    slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
    write("model", json.dumps({"records": n, "slope": slope}))
    with open(os.path.join(OUTPUT, "big"), "wb") as f:
        for i in range(int(ENV.get("BIG", "0"))):
            f.write(b"%08d" % i * (1 << 17))
    print("trained", flush=True)
    if MODE == "round":
        time.sleep(3)


if ENV["PFS_ROLE"] == "pserver":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    serve()
else:
    train()
