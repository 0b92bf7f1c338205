/*
 * nccl.c - NVIDIA's NCCL, to compare with: its collective runs in place of a schedule.
 *
 * Nothing of it is cctest's. NCCL chooses its own algorithm, protocol, channels and links, and
 * shows none of them here. The collectives that it has functions for are called by them. The others
 * are groups of its sends and receives, as nccl-tests makes them.
 *
 * Used by: nccl-tests, PyTorch, JAX.
 */
#include "algorithms/algorithms.h"

#define OWN "NCCL's own"

const struct algorithm collectives_nccl = {
    .name = "nccl",
    .collectives = SERVES(ALLREDUCE) | SERVES(ALLGATHER) | SERVES(REDUCE_SCATTER) |
                   SERVES(BROADCAST) | SERVES(REDUCE),
    .summary = "NVIDIA's library, not cctest's: its own collective, for -m cuda",
    .rounds = OWN,
    .sent = OWN,
    .users = "nccl-tests",
    .vendor = "nccl",
};

const struct algorithm exchanges_nccl = {
    .name = "nccl",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV) | SERVES(ALLGATHERV) | SERVES(GATHER) |
                   SERVES(GATHERV) | SERVES(SCATTER) | SERVES(SCATTERV),
    .summary = "NVIDIA's library, not cctest's: a group of its sends and receives, for -m cuda",
    .rounds = OWN,
    .sent = OWN,
    .users = "nccl-tests",
    .vendor = "nccl",
};

/* The pattern of nccl-tests. */
static int next_partner(const struct choice *choice, int rank, int ranks)
{
    (void)choice;
    return (rank + 1) % ranks;
}

const struct algorithm sendrecv_nccl = {
    .name = "nccl",
    .collectives = SERVES(SENDRECV),
    .summary = "NVIDIA's library, not cctest's: every rank sends to the next, for -m cuda",
    .rounds = OWN,
    .sent = OWN,
    .users = "nccl-tests",
    .partner = next_partner,
    .vendor = "nccl",
};
