/*
 * auto.c - the choice of `-a auto`: the first row that fits.
 *
 * The rows are a rule of thumb for most machines, similar to the tables of MPICH, Open MPI, NCCL
 * and HCCL. Small messages get few steps, large ones few bytes; between them log p steps that still
 * send the minimum. On several nodes, large messages use hierarchical algorithms. The rule knows
 * nothing about the machine: `-a all` finds the fastest. It never picks `pipeline`, which pays off
 * only if both levels are busy at once.
 *
 * Sizes are the sizes that tables print: for alltoall, gather and scatter, of one block.
 */
#include "algorithms/algorithms.h"

#include "collective/collective.h"

enum wanted { ANYTHING, EVEN_NODES, UNEVEN_NODES, POWER_OF_TWO };

struct auto_rule {
    unsigned collectives;
    size_t bytes_most; /* 0: any */
    int ranks_most;    /* 0: any */
    enum wanted wanted;
    const char *algorithm;
    const char *why;
};

#define K               1024u
#define COMBINES_ALL    (SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV))
#define GATHERS_ALL     (SERVES(ALLGATHER) | SERVES(ALLGATHERV))
#define EXCHANGES       (SERVES(ALLTOALL) | SERVES(ALLTOALLV))
#define FROM_OR_TO_ROOT (SERVES(GATHER) | SERVES(GATHERV) | SERVES(SCATTER) | SERVES(SCATTERV))

/* clang-format off */
static const struct auto_rule rules[] = {
    {SERVES(ALLREDUCE), 8 * K, 8, ANYTHING, "oneshot", "small, few ranks: one step"},
    {SERVES(ALLREDUCE), 32 * K, 0, ANYTHING, "recursive-doubling", "small: log2 p steps"},
    {SERVES(ALLREDUCE), 512 * K, 0, POWER_OF_TWO, "rabenseifner",
     "medium, a power of two: 2 log2 p steps, fewest bytes"},
    {SERVES(ALLREDUCE), 512 * K, 0, ANYTHING, "nhr",
     "medium: 2 ceil(log2 p) steps, fewest bytes"},
    {SERVES(ALLREDUCE), 0, 0, EVEN_NODES, "hier",
     "large, on several nodes: every rail carries its share"},
    {SERVES(ALLREDUCE), 0, 0, UNEVEN_NODES, "ahc", "large, on nodes of several sizes"},
    {SERVES(ALLREDUCE), 0, 0, ANYTHING, "ring", "large: fewest bytes, to neighbours only"},

    {COMBINES_ALL | GATHERS_ALL, 32 * K, 8, ANYTHING, "mesh", "small, few ranks: one step"},
    {COMBINES_ALL | GATHERS_ALL, 512 * K, 0, ANYTHING, "nhr",
     "medium: log2 p steps, fewest bytes"},
    {COMBINES_ALL | GATHERS_ALL, 0, 0, EVEN_NODES, "hier",
     "large, on several nodes: every rail carries its share"},
    {COMBINES_ALL | GATHERS_ALL, 0, 0, UNEVEN_NODES, "ahc", "large, on nodes of several sizes"},
    {COMBINES_ALL | GATHERS_ALL, 0, 0, ANYTHING, "ring",
     "large: fewest bytes, to neighbours only"},

    {SERVES(BROADCAST) | SERVES(REDUCE), 32 * K, 0, ANYTHING, "binomial", "small: log2 p steps"},
    {SERVES(BROADCAST) | SERVES(REDUCE), 0, 0, EVEN_NODES, "hier",
     "large, on several nodes: every rail carries its share"},
    {SERVES(BROADCAST) | SERVES(REDUCE), 0, 0, UNEVEN_NODES, "hier-leader",
     "large, on nodes of several sizes"},
    {SERVES(BROADCAST), 0, 0, ANYTHING, "chain", "large: streamed, every rank sends it once"},
    {SERVES(REDUCE), 0, 0, ANYTHING, "rabenseifner", "large: few bytes, shared work"},

    {FROM_OR_TO_ROOT, 2 * K, 0, ANYTHING, "binomial", "small blocks: log2 p steps"},
    {FROM_OR_TO_ROOT, 0, 0, ANYTHING, "linear", "large blocks: each is sent once"},

    {EXCHANGES, 512, 8, ANYTHING, "linear", "small blocks, few ranks: one step"},
    {SERVES(ALLTOALL), 512, 0, ANYTHING, "bruck", "small blocks: log2 p steps"},
    {EXCHANGES, 8 * K, 0, EVEN_NODES, "staged",
     "small blocks, on several nodes: few messages between them"},
    {EXCHANGES, 32 * K, 0, ANYTHING, "scattered", "medium blocks: many peers at a time"},
    {EXCHANGES, 0, 0, ANYTHING, "pairwise", "large blocks: one partner at a time, no contention"},

    {SERVES(SENDRECV), 0, 0, ANYTHING, "ring-shift", "what nccl-tests measures"},
    {SERVES(BARRIER), 0, 0, ANYTHING, "dissemination", "log2 p steps"},
};
/* clang-format on */

static bool problem_fits(const struct problem *problem, enum wanted wanted)
{
    const struct shape *shape = problem->shape;
    if (wanted == ANYTHING)
        return true;
    if (wanted == POWER_OF_TWO)
        return (problem->ranks & (problem->ranks - 1)) == 0;
    return shape && shape->groups > 1 && shape->groups < problem->ranks &&
           shape->uniform == (wanted == EVEN_NODES);
}

/* The size that the rules compare. */
static size_t rule_bytes(const struct problem *problem, size_t bytes)
{
    bool by_block = (EXCHANGES | FROM_OR_TO_ROOT) >> problem->collective->id & 1;
    return by_block ? bytes / (size_t)problem->ranks : bytes;
}

const struct algorithm *algorithm_auto(const struct problem *problem, size_t bytes,
                                       const char **why)
{
    size_t size = rule_bytes(problem, bytes);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct auto_rule *rule = &rules[i];
        char refusal[256];
        if (!(rule->collectives >> problem->collective->id & 1) ||
            (rule->bytes_most && size > rule->bytes_most) ||
            (rule->ranks_most && problem->ranks > rule->ranks_most) ||
            !problem_fits(problem, rule->wanted))
            continue;
        const struct algorithm *algorithm =
            algorithm_find(problem->collective->id, rule->algorithm);
        struct choice choice = choice_of(algorithm);
        if (choice_refuses(&choice, problem, refusal, sizeof refusal))
            continue;
        *why = rule->why;
        return algorithm;
    }
    return NULL;
}
