/*
 * simulator.c - how long a collective takes, by the schedules and the costs of a model.
 */
#include "predict/simulate/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define PHASES             5   /* in which cores that ranks share are simulated */
#define SETTLE_ITERATIONS  3   /* simulated before the one that counts, where there is a barrier */
#define BARRIER_RANKS_MOST 256 /* more ranks, of which each is simulated, all begin at once */

/* Two pairs of ranks of one kind are as far from each other, over rails of the same numbers. */
static int kind_of(const void *context, int rank, int peer)
{
    const struct simulation *simulation = context;
    enum rank_distance distance = engine_distance(simulation, rank, peer);
    if (distance != DISTANCE_NETWORK || !simulation->rail)
        return (int)distance;
    return DISTANCES + simulation->rail[rank] * LINK_MODELS_MOST + simulation->rail[peer];
}

/* Ranks that share cores wait for each other, so they are not alike. */
static bool ranks_share_cores(const struct simulation *simulation)
{
    int ranks = simulation_ranks(simulation), cores = simulation->model->cores, most = 0;
    int *count = calloc((size_t)ranks + 1, sizeof *count);
    for (int r = 0; r < ranks && count; r++) {
        int *host = &count[simulation->node ? simulation->node[r] : 0];
        most = ++*host > most ? *host : most;
    }
    free(count);
    return !count || most > cores;
}

/* Until the last rank of a group has ended. */
static double group_time(const struct sim_engine *engine, const struct problem *problem)
{
    double longest = 0;
    /* Rank 0 does, of the only group. */
    bool stands_for_all = engine->programs->symmetry != SYMMETRY_NONE;
    for (int i = 0; i < (stands_for_all ? 1 : problem->ranks); i++) {
        int rank = stands_for_all ? 0 : problem_member(problem, i);
        double time = engine->rank[rank].end - engine->rank[rank].begun;
        longest = time > longest ? time : longest;
    }
    return longest;
}

static enum status result_take(struct sim_engine *engine, struct simulated *simulated)
{
    const struct programs *programs = engine->programs;
    if (engine->failed)
        return fail(STATUS_ERROR, "out of memory for a simulation of %d ranks: use fewer",
                    programs->ranks);
    if (engine->is_long)
        return fail(STATUS_ERROR, "to simulate it takes more than %llu events: use cctest predict",
                    (unsigned long long)engine->simulation->events_most);
    *simulated = (struct simulated){.first = engine->rank[0].end - engine->rank[0].begun,
                                    .ranks = (int)engine->ranks,
                                    .symmetry = programs->symmetry};
    for (uint32_t r = 0; r < engine->ranks; r++) {
        if (engine->rank[r].left > 0)
            return fail(
                STATUS_ERROR,
                "rank %u waits for ever in the simulation, which is a fault of cctest or of "
                "the algorithm: report the command line",
                r);
        double time = engine->rank[r].end - engine->rank[r].begun;
        if (time > simulated->time) {
            simulated->time = time;
            simulated->slowest = (int)r;
        }
    }
    const struct simulation *simulation = engine->simulation;
    for (int g = 0; g < simulation->groups && simulation->group_time; g++)
        simulation->group_time[g] = group_time(engine, &simulation->problem[g]);
    return STATUS_OK;
}

/* `ended`: of each rank, filled in; NULL: not asked for. */
static enum status phase_simulate(const struct simulation *simulation,
                                  const struct programs *programs, double phase,
                                  struct simulated *simulated, double *ended)
{
    struct sim_engine engine;
    if (simulation->step_end)
        memset(simulation->step_end, 0, (size_t)simulation->steps * sizeof *simulation->step_end);
    TRY(engine_open(simulation, programs, phase, &engine));
    engine_run(&engine);
    enum status status = result_take(&engine, simulated);
    for (uint32_t r = 0; r < engine.ranks && ended; r++)
        ended[r] = engine.rank[r].end;
    engine_close(&engine);
    return status;
}

/* Where cores stand in their rounds is another matter in each iteration: the median counts. */
static enum status phases_simulate(const struct simulation *simulation,
                                   const struct programs *programs, struct simulated *simulated)
{
    double time[PHASES];
    enum status status = STATUS_OK;
    for (int i = 0; i < PHASES && status == STATUS_OK; i++) {
        status = phase_simulate(simulation, programs, (double)i / PHASES, simulated, NULL);
        time[i] = simulated->time;
    }
    for (int i = 0; i < PHASES && status == STATUS_OK; i++) {
        int less = 0;
        for (int k = 0; k < PHASES; k++)
            less += time[k] < time[i] || (time[k] == time[i] && k < i);
        if (less == PHASES / 2)
            return phase_simulate(simulation, programs, (double)i / PHASES, simulated, NULL);
    }
    return status;
}

/* Iterations until the leads of ranks are those that last. Rank 0 comes to the first barrier long
 * after all others, as it does in a run. */
static enum status releases_settle(struct simulation *simulation, const struct programs *programs,
                                   double *released)
{
    struct simulated simulated;
    enum status status = STATUS_OK;
    released[0] = 1e9;
    for (int i = 0; i <= SETTLE_ITERATIONS && status == STATUS_OK; i++) {
        if (!release_find(simulation, released, released))
            return fail(STATUS_ERROR, "out of memory for %d ranks", programs->ranks);
        simulation->released = released;
        if (i < SETTLE_ITERATIONS)
            status = phase_simulate(simulation, programs, 0, &simulated, released);
    }
    return status;
}

static bool has_barrier(const struct simulation *simulation)
{
    const int ranks = simulation_ranks(simulation);
    bool several = false;
    for (int r = 0; r < ranks && simulation->node; r++)
        several |= simulation->node[r] > 0;
    return simulation->barrier && several && ranks <= BARRIER_RANKS_MOST;
}

/* The ranks of each host take so many things in turn, its cores or rails: which each rank has.
 * NULL: out of memory. */
static int *turns_deal(const struct simulation *simulation, int things)
{
    int ranks = simulation_ranks(simulation);
    int *taken = calloc((size_t)ranks, sizeof *taken),
        *count = calloc((size_t)ranks, sizeof *count);
    for (int r = 0; r < ranks && taken && count; r++)
        taken[r] = count[simulation->node ? simulation->node[r] : 0]++ % things;
    if (!count) {
        free(taken);
        taken = NULL;
    }
    free(count);
    return taken;
}

static enum status dealt_simulate(struct simulation *simulation, struct simulated *simulated)
{
    struct programs programs;
    bool shared = ranks_share_cores(simulation), barrier = has_barrier(simulation);
    bool alike = !simulation->each_rank && !simulation->topology && !shared && !barrier;
    const struct program_source source = {.choice = simulation->choice,
                                          .problem = simulation->problem,
                                          .groups = simulation->groups,
                                          .channels = simulation->channels,
                                          .symmetric = alike,
                                          .kind = kind_of,
                                          .context = simulation,
                                          .operations_most = engine_operations_most()};
    double *released = calloc((size_t)simulation_ranks(simulation), sizeof *released);
    simulation->events_most /= (barrier ? SETTLE_ITERATIONS : 0) + (shared ? PHASES + 1 : 1);
    if (!released)
        return fail(STATUS_ERROR, "out of memory for %d ranks", simulation_ranks(simulation));
    enum status status = programs_open(&source, &programs);
    if (status == STATUS_OK && barrier)
        status = releases_settle(simulation, &programs, released);
    if (status == STATUS_OK)
        status = shared ? phases_simulate(simulation, &programs, simulated)
                        : phase_simulate(simulation, &programs, 0, simulated, NULL);
    programs_close(&programs);
    free(released);
    return status;
}

enum status simulate(const struct simulation *simulation, struct simulated *simulated)
{
    struct simulation dealt = *simulation;
    const struct model *model = simulation->model;
    int *core = NULL, *rail = NULL, rails = model_rails(model, simulation->transports);
    bool needs_core = !dealt.core && model->caches > 1, needs_rail = !dealt.rail && rails > 1;
    if (needs_core)
        dealt.core = core = turns_deal(simulation, model->cores);
    if (needs_rail)
        dealt.rail = rail = turns_deal(simulation, rails);
    enum status status =
        (needs_core && !core) || (needs_rail && !rail)
            ? fail(STATUS_ERROR, "out of memory for %d ranks", simulation_ranks(simulation))
            : dealt_simulate(&dealt, simulated);
    free(core);
    free(rail);
    return status;
}
