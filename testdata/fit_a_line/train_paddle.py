"""Linear regression on the UCI housing table with PaddlePaddle: collective trainers, resumable.

The variable DATASET names the dataset below $PFS_ROOT. Trainer 0 writes a checkpoint with the cursor of
the data; a further attempt of the job goes on from there. Each trainer writes the records that it has
read to $PFS_OUTPUT/read.jsonl. FAIL_AT names a step at which trainer 1 kills itself in the first attempt.
"""

import glob
import json
import os
import signal

import numpy
import paddle
import paddle.distributed as dist
import recordio

OUTPUT = os.environ["PFS_OUTPUT"]
ATTEMPT = int(os.environ["PFS_ATTEMPT"])
PASSES = int(os.environ["PADDLE_INIT_NUM_PASSES"])
BATCH = int(os.environ["BATCH"])  # of one trainer
FAIL_AT = int(os.environ.get("FAIL_AT", "-1"))
SAVE_EVERY = 4

# Of the columns of the table: the average and the range.
SCALE = numpy.array(
    [
        [3.61, 89.0], [11.4, 100.0], [11.1, 27.3], [0.07, 1.0], [0.55, 0.49], [6.28, 5.22], [68.6, 97.1],
        [3.80, 11.0], [9.55, 23.0], [408.0, 524.0], [18.5, 9.4], [357.0, 397.0], [12.7, 36.2],
    ],
    dtype="float32",
)  # fmt: skip


def checkpoint():
    """Returns the newest checkpoint of earlier attempts whose outputs are committed."""
    for attempt in range(ATTEMPT - 1, 0, -1):
        at = "%s/attempts/%d/trainer-0/" % (os.environ["PFS_JOB_DIR"], attempt)
        if glob.glob(at + "_SUCCESS") + glob.glob(at + "_FAILED") and os.path.exists(at + "checkpoint"):
            return paddle.load(at + "checkpoint")
    return None


dist.init_parallel_env()
rank, world = dist.get_rank(), dist.get_world_size()
paddle.seed(1)
line = paddle.nn.Linear(13, 1)
for p in line.parameters():
    p.set_value(paddle.zeros_like(p))
rate = 0.1
first, cursor = 0, 0
saved = checkpoint()
if saved:
    line.set_state_dict(saved["model"])
    first, cursor = int(saved["pass"]), int(saved["cursor"])
    print("resumed at pass %d, record %d" % (first, cursor), flush=True)

data = os.path.join(os.environ["PFS_ROOT"], os.environ["DATASET"].replace("/pfs/", "", 1))
log = open(os.path.join(OUTPUT, "read.jsonl"), "w")
step = 0
for n in range(first, PASSES):
    records = recordio.stream(data, seed=1, epoch=n, shuffle="global", equal="exact", cursor=cursor)
    loss, count, steps, batch = 0.0, 0, 0, []
    # All trainers have the same number of records, so they meet in every step.
    for record in records:
        batch.append(record)
        steps += 1
        if len(batch) < BATCH:
            continue
        features = (numpy.array([list(r[0]) for r in batch], dtype="float32") - SCALE[:, 0]) / SCALE[:, 1]
        target = numpy.array([r[1] for r in batch], dtype="float32")
        for r in batch:
            log.write(json.dumps({"pass": n, "record": [float(v) for v in list(r[0]) + list(r[1])]}) + "\n")
        error = paddle.nn.functional.mse_loss(line(paddle.to_tensor(features)), paddle.to_tensor(target))
        error.backward()
        for p in line.parameters():
            gradient = p.grad.clone()
            if world > 1:
                dist.all_reduce(gradient)
            p.set_value(p - rate * gradient / world)
            p.clear_gradient()
        total = paddle.to_tensor([float(error)])
        if world > 1:
            dist.all_reduce(total)
        loss, count, step, batch = loss + float(total[0]) / world, count + 1, step + 1, []
        if step % SAVE_EVERY == 0:
            log.flush()
            if rank == 0:
                state = {"model": line.state_dict(), "pass": n, "cursor": records.cursor_after(steps)}
                paddle.save(state, os.path.join(OUTPUT, "checkpoint.new"))
                os.rename(os.path.join(OUTPUT, "checkpoint.new"), os.path.join(OUTPUT, "checkpoint"))
        if step == FAIL_AT and ATTEMPT == 1 and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    cursor = 0
    print("pass %d, loss %.4f" % (n, loss / count), flush=True)
log.close()
if rank == 0:
    with open(os.path.join(OUTPUT, "model.json"), "w") as f:
        json.dump({"weight": line.weight.numpy().tolist(), "bias": line.bias.numpy().tolist(), "loss": loss / count}, f)
