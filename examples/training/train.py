# SPDX-License-Identifier: BSD-2-Clause
"""
train - a small language model learns a text, one replica per rank (DistributedDataParallel).

    mpirun -np 4 python3 train.py --steps 100

An ordinary training script: nothing in it knows which network it runs on.  Same seed, same steps and
same number of ranks end in the same parameters to the last bit, and their SHA-256 says so.  Rank 0
prints one line of JSON per step and one at the end.
"""
import argparse
import hashlib
import json
import sys
import time

import mpi_group
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CONTEXT = 32  # characters that the model sees


class Model(nn.Module):
    """The next character from the last CONTEXT ones."""

    def __init__(self, letters, width):
        super().__init__()
        self.embed = nn.Embedding(letters, 32)
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(32 * CONTEXT, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, letters),
        )

    def forward(self, text):
        return self.layers(self.embed(text))


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3", help="what to learn")
    parser.add_argument("--width", type=int, default=512, help="of both hidden layers")
    parser.add_argument("--batch", type=int, default=32, help="examples per rank and step")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def say(**fields):
    if dist.get_rank() == 0:
        print(json.dumps(fields), flush=True)


def digest(model):
    total = hashlib.sha256()
    for parameter in model.state_dict().values():
        total.update(parameter.numpy().tobytes())
    return total.hexdigest()


def main():
    args = options()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(args.seed)
    mpi_group.init()

    with open(args.text, encoding="utf-8") as file:
        text = file.read()
    letters = sorted(set(text))
    number = {letter: i for i, letter in enumerate(letters)}
    data = torch.tensor([number[letter] for letter in text])

    model = DistributedDataParallel(Model(len(letters), args.width))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    draw = torch.Generator().manual_seed(args.seed * 1000003 + dist.get_rank())
    say(
        ranks=dist.get_world_size(),
        parameters=sum(p.numel() for p in model.parameters()),
        at=time.monotonic_ns(),
    )
    for step in range(args.steps):
        start = time.monotonic_ns()
        first = torch.randint(len(data) - CONTEXT - 1, (args.batch,), generator=draw)
        inputs = torch.stack([data[i : i + CONTEXT] for i in first])
        targets = torch.stack([data[i + CONTEXT] for i in first])
        optimizer.zero_grad()
        loss = loss_of(model(inputs), targets)
        loss.backward()  # and the gradients of all ranks are summed meanwhile
        optimizer.step()
        say(step=step, at=start, ns=time.monotonic_ns() - start, loss=round(loss.item(), 4))
    dist.barrier()

    # The replicas are the same, or the last line never comes.
    mine = digest(model.module)
    same = torch.tensor([int(mine[:15], 16), -int(mine[:15], 16)])
    dist.all_reduce(same, op=dist.ReduceOp.MAX)
    if same[0] != -same[1]:
        sys.exit("train: the replicas differ")
    say(sha256=mine, at=time.monotonic_ns())


if __name__ == "__main__":
    main()
