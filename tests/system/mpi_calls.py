#!/usr/bin/env python3
"""One rank of an MPI job, without MPI's headers: calls collectives of Open MPI or MPICH, by their shared libraries.

usage: mpi_calls.py openmpi|mpich SIZE...

Each collective runs at each size (bytes of the larger buffer of a rank), on floats that are checked. Rank 0 prints
"right" at the end."""
import ctypes
import sys

OPEN_MPI, SIZES = sys.argv[1] == "openmpi", [int(word) for word in sys.argv[2:]]
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


total = ranks * (ranks + 1) // 2
for size in SIZES:
    n, block = max(1, size // 4), max(1, size // 4 // ranks)
    source, result = buffers(n, n)
    call("Allreduce", source, result, n, FLOAT, SUM)
    assert set(result) == {total}, "allreduce"
    source, result = buffers(n, n)
    call("Reduce", source, result, n, FLOAT, SUM, 0)
    assert rank or set(result) == {total}, "reduce"
    call("Bcast", source, n, FLOAT, 0)
    assert set(source) == {1}, "bcast"
    for name, root in (("Allgather", ()), ("Gather", (0,))):
        source, result = buffers(block, block * ranks)
        call(name, source, block, FLOAT, result, block, FLOAT, *root)
        assert root and rank or list(result) == [r + 1 for r in range(ranks) for _ in range(block)], name
    source, result = buffers(block * ranks, block)
    call("Scatter", source, block, FLOAT, result, block, FLOAT, 0)
    assert set(result) == {1}, "scatter"
    source, result = buffers(block * ranks, block * ranks)
    call("Alltoall", source, block, FLOAT, result, block, FLOAT)
    assert list(result) == [r + 1 for r in range(ranks) for _ in range(block)], "alltoall"
    source, result = buffers(block * ranks, block)
    call("Reduce_scatter_block", source, result, block, FLOAT, SUM)
    assert set(result) == {total}, "reduce_scatter"
    call("Barrier")
LIBRARY.MPI_Finalize()
if rank == 0:
    print("right")
