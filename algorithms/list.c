/*
 * list.c - the one place that names all algorithms. The first of each collective is its default.
 */
#include "algorithms.h"

/* clang-format off */
const struct algorithm *const algorithms[] = {
    &allreduce_ring,
    &allreduce_recursive_doubling,
    &allreduce_rabenseifner,
    &allreduce_mesh,
    &allreduce_oneshot,
    &allreduce_hier,
    &allreduce_hier_leader,
    &allreduce_ahc,
    &allreduce_ahc_broke,
    &allreduce_pipeline,
    &allgather_ring,
    &allgather_mesh,
    &allgather_hier,
    &allgather_ahc,
    &allgather_pipeline,
    &reduce_scatter_ring,
    &reduce_scatter_mesh,
    &reduce_scatter_hier,
    &reduce_scatter_ahc,
    &reduce_scatter_pipeline,
    &alltoall_pairwise,
    &alltoall_pairwise_xor,
    &alltoall_linear,
    &alltoall_fullmesh,
    &alltoall_scattered,
    &alltoall_ring,
    &alltoall_bruck,
    &alltoall_staged,
    &alltoall_pipeline,
    &alltoall_hier_relay,
    &broadcast_binomial,
    &broadcast_chain,
    &broadcast_linear,
    &broadcast_hier_leader,
    &reduce_binomial,
    &reduce_hier_leader,
    &barrier_dissemination,
    NULL,
};
/* clang-format on */
