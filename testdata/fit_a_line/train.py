"""Linear regression on the UCI housing table: trainers and one parameter server, in plain Python.

The parameter server keeps the weights. Each trainer reads its shards of the dataset, which the variable
DATASET names below $PFS_ROOT, and sends gradients. Trainer 0 writes the model to $PFS_OUTPUT.
"""

import json
import math
import os
import socket
import time
import xmlrpc.client
import xmlrpc.server

import recordio

TRAINERS = int(os.environ["PADDLE_TRAINERS_NUM"])
TRAINER = int(os.environ["PADDLE_TRAINER_ID"])
PASSES = int(os.environ["PADDLE_INIT_NUM_PASSES"])
HOST, PORT = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")[0].split(":")
BATCH, RATE = 50, 0.1


class Server:
    """The state that the trainers share. Calls come one at a time."""

    def __init__(self):
        self.sums = {}  # by trainer: count, sums and sums of squares of each column
        self.weights = []

    def add_sums(self, trainer, sums):
        self.sums[str(trainer)] = sums
        self.weights = [0.0] * len(sums[1])
        return True

    def scale(self):
        """Mean and deviation of each column, or nothing until all trainers have sent their sums."""
        if len(self.sums) < TRAINERS:
            return []
        count = sum(s[0] for s in self.sums.values())
        means = [sum(column) / count for column in zip(*(s[1] for s in self.sums.values()))]
        squares = [sum(column) / count for column in zip(*(s[2] for s in self.sums.values()))]
        return [[m, math.sqrt(s - m * m) or 1.0] for m, s in zip(means, squares)]

    def push(self, gradient):
        self.weights = [w - RATE * g for w, g in zip(self.weights, gradient)]
        return self.weights


def serve():
    server = xmlrpc.server.SimpleXMLRPCServer((HOST, int(PORT)), logRequests=False)
    server.register_instance(Server())
    print("serving at %s:%s" % (HOST, PORT), flush=True)
    server.serve_forever()


def connect():
    """Waits for the parameter server, which starts at the same time."""
    while True:
        try:
            socket.create_connection((HOST, int(PORT))).close()
            return xmlrpc.client.ServerProxy("http://%s:%s" % (HOST, PORT))
        except ConnectionRefusedError:
            time.sleep(0.05)


def train():
    files = os.path.join(os.environ["PFS_ROOT"], os.environ["DATASET"].replace("/pfs/", "", 1), "*-of-*")
    rows = [list(map(float, features)) + target for features, target in recordio.recordio_reader(files, TRAINERS, TRAINER)()]
    print("%d records" % len(rows), flush=True)
    server = connect()
    columns = list(zip(*rows))
    server.add_sums(TRAINER, [len(rows), [sum(c) for c in columns], [sum(v * v for v in c) for c in columns]])
    while not server.scale():
        time.sleep(0.05)
    scale = server.scale()
    rows = [[(v - m) / d for v, (m, d) in zip(row, scale)] for row in rows]
    weights = server.push([0.0] * len(scale))
    for n in range(PASSES):
        loss = 0.0
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            gradient = [0.0] * len(scale)
            for row in batch:
                error = sum(w * x for w, x in zip(weights, row[:-1] + [1.0])) - row[-1]
                loss += error * error
                gradient = [g + error * x / len(batch) for g, x in zip(gradient, row[:-1] + [1.0])]
            weights = server.push(gradient)
        print("pass %d, loss %.4f" % (n, loss / len(rows)), flush=True)
    with open(os.path.join(os.environ["PFS_OUTPUT"], "model.json" if TRAINER == 0 else "loss.json"), "w") as f:
        json.dump({"weights": weights, "scale": scale, "loss": loss / len(rows)}, f)


if os.environ["TRAINING_ROLE"] == "PSERVER":
    serve()
else:
    train()
