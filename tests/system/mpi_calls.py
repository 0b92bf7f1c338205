#!/usr/bin/env python3
"""One rank of an MPI job, without MPI's headers: calls collectives of Open MPI or MPICH, by their shared libraries.

usage: mpi_calls.py openmpi|mpich [COLLECTIVE:]SIZE...

Each collective, or the one that is named, runs at each size (bytes of the larger buffer of a rank), on floats that are
checked. Rank 0 prints "right" at the end."""
import ctypes
import sys

OPEN_MPI = sys.argv[1] == "openmpi"
LIBRARY = ctypes.CDLL("libmpi.so.40" if OPEN_MPI else "libmpich.so.12", mode=ctypes.RTLD_GLOBAL)


def handle(symbol, number):
    """A predefined object: Open MPI has addresses, MPICH numbers."""
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(LIBRARY, symbol))) if OPEN_MPI else ctypes.c_int(number)


WORLD = handle("ompi_mpi_comm_world", 0x44000000)
FLOAT, SUM = handle("ompi_mpi_float", 0x4C00040A), handle("ompi_mpi_op_sum", 0x58000003)
LIBRARY.MPI_Init(None, None)
LIBRARY.MPI_Comm_set_errhandler(WORLD, handle("ompi_mpi_errors_return", 0x54000001))
rank, ranks = ctypes.c_int(), ctypes.c_int()
LIBRARY.MPI_Comm_rank(WORLD, ctypes.byref(rank))
LIBRARY.MPI_Comm_size(WORLD, ctypes.byref(ranks))
rank, ranks = rank.value, ranks.value


def call(name, *arguments):
    if getattr(LIBRARY, "MPI_" + name)(*arguments, WORLD) != 0:
        sys.stderr.write(f"MPI_{name} failed\n")
        LIBRARY.MPI_Abort(WORLD, 1)


def buffers(sent, received):
    """Source of rank+1 in every element, destination of zeros."""
    return (ctypes.c_float * sent)(*[rank + 1] * sent), (ctypes.c_float * received)()


TOTAL = ranks * (ranks + 1) // 2


def allreduce(n, _):
    source, result = buffers(n, n)
    call("Allreduce", source, result, n, FLOAT, SUM)
    assert set(result) == {TOTAL}, "allreduce"


def reduce(n, _):
    source, result = buffers(n, n)
    call("Reduce", source, result, n, FLOAT, SUM, 0)
    assert rank or set(result) == {TOTAL}, "reduce"


def broadcast(n, _):
    source, _ = buffers(n, 0)
    call("Bcast", source, n, FLOAT, 0)
    assert set(source) == {1}, "bcast"


def allgather(_, block):
    source, result = buffers(block, block * ranks)
    call("Allgather", source, block, FLOAT, result, block, FLOAT)
    assert list(result) == [r + 1 for r in range(ranks) for _ in range(block)], "allgather"


def gather(_, block):
    source, result = buffers(block, block * ranks)
    call("Gather", source, block, FLOAT, result, block, FLOAT, 0)
    assert rank or list(result) == [r + 1 for r in range(ranks) for _ in range(block)], "gather"


def scatter(_, block):
    source, result = buffers(block * ranks, block)
    call("Scatter", source, block, FLOAT, result, block, FLOAT, 0)
    assert set(result) == {1}, "scatter"


def alltoall(_, block):
    source, result = buffers(block * ranks, block * ranks)
    call("Alltoall", source, block, FLOAT, result, block, FLOAT)
    assert list(result) == [r + 1 for r in range(ranks) for _ in range(block)], "alltoall"


def reduce_scatter(_, block):
    source, result = buffers(block * ranks, block)
    call("Reduce_scatter", source, result, (ctypes.c_int * ranks)(*[block] * ranks), FLOAT, SUM)
    assert set(result) == {TOTAL}, "reduce_scatter"


def reduce_scatter_block(_, block):
    source, result = buffers(block * ranks, block)
    call("Reduce_scatter_block", source, result, block, FLOAT, SUM)
    assert set(result) == {TOTAL}, "reduce_scatter_block"


def barrier(*_):
    call("Barrier")


CALLS = {run.__name__: run for run in (allreduce, reduce, broadcast, allgather, gather, scatter, alltoall, reduce_scatter,
                                       reduce_scatter_block, barrier)}
for word in sys.argv[2:]:
    name, size = word.split(":") if ":" in word else (None, word)
    for run in [CALLS[name]] if name else CALLS.values():
        run(max(1, int(size) // 4), max(1, int(size) // 4 // ranks))
LIBRARY.MPI_Finalize()
if rank == 0:
    print("right")
