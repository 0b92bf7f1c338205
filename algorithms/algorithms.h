/*
 * algorithms.h - all algorithms, by family.
 *
 * To add one: write it in the file of its family (or a new one), declare it here and name it in
 * list.c. The command line, the list, the verifier, the shaker and the system tests then include
 * it.
 */
#ifndef CCTEST_ALGORITHMS_H
#define CCTEST_ALGORITHMS_H

#include "collective/schedule/schedule.h"

/* pairwise.c */
extern const struct algorithm alltoall_pairwise, alltoall_pairwise_xor, alltoall_pairwise_factor,
    reduce_scatter_pairwise;
/* nccl.c */
extern const struct algorithm collectives_nccl, exchanges_nccl, sendrecv_nccl;
extern const struct algorithm alltoall_nccl_p2p;
/* direct.c */
extern const struct algorithm alltoall_linear, alltoall_fullmesh, alltoall_scattered;
extern const struct algorithm allgather_mesh, reduce_scatter_mesh, allreduce_mesh,
    allreduce_oneshot, broadcast_mesh, reduce_mesh;
/* ring.c */
extern const struct algorithm allgather_ring, reduce_scatter_ring, allreduce_ring, scatter_ring,
    gather_ring;
extern const struct algorithm allgather_ring_bidir, reduce_scatter_ring_bidir, allreduce_ring_bidir,
    allreduce_ring_multi;
extern const struct algorithm alltoall_ring, alltoall_ring_bidir;
/* bruck.c */
extern const struct algorithm alltoall_bruck, alltoall_bruck_zero, alltoallv_padded_bruck,
    allgather_bruck;
/* nonuniform.c */
extern const struct algorithm reduce_scatter_nb, reduce_scatter_nhr, reduce_scatter_pat;
extern const struct algorithm allgather_nb, allgather_nhr, allgather_pat;
extern const struct algorithm allreduce_nb, allreduce_nhr, allreduce_pat;
extern const struct algorithm scatter_nb, scatter_nhr, gather_nb, gather_nhr;
extern const struct algorithm broadcast_nb, broadcast_nhr, reduce_nb, reduce_nhr;
/* circulant.c */
extern const struct algorithm reduce_scatter_circulant, allgather_circulant, allreduce_circulant,
    broadcast_scatter_circulant, reduce_circulant_rsg;
extern const struct algorithm broadcast_circulant, reduce_circulant, allgather_circulant_pipe;
/* neighbor.c */
extern const struct algorithm allgather_neighbor;
/* swing.c */
extern const struct algorithm reduce_scatter_swing, allgather_swing, allreduce_swing,
    allreduce_swing_lat, broadcast_swing;
/* torus.c */
extern const struct algorithm allreduce_torus2d, allreduce_nhr_v1;
/* sendrecv.c */
extern const struct algorithm sendrecv_ring_shift, sendrecv_pingpong, sendrecv_uni, sendrecv_bidir,
    sendrecv_pairs;
/* doubling.c */
extern const struct algorithm allreduce_recursive_doubling, allreduce_rabenseifner,
    allreduce_rhd_far;
extern const struct algorithm reduce_rabenseifner, reduce_rhd, broadcast_rhd, broadcast_scatter_rd;
extern const struct algorithm reduce_scatter_rec_halving, reduce_scatter_butterfly,
    reduce_scatter_rec_doubling;
extern const struct algorithm allgather_recursive_doubling, barrier_recursive_doubling;
/* knomial.c */
extern const struct algorithm allreduce_recexch, allreduce_sra_knomial;
extern const struct algorithm reduce_srg_knomial, broadcast_sag_knomial;
extern const struct algorithm reduce_scatter_knomial, allgather_knomial;
/* tree.c */
extern const struct algorithm broadcast_linear, broadcast_chain, broadcast_chain_k,
    broadcast_binomial, broadcast_binomial_near, broadcast_knomial, broadcast_binary;
extern const struct algorithm reduce_linear, reduce_chain, reduce_binomial, reduce_knomial,
    reduce_binary, reduce_in_order_binary;
extern const struct algorithm allreduce_linear, allreduce_binomial, allreduce_knomial,
    allreduce_binary_tree, allreduce_tree;
extern const struct algorithm barrier_central, barrier_tree;
/* scatter.c */
extern const struct algorithm scatter_linear, scatter_binomial, scatter_knomial;
extern const struct algorithm gather_linear, gather_binomial, gather_knomial;
extern const struct algorithm allgather_gather_bcast, reduce_scatter_linear, broadcast_scatter_ring,
    reduce_ring_gather;
/* double_tree.c */
extern const struct algorithm broadcast_dbt, reduce_dbt, allreduce_dbt;
extern const struct algorithm broadcast_split_binary;
/* barrier.c */
extern const struct algorithm barrier_dissemination, barrier_double_ring;
/* hier.c */
extern const struct algorithm allreduce_hier, reduce_scatter_hier, allgather_hier, broadcast_hier,
    reduce_hier, scatter_hier, gather_hier, allreduce_hier_leader, broadcast_hier_leader,
    reduce_hier_leader;
/* ahc.c */
extern const struct algorithm allreduce_ahc, allreduce_ahc_broke, reduce_scatter_ahc, allgather_ahc;
/* pipeline.c */
extern const struct algorithm allreduce_pipeline, reduce_scatter_pipeline, allgather_pipeline,
    alltoall_pipeline;
/* staged.c */
extern const struct algorithm alltoall_staged, alltoall_hier_relay;

/* Kernels that several families share. */

/* ring.c: kernels as in algorithms/common/common.h, p-1 rounds. A partial result must not lie in
 * memory that may hold another unsent one. */
void ring_reduce_scatter_on(struct builder *b, const struct group *g, const struct view *source,
                            const struct view *partial);
void ring_allgather_on(struct builder *b, const struct group *g, const struct view *all);

/* scatter.c: a kernel, ceil(log2 p) rounds, subtrees are runs of ranks that begin at the root. */
void binomial_scatter_on(struct builder *b, const struct group *g, int root,
                         const struct view *kept);

/* pairwise.c: p-1 rounds, one partner each. */
void pairwise_alltoall(struct builder *b, const struct call *call);

#endif
