/*
 * accept_fleet.h - a fleet that answers the stages of `cctest accept` at once: a coordinator in the
 * place of that of controlplane/agents/. A test that includes it is a program of its own.
 */
#ifndef CCTEST_TESTS_ACCEPT_FLEET_H
#define CCTEST_TESTS_ACCEPT_FLEET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accept/internal.h"

#define HOSTS_MOST 33
#define AGENTS     2 /* of a host */
#define SPLIT_RUNS 3 /* few pairs, few others, and all of them */
#define WAITED_UP(share)                                                                           \
    "; ranks waited for their cores in up to " share " of the time, which does not count"

/* ---- the coordinator in place of that of controlplane/agents/ ---- */

/* The halves that it has seen. */
struct splits {
    int runs;
    int size;              /* pairs of a run of few; not by switch */
    bool few[HOSTS_MOST];  /* by host: it was among few of the present split, */
    int peers[HOSTS_MOST]; /* with this host */
};

struct coordinator {
    struct roster roster;
    struct fleet_host hosts[HOSTS_MOST];
    struct known_agent known[HOSTS_MOST * AGENTS];
    int agents[HOSTS_MOST * AGENTS];
    double share;      /* of its bandwidth, that a pair has when all exchange, */
    int passing;       /* in so many runs; 0: in all */
    double waited;     /* share of its time that a second host then waits; not in the second pair */
    double few_waited; /* and when few exchange */
    unsigned congested;               /* half of that behind these switches, as bits */
    const struct switch_level *level; /* NULL: there are no switches */
    bool parts;                       /* pairs of an even and an odd host have half of it, */
    int parts_most;                   /* in so many of the runs that try parts; 0: in all */
    int parts_runs;                   /* so far */
    struct splits splits;
    struct device_changes now[HOSTS_MOST]; /* what each host has counted, */
    double clocks[HOSTS_MOST];             /* and its clock, seconds */
    int cores[HOSTS_MOST];                 /* that its inventory tells; 0: it tells nothing; */
    bool threads[HOSTS_MOST];              /* and 16 hardware threads */
    bool mute;                             /* the first host does not tell what it has counted */
    double all_us[2], all_waited[2];       /* of allreduce and alltoall of all, and a rank's wait */
    /* Copies and sums that a host measures, the first time and the second, GB/s; 0: it has 10. */
    double copies[HOSTS_MOST][2], sums[HOSTS_MOST][2];
    int self_looks[HOSTS_MOST]; /* so far */
    bool pairs;                 /* jobs are those of pairs: */
    int checked;                /* so many of them check each iteration */
    bool fails;                 /* a worker of each job ends with an error */
    double seconds;             /* that the last jobs may take */
    double stall_seconds;       /* after which the last job says what it waits for; 0: not given */
};

static inline int host_of(const struct coordinator *coordinator, int agent)
{
    assert_int_equal(agent % AGENTS, 0); /* the first of its host */
    return coordinator->roster.agents[agent].host;
}

/* The bandwidth of a pair when few exchange. Pairs differ, and their shares are exact. */
static inline double rate_of(const struct coordinator *coordinator, int a, int b)
{
    return coordinator->parts ? 10 : ldexp(1, a + 2 * b);
}

static inline double share_of(const struct coordinator *coordinator, int a, int b)
{
    const struct switch_level *level = coordinator->level;
    bool is_cut = level && level->switches[a] != level->switches[b] &&
                  (coordinator->congested >> level->switches[a] |
                   coordinator->congested >> level->switches[b]) &
                      1;
    if (coordinator->passing > 0 && coordinator->splits.runs >= coordinator->passing)
        return 1;
    bool ends = coordinator->parts_most > 0 && coordinator->parts_runs >= coordinator->parts_most;
    is_cut |= coordinator->parts && !ends && (a - b) % 2 != 0;
    return is_cut ? coordinator->share / 2 : coordinator->share;
}

/* A pair of a run. Each run of few has other pairs of the split. The run of all has them too. */
static inline void pair_see(struct splits *splits, bool few, int a, int b)
{
    if (few) {
        assert_false(splits->few[a] || splits->few[b]);
        splits->few[a] = splits->few[b] = true;
        splits->peers[a] = b;
        splits->peers[b] = a;
    } else if (splits->few[a] || splits->few[b]) {
        assert_int_equal(splits->peers[a], b);
        assert_int_equal(splits->peers[b], a);
    }
}

static inline void run_see(const struct coordinator *coordinator, const struct fleet_job *job,
                           bool few)
{
    int hosts[HOSTS_MOST] = {0}, switches[HOSTS_MOST] = {0};
    bool by_switch = coordinator->level && coordinator->splits.runs >= 3 * SPLIT_RUNS;
    for (int r = 0; r < job->ranks; r++) {
        int host = host_of(coordinator, job->agents[r]);
        assert_int_equal(hosts[host]++, 0);
        if (by_switch && few)
            assert_int_equal(switches[coordinator->level->switches[host]]++, 0);
    }
    if (few && !by_switch)
        assert_int_equal(job->ranks / 2, coordinator->splits.size);
}

/* The pairs of a job exchange. */
static inline json_t *pairs_exchange(struct coordinator *coordinator, const struct fleet_job *job)
{
    struct splits *splits = &coordinator->splits;
    bool parts = !coordinator->level && splits->runs == 6 * SPLIT_RUNS; /* after all splits */
    bool few = !parts && splits->runs % SPLIT_RUNS < SPLIT_RUNS - 1;
    json_t *groups = json_array(), *samples = json_array();
    if (splits->runs % SPLIT_RUNS == 0)
        memset(splits->few, 0, sizeof splits->few);
    if (!parts)
        run_see(coordinator, job, few);
    for (int r = 0; r < job->ranks; r += 2) {
        int a = host_of(coordinator, job->agents[r]), b = host_of(coordinator, job->agents[r + 1]);
        if (!parts)
            pair_see(splits, few, a, b);
        bool waits = coordinator->waited > 0 && r != 2;
        bool whole = few || (coordinator->waited > 0 && !waits);
        double rate = rate_of(coordinator, a, b) * (whole ? 1 : share_of(coordinator, a, b));
        json_array_append_new(groups, json_pack("{s:f}", "busbw_GBps", rate));
        json_array_append_new(samples, json_pack("{s:n}", "core_wait_share"));
        json_array_append_new(samples, json_pack("{s:f}", "core_wait_share",
                                                 few     ? coordinator->few_waited
                                                 : waits ? coordinator->waited
                                                         : 0));
    }
    splits->runs += !parts;
    coordinator->parts_runs += parts;
    return json_pack("{s:s, s:[{s:s, s:i, s:o, s:o}]}", "status", "ok", "results", "collective",
                     "sendrecv", "bytes", 4096, "groups", groups, "samples", samples);
}

/* All ranks run both collectives; the last one waits for its core. */
static inline json_t *all_run_both(const struct coordinator *coordinator,
                                   const struct fleet_job *job)
{
    static const char *const names[] = {"allreduce", "alltoall"};
    json_t *results = json_array();
    for (int c = 0; c < 2; c++) {
        json_t *samples = json_array();
        for (int r = 0; r < job->ranks; r++)
            json_array_append_new(samples,
                                  json_pack("{s:f}", "core_wait_share",
                                            r < job->ranks - 1 ? 0 : coordinator->all_waited[c]));
        json_array_append_new(results, json_pack("{s:s, s:i, s:{s:f}, s:o}", "collective", names[c],
                                                 "bytes", 1 << 20, "time_us", "p50",
                                                 coordinator->all_us[c], "samples", samples));
    }
    return json_pack("{s:s, s:o}", "status", "ok", "results", results);
}

/* A host measures its memory, or its GPUs, of which it has none. */
static inline json_t *self_measure(struct coordinator *coordinator, const struct fleet_job *job)
{
    int host = host_of(coordinator, job->agents[0]);
    json_t *results = json_array();
    if (strcmp(job->command, WORK_CPU) == 0) {
        int look = coordinator->self_looks[host]++ > 0;
        double copy = coordinator->copies[host][look], sum = coordinator->sums[host][look];
        json_array_append_new(results, json_pack("{s:s, s:i, s:f}", "collective", "copy", "bytes",
                                                 1, "GBps", copy > 0 ? copy : 10));
        json_array_append_new(results, json_pack("{s:s, s:i, s:f}", "collective", "sum", "bytes", 1,
                                                 "GBps", sum > 0 ? sum : 10));
    }
    return json_pack("{s:s, s:o}", "status", "ok", "results", results);
}

static inline void result_put(struct fleet_outcome *outcome, struct bytes *bytes)
{
    outcome->size = bytes->size;
    outcome->result = calloc(bytes->size + 1, 1);
    assert_non_null(outcome->result);
    memcpy(outcome->result, bytes->data, bytes->size);
    bytes_free(bytes);
}

static inline void job_run(struct coordinator *coordinator, const struct fleet_job *job,
                           struct fleet_outcome *outcome)
{
    outcome->ends = calloc((size_t)job->ranks, sizeof *outcome->ends); /* all exited well */
    assert_non_null(outcome->ends);
    if (strcmp(job->command, WORK_COUNTERS) == 0) {
        struct bytes bytes = {0};
        device_changes_encode(&coordinator->now[host_of(coordinator, job->agents[0])],
                              COUNTER_OTHER, &bytes);
        result_put(outcome, &bytes);
        if (coordinator->mute && host_of(coordinator, job->agents[0]) == 0)
            outcome->ends[0].code = STATUS_ERROR;
        return;
    }
    if (strcmp(job->command, WORK_INVENTORY) == 0) {
        struct inventory inventory = {.count = 0};
        struct bytes bytes = {0};
        int host = host_of(coordinator, job->agents[0]);
        bytes_put_u64(&bytes, (uint64_t)(1e9 * coordinator->clocks[host]));
        if (coordinator->cores[host] > 0)
            inventory_add_number(&inventory, PART_HOST, "", "cpu.cores", coordinator->cores[host],
                                 0);
        if (coordinator->threads[host])
            inventory_add_number(&inventory, PART_HOST, "", "cpu.threads", 16, 0);
        inventory_encode(&inventory, &bytes);
        inventory_free(&inventory);
        result_put(outcome, &bytes);
        return;
    }
    bool alone = strcmp(job->command, WORK_CPU) == 0 || strcmp(job->command, WORK_GPUS) == 0;
    json_t *document = alone ? self_measure(coordinator, job)
                       : coordinator->pairs || coordinator->fails
                           ? json_pack("{s:s, s:[]}", "status", "ok", "results")
                       : coordinator->all_us[0] > 0 ? all_run_both(coordinator, job)
                                                    : pairs_exchange(coordinator, job);
    coordinator->checked += strstr(job->command, " -c all ") != NULL;
    const char *stall = strstr(job->command, "--timeout ");
    coordinator->stall_seconds = stall ? strtod(stall + strlen("--timeout "), NULL) : 0;
    if (coordinator->fails)
        outcome->ends[1].code = STATUS_ERROR;
    outcome->result = json_dumps(document, 0);
    assert_non_null(outcome->result);
    outcome->size = strlen(outcome->result);
    json_decref(document);
}

enum status coordinator_run(struct coordinator *coordinator, const char *stage,
                            const struct fleet_job *jobs, int count, double seconds,
                            coordinator_progress *progress, void *argument,
                            struct fleet_outcome **outcomes)
{
    (void)stage, (void)progress, (void)argument;
    coordinator->seconds = seconds;
    *outcomes = calloc((size_t)count, sizeof **outcomes);
    assert_non_null(*outcomes);
    for (int j = 0; j < count; j++)
        job_run(coordinator, &jobs[j], &(*outcomes)[j]);
    return STATUS_OK;
}

void coordinator_outcomes_free(struct fleet_outcome *outcomes, int count)
{
    for (int j = 0; j < count; j++) {
        free(outcomes[j].result);
        free(outcomes[j].ends);
    }
    free(outcomes);
}

const struct roster *coordinator_roster(const struct coordinator *coordinator)
{
    return &coordinator->roster;
}

/* Only accept_run(), which does not run here, calls these two. */
enum status coordinator_open(const struct membership *membership, const struct agent_config *config,
                             struct coordinator **coordinator)
{
    (void)membership, (void)config, (void)coordinator;
    return STATUS_ERROR;
}

void coordinator_close(struct coordinator *coordinator, enum status status)
{
    (void)coordinator, (void)status;
}

/* ---- a fleet ---- */

static struct coordinator fleet;

static inline struct acceptance fleet_open(int hosts)
{
    static const struct job job = {.transports_text = "tcp"};
    static const struct accept_options asked = {.false_alarms = FALSE_ALARMS};
    static char names[HOSTS_MOST][8];
    static const char *labels[HOSTS_MOST];
    fleet = (struct coordinator){.share = 1};
    fleet.roster = (struct roster){.ranks = hosts * AGENTS,
                                   .present = hosts * AGENTS,
                                   .agents = fleet.known,
                                   .hosts = fleet.hosts,
                                   .host_count = hosts};
    for (int h = 0; h < hosts; h++) {
        snprintf(names[h], sizeof names[h], "h%d", h);
        labels[h] = names[h];
        fleet.hosts[h].agents = &fleet.agents[h * AGENTS];
        fleet.hosts[h].count = AGENTS;
        for (int a = h * AGENTS; a < (h + 1) * AGENTS; a++) {
            fleet.agents[a] = a;
            fleet.known[a].host = h;
        }
    }
    struct acceptance acceptance = {.memory = arena_create(),
                                    .stage_memory = arena_create(),
                                    .job = &job,
                                    .asked = &asked,
                                    .options = "",
                                    .coordinator = &fleet,
                                    .roster = &fleet.roster,
                                    .labels = labels,
                                    .until = INFINITY,
                                    .message_bytes = 4096,
                                    .seed = 1};
    acceptance.stages[0].jobs = json_array();
    return acceptance;
}

static inline void fleet_close(struct acceptance *acceptance)
{
    fleet_free(acceptance->fleet);
    if (acceptance->leaves.inferred)
        switch_level_free(&acceptance->leaves);
    findings_free(&acceptance->findings);
    json_decref(acceptance->stages[0].jobs);
    arena_free(acceptance->memory);
    arena_free(acceptance->stage_memory);
}

#endif
