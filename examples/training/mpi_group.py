# SPDX-License-Identifier: BSD-2-Clause
"""
mpi_group - PyTorch's process group over MPI, for a PyTorch that was built without one.

Debian's PyTorch has no MPI backend.  This one is mpi4py behind the interface that PyTorch offers to
backends of other people (torch.distributed.Backend.register_backend): importing this module makes
init_process_group(backend="mpi4py") work, and DistributedDataParallel cannot tell the difference.
Collectives run where they are called, one after the other, so that sums are the same in each run.
"""
import os
import socket

import mpi4py

mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI  # noqa: E402  (initialises MPI, by the line above)
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

_OPS = {
    dist.ReduceOp.SUM: MPI.SUM,
    dist.ReduceOp.MIN: MPI.MIN,
    dist.ReduceOp.MAX: MPI.MAX,
    dist.ReduceOp.PRODUCT: MPI.PROD,
}


class _Done(dist._Work):
    """Work that was over before it was asked for."""

    def __init__(self, result):
        super().__init__()
        self._future = torch.futures.Future()
        self._future.set_result(result)

    def is_completed(self):
        return True

    def is_success(self):
        return True

    def wait(self, timeout=None):
        return True

    def get_future(self):
        return self._future


def _bytes(tensor):
    """The tensor's own memory, for MPI; what is not in one piece would have to be copied."""
    if not tensor.is_contiguous():
        raise ValueError("a tensor that is not contiguous")
    return tensor.detach().numpy()


class MpiGroup(dist.ProcessGroup):
    """One communicator."""

    def __init__(self, comm):
        super().__init__(comm.Get_rank(), comm.Get_size())
        self._comm = comm
        self._done = None

    def _end(self, result):
        # PyTorch 1.13 does not hold on to work that was made in Python; the group does, until the next.
        self._done = _Done(result)
        return self._done

    def getBackendName(self):  # noqa: N802  (PyTorch's name)
        return "mpi4py"

    def allreduce(self, tensors, opts=None):
        op = _OPS[opts.reduceOp if opts is not None else dist.ReduceOp.SUM]
        for tensor in tensors:
            self._comm.Allreduce(MPI.IN_PLACE, _bytes(tensor), op=op)
        return self._end(tensors)

    def broadcast(self, tensors, opts=None):
        root = opts.rootRank if opts is not None else 0
        for tensor in tensors:
            self._comm.Bcast(_bytes(tensor), root=root)
        return self._end(tensors)

    def allgather(self, outputs, inputs, opts=None):
        for parts, tensor in zip(outputs, inputs):
            everything = torch.empty((len(parts),) + tuple(tensor.shape), dtype=tensor.dtype)
            self._comm.Allgather(_bytes(tensor.contiguous()), _bytes(everything))
            for part, came in zip(parts, everything):
                part.copy_(came)
        return self._end(outputs)

    def barrier(self, opts=None):
        self._comm.Barrier()
        return self._end([])


def _create(store, rank, size, timeout):
    comm = MPI.COMM_WORLD
    if (rank, size) != (comm.Get_rank(), comm.Get_size()):
        raise ValueError(f"rank {rank} of {size}, but MPI says {comm.Get_rank()} of {comm.Get_size()}")
    return MpiGroup(comm)


dist.Backend.register_backend("mpi4py", _create)


def init():
    """Like init_process_group, with rank, size and where to meet from MPI."""
    comm = MPI.COMM_WORLD
    here = os.environ.get("WEFT_IPV4") or socket.gethostbyname(socket.gethostname())
    store, at = None, None
    if comm.Get_rank() == 0:
        store = dist.TCPStore(here, 0, comm.Get_size(), True, wait_for_workers=False)
        at = (here, store.port)
    host, port = comm.bcast(at)
    if store is None:
        store = dist.TCPStore(host, port, comm.Get_size(), False)
    dist.init_process_group("mpi4py", store=store, rank=comm.Get_rank(), world_size=comm.Get_size())
