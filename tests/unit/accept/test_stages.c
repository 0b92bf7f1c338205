/*
 * test_stages.c - stages of `cctest accept` on a fleet that answers at once: the values that pairs
 * get when few and when many exchange, and counters that grow. The coordinator is this test's.
 * tier: check; load: cpu1; program: own
 */
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
#define WITHOUT    "; without the time in which ranks waited for their cores, up to "

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
    double share;                     /* of its bandwidth, that a pair has when all exchange, */
    int passing;                      /* in so many runs; 0: in all */
    double waited; /* share of its time that a second host then waits; not in the second pair */
    double few_waited;                /* and when few exchange */
    int congested;                    /* half of that behind this switch; -1: none */
    const struct switch_level *level; /* NULL: there are no switches */
    bool parts;                       /* pairs of an even and an odd host have half of it, */
    int parts_most;                   /* in so many of the runs that try parts; 0: in all */
    int parts_runs;                   /* so far */
    struct splits splits;
    struct device_changes now[HOSTS_MOST]; /* what each host has counted, */
    double clocks[HOSTS_MOST];             /* and its clock, seconds */
    bool mute;                             /* the first host does not tell what it has counted */
    double all_us, all_waited;             /* of the collectives of all, and the wait of a rank */
    bool pairs;                            /* jobs are those of pairs: */
    int checked;                           /* so many of them check each iteration */
};

static int host_of(const struct coordinator *coordinator, int agent)
{
    assert_int_equal(agent % AGENTS, 0); /* the first of its host */
    return coordinator->roster.agents[agent].host;
}

/* The bandwidth of a pair when few exchange. Pairs differ, and their shares are exact. */
static double rate_of(const struct coordinator *coordinator, int a, int b)
{
    return coordinator->parts ? 10 : ldexp(1, a + 2 * b);
}

static double share_of(const struct coordinator *coordinator, int a, int b)
{
    const struct switch_level *level = coordinator->level;
    bool is_cut = level && (level->switches[a] == coordinator->congested) !=
                               (level->switches[b] == coordinator->congested);
    if (coordinator->passing > 0 && coordinator->splits.runs >= coordinator->passing)
        return 1;
    bool ends = coordinator->parts_most > 0 && coordinator->parts_runs >= coordinator->parts_most;
    is_cut |= coordinator->parts && !ends && (a - b) % 2 != 0;
    return is_cut ? coordinator->share / 2 : coordinator->share;
}

/* A pair of a run. Each run of few has other pairs of the split. The run of all has them too. */
static void pair_see(struct splits *splits, bool few, int a, int b)
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

static void run_see(const struct coordinator *coordinator, const struct fleet_job *job, bool few)
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
static json_t *pairs_exchange(struct coordinator *coordinator, const struct fleet_job *job)
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
static json_t *all_run_both(const struct coordinator *coordinator, const struct fleet_job *job)
{
    static const char *const names[] = {"allreduce", "alltoall"};
    json_t *results = json_array();
    for (int c = 0; c < 2; c++) {
        json_t *samples = json_array();
        for (int r = 0; r < job->ranks; r++)
            json_array_append_new(samples,
                                  json_pack("{s:f}", "core_wait_share",
                                            r < job->ranks - 1 ? 0 : coordinator->all_waited));
        json_array_append_new(results, json_pack("{s:s, s:i, s:{s:f}, s:o}", "collective", names[c],
                                                 "bytes", 1 << 20, "time_us", "p50",
                                                 coordinator->all_us, "samples", samples));
    }
    return json_pack("{s:s, s:o}", "status", "ok", "results", results);
}

static void result_put(struct fleet_outcome *outcome, struct bytes *bytes)
{
    outcome->size = bytes->size;
    outcome->result = calloc(bytes->size + 1, 1);
    assert_non_null(outcome->result);
    memcpy(outcome->result, bytes->data, bytes->size);
    bytes_free(bytes);
}

static void job_run(struct coordinator *coordinator, const struct fleet_job *job,
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
        const struct inventory nothing = {.count = 0};
        struct bytes bytes = {0};
        bytes_put_u64(&bytes,
                      (uint64_t)(1e9 * coordinator->clocks[host_of(coordinator, job->agents[0])]));
        inventory_encode(&nothing, &bytes);
        result_put(outcome, &bytes);
        return;
    }
    json_t *document = coordinator->pairs ? json_pack("{s:s, s:[]}", "status", "ok", "results")
                       : coordinator->all_us > 0 ? all_run_both(coordinator, job)
                                                 : pairs_exchange(coordinator, job);
    coordinator->checked += strstr(job->command, " -c all ") != NULL;
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
    (void)stage, (void)seconds, (void)progress, (void)argument;
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

static struct acceptance fleet_open(int hosts)
{
    static const struct job job = {.transports_text = "tcp"};
    static const struct accept_options asked = {.false_alarms = FALSE_ALARMS};
    static char names[HOSTS_MOST][8];
    static const char *labels[HOSTS_MOST];
    fleet = (struct coordinator){.share = 1, .congested = -1};
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

static void fleet_close(struct acceptance *acceptance)
{
    fleet_free(acceptance->fleet);
    if (acceptance->leaves.inferred)
        switch_level_free(&acceptance->leaves);
    findings_free(&acceptance->findings);
    json_decref(acceptance->stages[0].jobs);
    arena_free(acceptance->memory);
    arena_free(acceptance->stage_memory);
}

/* ---- halves ---- */

static void halve(struct acceptance *acceptance, struct stage_result *result)
{
    const struct fleet_config config = {.hosts = acceptance->roster->host_count};
    acceptance->fleet = fleet_create(&config, NULL, 0);
    *result = (struct stage_result){.stage = STAGE_HALVES};
    assert_int_equal(halves_run(acceptance, result), STATUS_OK);
}

/* Each pair is compared with itself. One of 8 pairs is few, and one host of an odd number rests. */
static void pairs_are_compared_with_themselves(void **state)
{
    (void)state;
    static const double shares[] = {1, 0.9, SHARE_LEAST, 0.79};
    for (int hosts = 31; hosts <= HOSTS_MOST; hosts++) {
        for (int i = 0; i < 4; i++) {
            struct acceptance acceptance = fleet_open(hosts);
            struct stage_result result;
            char text[STAGE_TEXT_MOST];
            fleet.share = shares[i];
            fleet.splits.size = hosts / 2 / 8;
            halve(&acceptance, &result);
            assert_int_equal(fleet.splits.runs, (shares[i] < SHARE_LEAST ? 2 : 1) * 3 * SPLIT_RUNS);
            snprintf(text, sizeof text,
                     "pairs have, of what they have when few exchange: %d random halves of %d "
                     "hosts: %.0f%%",
                     shares[i] < SHARE_LEAST ? 6 : 3, hosts, 100 * shares[i]);
            assert_string_equal(result.text, text);
            assert_int_equal(acceptance.findings.count, shares[i] < SHARE_LEAST);
            fleet_close(&acceptance);
        }
    }
}

/* The finding names both parts where no switches are known. */
static void parts_with_a_slow_way_between_them_are_named(void **state)
{
    (void)state;
    struct acceptance acceptance = fleet_open(32);
    struct stage_result result;
    fleet.parts = true;
    fleet.splits.size = 2;
    halve(&acceptance, &result);
    assert_int_equal(fleet.splits.runs, 2 * 3 * SPLIT_RUNS);
    assert_int_equal(acceptance.findings.count, 1);
    const struct found *found = &acceptance.findings.items[0];
    assert_int_equal(found->kind, FOUND_NETWORK);
    assert_string_equal(
        found->text,
        "all: the pairs between h[0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30] and "
        "h[1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31] are slower than those inside, 5 GB/s of 10 "
        "where 16 of them exchange at once: the network between these parts is slow, or they share "
        "too little of it");
    fleet_close(&acceptance);
}

/* What is slow across the first time, and not the second time, is no part. */
static void parts_are_tried_twice(void **state)
{
    (void)state;
    struct acceptance acceptance = fleet_open(32);
    struct stage_result result;
    fleet.parts = true;
    fleet.parts_most = 2;
    fleet.splits.size = 2;
    halve(&acceptance, &result);
    assert_int_equal(fleet.parts_runs, 4);
    assert_int_equal(acceptance.findings.count, 1);
    assert_non_null(strstr(acceptance.findings.items[0].text, "the network between them is"));
    fleet_close(&acceptance);
}

/* A congestion that the second measurement does not show is not told. */
static void congestion_that_passes_is_not_told(void **state)
{
    (void)state;
    struct acceptance acceptance = fleet_open(32);
    struct stage_result result;
    fleet.share = 0.5;
    fleet.passing = 3 * SPLIT_RUNS;
    fleet.splits.size = 2;
    halve(&acceptance, &result);
    assert_int_equal(fleet.splits.runs, 2 * 3 * SPLIT_RUNS);
    assert_string_equal(result.text, "pairs have, of what they have when few exchange: 6 random "
                                     "halves of 32 hosts: 75%");
    assert_int_equal(acceptance.findings.count, 0);
    fleet_close(&acceptance);
}

/* A pair that has half of its bandwidth has it all, if one end waits half of the time for its core
 * where all exchange, and not where few do. Where few wait long, nothing is told. */
static void waits_for_cores_are_no_congestion(void **state)
{
    (void)state;
    static const struct {
        double share, waited, few_waited;
        const char *said;
        int findings;
        enum stage_state state;
    } cases[] = {
        {0.5, 0.5, 0, "3 random halves of 32 hosts: 100%" WITHOUT "50%", 0, STAGE_DONE},
        {0.5, 0.75, 0.3, "3 random halves of 32 hosts: 100%" WITHOUT "75%", 0, STAGE_DONE},
        {0.3, 0.25, 0, "6 random halves of 32 hosts: 40%" WITHOUT "25%", 1, STAGE_DONE},
        {0.6, 0.25, 0.05, "6 random halves of 32 hosts: 76%" WITHOUT "25%", 1, STAGE_DONE},
        {0.6, 0.05, 0.08, "6 random halves of 32 hosts: 60%", 1, STAGE_DONE},
        {0.6, 0.25, 0.5, "3 random halves of 32 hosts: 60%" WITHOUT "25%", 0, STAGE_PARTLY},
        {0.88, 0.09, 0, "3 random halves of 32 hosts: 97%", 0, STAGE_DONE},
        {0.5, 1, 0, "3 random halves of 32 hosts: 100%" WITHOUT "99%", 0, STAGE_DONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct acceptance acceptance = fleet_open(32);
        struct stage_result result;
        char text[STAGE_TEXT_MOST];
        fleet.share = cases[i].share;
        fleet.waited = cases[i].waited;
        fleet.few_waited = cases[i].few_waited;
        fleet.splits.size = 2;
        halve(&acceptance, &result);
        snprintf(text, sizeof text, "pairs have, of what they have when few exchange: %s",
                 cases[i].said);
        assert_string_equal(result.text, text);
        assert_int_equal(result.state, cases[i].state);
        assert_string_equal(result.why, cases[i].state == STAGE_DONE
                                            ? ""
                                            : "whether the network is congested: ranks wait for "
                                              "their cores in 50% of the time where few exchange");
        assert_int_equal(acceptance.findings.count, cases[i].findings);
        fleet_close(&acceptance);
    }
}

/* Four hosts of 1 GB/s and 10 us, two ranks each: an allreduce of 1 MiB takes 3/2 MiB / (1 GB/s) at
 * least, an alltoall as long. Twice that, and the latency of 14 or 7 steps, is explained. */
static void collectives_of_all_are_explained_by_waits(void **state)
{
    (void)state;
    static const struct {
        double us, waited;
        int findings;
        enum status status;
        const char *says;
    } cases[] = {{3200, 0, 0, STATUS_OK, ""},
                 {3300, 0, 2, STATUS_SLOW, "look at what many at once share"},
                 {3300, 0.1, 2, STATUS_OK, "rank 7 (h3) waited for its core in 10% of the time"},
                 {6000, 0.4, 2, STATUS_SLOW, "look at what many at once share"},
                 {6000, 0.5, 2, STATUS_OK, "rank 7 (h3) waited for its core in 50% of the time"}};
    struct reading readings[24];
    int count = 0;
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++)
            for (int m = 0; from != to && m < 2; m++)
                readings[count++] = (struct reading){.from = from,
                                                     .to = to,
                                                     .metric = m ? METRIC_BOTH : METRIC_LATENCY,
                                                     .value = m ? 1 : 10};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct fleet_config config = {.hosts = 4, .rails = 1};
        struct acceptance acceptance = fleet_open(4);
        struct stage_result result = {.stage = STAGE_ALL};
        acceptance.fleet = fleet_create(&config, readings, (size_t)count);
        acceptance.rails.count = 1;
        fleet.all_us = cases[i].us;
        fleet.all_waited = cases[i].waited;
        assert_int_equal(all_run(&acceptance, &result), STATUS_OK);
        assert_int_equal(acceptance.findings.count, cases[i].findings);
        for (int f = 0; f < acceptance.findings.count; f++) {
            assert_int_equal(acceptance.findings.items[f].status, cases[i].status);
            assert_non_null(strstr(acceptance.findings.items[f].text, cases[i].says));
        }
        fleet_close(&acceptance);
    }
}

/* Behind switches of 8, 8, 4 and 8 hosts. */
static void switch_that_is_congested_is_named(void **state)
{
    (void)state;
    char names[4][3], *name[4];
    int switches[28];
    struct switch_level level = {.count = 4, .name = name, .switches = switches};
    for (int s = 0; s < 4; s++) {
        snprintf(names[s], sizeof names[s], "s%d", s & 3);
        name[s] = names[s];
    }
    for (int h = 0; h < 28; h++)
        switches[h] = h < 16 ? h / 8 : h < 20 ? 2 : 3;
    struct acceptance acceptance = fleet_open(28);
    struct stage_result result;
    acceptance.leaves = level;
    fleet.level = &level;
    fleet.congested = 2;
    fleet.splits.size = 1;
    halve(&acceptance, &result);
    assert_int_equal(fleet.splits.runs, 3 * 3 * SPLIT_RUNS);
    assert_non_null(strstr(result.text, "3 random halves of 28 hosts: 100%, "));
    assert_non_null(strstr(result.text, ", 6 halves by switch of 4 switches: "));
    assert_int_equal(acceptance.findings.count, 1);
    assert_string_equal(acceptance.findings.items[0].text,
                        "all: when 12 pairs of hosts behind different switches exchange at once, "
                        "those behind s2 have 50% of what they have when few exchange (least: "
                        "80%): the links between this switch and the others are congested");
    fleet_close(&acceptance);
}

/* ---- counters ---- */

static void counts(int host, const char *device, const char *counter, enum counter_class class,
                   uint64_t value)
{
    struct device_changes *now = &fleet.now[host];
    for (int d = 0; d < now->count; d++) {
        if (strcmp(now->devices[d].name, device) == 0) {
            counter_add(&now->devices[d].counters, counter, class, value);
            return;
        }
    }
    counter_add(device_changes_add(now, device), counter, class, value);
}

static void counts_clear(int host)
{
    device_changes_free(&fleet.now[host]);
    fleet.now[host] = (struct device_changes){.count = 0};
}

/* Each host has counted so much more than the base. */
static void all_count(uint64_t base, const uint64_t faulty[], const uint64_t congested[], int hosts)
{
    for (int h = 0; h < hosts; h++) {
        counts_clear(h);
        counts(h, "eth0", "rx_errors", COUNTER_FAULTY, base + faulty[h]);
        counts(h, "eth0", "pause_frames", COUNTER_CONGESTED, base + congested[h]);
        counts(h, "eth0", "packets", COUNTER_OTHER, 100 * base);
        counts(h, "mlx5_0:1", "symbol_error", COUNTER_FAULTY, base + (faulty[h] > 1 ? 7 : 0));
        counts(h, "mlx5_0:1", "np_cnp_sent", COUNTER_CONGESTED, base + congested[h]);
    }
}

/* Errors that grow are a finding of the stage. Signs of a busy network are kept, and are none. */
static void errors_are_found_and_congestion_is_kept(void **state)
{
    (void)state;
    enum { HOSTS = 5 };
    static const uint64_t none[HOSTS] = {0};
    static const uint64_t faulty[HOSTS] = {0, 0, 1, 2, 3}, congested[HOSTS] = {0, 4, 0, 0, 5};
    static const int devices[HOSTS] = {0, 2, 1, 2, 2};
    static const char *const texts[] = {
        "h2 counted in stage pairs: eth0: rx_errors 1",
        "h3 counted in stage pairs: eth0: rx_errors 2; mlx5_0:1: symbol_error 7",
        "h4 counted in stage pairs: eth0: rx_errors 3; mlx5_0:1: symbol_error 7"};
    struct acceptance acceptance = fleet_open(HOSTS);
    int kept[HOSTS] = {0};
    all_count(10, none, none, HOSTS); /* before the first look: of no stage */
    assert_int_equal(counting_look(&acceptance, STAGE_INVENTORY), STATUS_OK);
    assert_int_equal(acceptance.growth.count + acceptance.findings.count, 0);
    all_count(10, faulty, congested, HOSTS);
    assert_int_equal(counting_look(&acceptance, STAGE_PAIRS), STATUS_OK);
    assert_int_equal(counting_look(&acceptance, STAGE_HALVES), STATUS_OK); /* nothing more */
    assert_int_equal(acceptance.findings.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(acceptance.findings.items[i].host, 2 + i);
        assert_int_equal(acceptance.findings.items[i].stage, STAGE_PAIRS);
        assert_string_equal(acceptance.findings.items[i].text, texts[i]);
    }
    for (int i = 0; i < acceptance.growth.count; i++)
        kept[acceptance.growth.items[i].host]++;
    assert_memory_equal(kept, devices, sizeof kept);
    for (int h = 0; h < HOSTS; h++)
        device_changes_free(&fleet.now[h]);
    counting_free(&acceptance);
    fleet_close(&acceptance);
}

/* A host whose counters could not be read twice in a row is suspect, and is not asked again. */
static void counters_that_cannot_be_read_are_told(void **state)
{
    (void)state;
    static const bool mute[] = {false, true, false, true, false, true, true, true};
    struct acceptance acceptance = fleet_open(2);
    for (size_t i = 0; i < sizeof mute / sizeof *mute; i++) {
        fleet.mute = mute[i];
        assert_int_equal(counting_look(&acceptance, STAGE_PAIRS), STATUS_OK);
        assert_int_equal(acceptance.findings.count, i >= 6);
    }
    assert_int_equal(acceptance.findings.items[0].host, 0);
    assert_int_equal(acceptance.findings.items[0].health, HEALTH_SUSPECT);
    counting_free(&acceptance);
    fleet_close(&acceptance);
}

/* A host that comes and goes explains what its links showed; but not wrong data, and a host that
 * rank 0 (on h0) does not hear explains nothing of its link with h0. */
static void hosts_that_come_and_go_explain_their_links(void **state)
{
    (void)state;
    static const struct {
        enum found_kind kind;
        enum health health;
        int host, peer;
        enum status status;
        bool explained;
        enum found_kind of_link;
        bool lost;
    } cases[] = {{FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_TIMEOUT, true, FOUND_FAILED, false},
                 {FOUND_CARRIER, HEALTH_BAD, 3, 1, STATUS_SLOW, true, FOUND_SLOW_PATH, false},
                 {FOUND_STOPPED, HEALTH_BAD, 0, 3, STATUS_SLOW, true, FOUND_SLOW_PATH, false},
                 {FOUND_UNHEARD, HEALTH_BAD, 3, 2, STATUS_SLOW, true, FOUND_SLOW_PATH, false},
                 {FOUND_UNHEARD, HEALTH_BAD, 3, 0, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_UNHEARD, HEALTH_BAD, 0, 3, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_CARRIER, HEALTH_SUSPECT, 1, 3, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 2, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_RATE, HEALTH_BAD, 1, 3, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_SLOW, false, FOUND_MTU, false},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_SLOW, false, FOUND_LOSS, false},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_TIMEOUT, false, FOUND_FAILED, true},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_WRONG_DATA, false, FOUND_FAILED, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct acceptance acceptance = fleet_open(4);
        struct found link = {.kind = cases[i].of_link,
                             .loss = cases[i].lost,
                             .host = cases[i].host,
                             .peer = cases[i].peer,
                             .health = HEALTH_SUSPECT,
                             .status = cases[i].status,
                             .text = "link"};
        findings_add(&acceptance.findings, &link);
        stage_finds(&acceptance, STAGE_ALL, cases[i].kind, 3, cases[i].health, STATUS_SLOW, "h3");
        links_judge(&acceptance);
        const struct found *judged = &acceptance.findings.items[0];
        assert_int_equal(judged->health, cases[i].explained ? HEALTH_GOOD : HEALTH_SUSPECT);
        assert_int_equal(judged->status, cases[i].explained ? STATUS_OK : cases[i].status);
        assert_string_equal(judged->text,
                            cases[i].explained ? "link; what is found of h3 explains it" : "link");
        assert_int_equal(acceptance.findings.items[1].health, cases[i].health);
        fleet_close(&acceptance);
    }
}

/* ---- pairs ---- */

/* Data may be altered now and then: each iteration is checked, in both jobs of a pair. */
static void each_iteration_of_a_pair_is_checked(void **state)
{
    (void)state;
    struct acceptance acceptance = fleet_open(4);
    struct pair_jobs jobs = {.acceptance = &acceptance};
    const struct host_pair pairs[] = {{.a = 0, .b = 3}, {.a = 2, .b = 1}};
    fleet.pairs = true;
    acceptance.rails.count = 1;
    assert_int_equal(pair_jobs_run(&jobs, STAGE_PAIRS, pairs, 2, 1), STATUS_OK);
    assert_int_equal(fleet.checked, 2 * 2);
    failed_jobs_free(&jobs.failed);
    free(acceptance.readings.items);
    fleet_close(&acceptance);
}

/* ---- clocks ---- */

/* Beside that of most hosts; where no majority agrees, none is blamed. */
static void a_clock_that_is_far_off_is_told(void **state)
{
    (void)state;
    static const double now = 1.7e9;
    static const double off[][5] = {
        {0, 14, -14, 1}, {0, -11.4 * 3600, 1, 90, 2}, {0, 14}, {5, 21.5}, {0, 0, 5400, 5400}};
    static const int hosts[] = {4, 5, 2, 2, 4};
    static const char *const texts[5][2] = {
        {NULL, NULL},
        {"h1: its clock is 11.4 h behind that of most hosts",
         "h3: its clock is 89.0 s ahead of that of most hosts"},
        {NULL, NULL},
        {"all: the clocks of the hosts are up to 16.5 s apart, and no majority agrees", NULL},
        {"all: the clocks of the hosts are up to 90.0 min apart, and no majority agrees", NULL}};
    for (int i = 0; i < 5; i++) {
        struct acceptance acceptance = fleet_open(hosts[i]);
        struct stage_result result = {.stage = STAGE_INVENTORY};
        int count = 0;
        for (int h = 0; h < hosts[i]; h++)
            fleet.clocks[h] = now + off[i][h];
        assert_int_equal(inventory_run(&acceptance, &result), STATUS_OK);
        for (; count < 2 && texts[i][count]; count++)
            assert_string_equal(acceptance.findings.items[count].text, texts[i][count]);
        assert_int_equal(acceptance.findings.count, count);
        if (count > 0)
            assert_int_equal(acceptance.findings.items[0].host, count > 1 ? 1 : -1);
        fleet_close(&acceptance);
    }
}

/* ---- faults that come and go ---- */

static void check_findings(const struct acceptance *acceptance, const char *const *texts, int count)
{
    assert_int_equal(acceptance->findings.count, count);
    for (int i = 0; i < count; i++)
        assert_string_equal(acceptance->findings.items[i].text, texts[i]);
}

/* Not for what was sent again, and not where all hosts count them. */
static void packets_that_arrive_twice_are_told(void **state)
{
    (void)state;
    enum { HOSTS = 5 };
    static const struct {
        uint64_t resent, sent, came;
    } counted[4][HOSTS] = {
        {{5, 3, 0}, {900, 850, 90}, {0, 0, 760}, {2, 1, 4}, {0, 0, 0}}, /* h1 sent them again */
        {{5, 3, 0}, {9, 509, 30}, {0, 520, 600}, {2, 1, 8}, {0, 0, 0}},
        {{0, 300, 300}, {0, 350, 400}, {0, 400, 350}, {0, 410, 310}, {0, 390, 0}},
        {{0, 300, 0}, {0, 320, 0}, {0, 310, 1200}, {0, 270, 0}, {0, 0, 0}}}; /* for h2 alone */
    static const char *const texts[4][3] = {
        {NULL},
        {"h2: 600 of the packets for it came twice, and were not sent again (the fleet's median: "
         "8): "
         "a switch or bridge on its way doubles them",
         "h1: 500 of the packets that it sent came twice, and were not sent again (the fleet's "
         "median: 0): a switch or bridge on its way doubles them",
         "h2: 520 of the packets that it sent came twice, and were not sent again (the fleet's "
         "median: 0): a switch or bridge on its way doubles them"},
        {NULL},
        {"h2: 1200 of the packets for it came twice, and were not sent again (the fleet's median: "
         "0): "
         "a switch or bridge on its way doubles them"}};
    for (int i = 0; i < 4; i++) {
        struct acceptance acceptance = fleet_open(HOSTS);
        int count = 0;
        for (int look = 0; look < 2; look++) {
            for (int h = 0; h < HOSTS; h++) {
                counts_clear(h);
                counts(h, "host", "tcp_RetransSegs", COUNTER_CONGESTED,
                       1 + (look ? counted[i][h].resent : 0));
                counts(h, "host", "tcp_TCPDSACKRecv", COUNTER_CONGESTED,
                       1 + (look ? counted[i][h].sent : 0));
                counts(h, "host", "tcp_TCPDSACKOldSent", COUNTER_CONGESTED,
                       1 + (look ? counted[i][h].came : 0));
            }
            assert_int_equal(counting_look(&acceptance, STAGE_PAIRS), STATUS_OK);
        }
        doubles_judge(&acceptance);
        while (count < 3 && texts[i][count])
            count++;
        check_findings(&acceptance, texts[i], count);
        for (int h = 0; h < HOSTS; h++)
            device_changes_free(&fleet.now[h]);
        counting_free(&acceptance);
        fleet_close(&acceptance);
    }
}

/* Over all stages, each interface by itself: once is a suspect. */
static void a_carrier_that_is_lost_again_is_a_fault(void **state)
{
    (void)state;
    enum { HOSTS = 4 };
    static const char *const texts[] = {
        "h1: eth0 lost its carrier 5 times in 25 s: its cable, its transceiver, or the port at the "
        "other end",
        "h1: eth1 lost its carrier 1 time in 25 s: its cable, its transceiver, or the port at the "
        "other end",
        "h2: eth1 lost its carrier 1 time in 25 s: its cable, its transceiver, or the port at the "
        "other end"};
    struct acceptance acceptance = fleet_open(HOSTS);
    acceptance.began = clock_seconds() - 25;
    for (int look = 0; look < 3; look++) {
        for (int h = 0; h < HOSTS; h++) {
            counts_clear(h);
            counts(h, "eth0", "carrier_lost", COUNTER_FAULTY,
                   7 + (uint64_t)(h == 1 ? (int[]){0, 2, 5}[look] : 0));
            counts(h, "eth1", "carrier_lost", COUNTER_FAULTY,
                   3 + (uint64_t)((h == 2 && look == 2) || (h == 1 && look >= 1)));
        }
        assert_int_equal(counting_look(&acceptance, (enum accept_stage)(STAGE_SELF + look)),
                         STATUS_OK);
    }
    int notes = acceptance.findings.count;
    acceptance.findings.count = 0; /* the notes of the stages */
    carriers_judge(&acceptance);
    assert_true(notes == 3);
    check_findings(&acceptance, texts, 3);
    assert_int_equal(acceptance.findings.items[0].health, HEALTH_BAD);
    assert_int_equal(acceptance.findings.items[1].health, HEALTH_SUSPECT);
    fleet.hosts[1].gaps.unheard_us = 3000000; /* since its carrier was lost */
    gaps_judge(&acceptance);
    assert_int_equal(acceptance.findings.count, 3);
    for (int h = 0; h < HOSTS; h++)
        device_changes_free(&fleet.now[h]);
    counting_free(&acceptance);
    fleet_close(&acceptance);
}

#define FEW_SECONDS "(the fleet's median: 0.00 s, threshold 0.40 s): "

static void a_host_that_stands_still_is_named(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "h3: did not run 7 times, for 6.10 s in all of 25 s " FEW_SECONDS
        "its processes were stopped, or other processes had its cores",
        "h2: stood still for rank 0 1 time, for 0.41 s in all of 25 s " FEW_SECONDS
        "its link, or the network before it, let no packet through"};
    struct acceptance acceptance = fleet_open(9);
    acceptance.began = clock_seconds() - 25;
    fleet.hosts[3].gaps = (struct host_gaps){.stops = 7, .stopped_us = 6100000};
    fleet.hosts[2].gaps = (struct host_gaps){.unheard = 1, .unheard_us = 410000};
    fleet.hosts[1].gaps = (struct host_gaps){.unheard = 1, .unheard_us = 390000, .stopped_us = 9};
    fleet.hosts[4].gaps = (struct host_gaps){.stops = 9, .stopped_us = 9000000};
    fleet.hosts[4].lost = true; /* a finding of its own */
    gaps_judge(&acceptance);
    check_findings(&acceptance, texts, 2);
    fleet_close(&acceptance);
}

/* All others did not hear rank 0: it is its own host, unless that did not run, which is told. */
static void the_host_of_rank_0_is_named_for_all_others(void **state)
{
    (void)state;
    for (int stopped = 0; stopped < 2; stopped++) {
        struct acceptance acceptance = fleet_open(5);
        acceptance.began = clock_seconds() - 25;
        for (int h = 1; h < 5; h++)
            fleet.hosts[h].gaps = (struct host_gaps){.unheard = 4, .unheard_us = 2000000};
        fleet.hosts[0].gaps.stopped_us = stopped ? 1700000 : 900000;
        fleet.hosts[0].gaps.stops = 3;
        gaps_judge(&acceptance);
        assert_int_equal(acceptance.findings.count, stopped ? 1 : 2);
        for (int i = 0; i < acceptance.findings.count; i++)
            assert_int_equal(acceptance.findings.items[i].host, 0);
        if (!stopped)
            assert_non_null(
                strstr(acceptance.findings.items[1].text,
                       "h0: stood still for all other hosts, for 1.10 s in all of 25 s"));
        fleet_close(&acceptance);
    }
}

/* Of two hosts it may be either; of three, the one that the other two do not hear. One host alone
 * is compared with nothing. In a long run a share of it counts. */
static void few_hosts_and_long_runs_have_fewer_faults(void **state)
{
    (void)state;
    static const struct {
        int hosts;
        double seconds;
        uint64_t unheard[4], stopped[4]; /* microseconds */
        int host;                        /* -1: no finding */
        enum health health;
    } cases[] = {
        {1, 25, {0}, {3000000}, -1, HEALTH_GOOD},
        {2, 25, {0, 3000000}, {0}, 1, HEALTH_SUSPECT},
        {2, 25, {0}, {0, 3000000}, 1, HEALTH_BAD},
        {2, 25, {0, 2000000}, {2000000, 0}, 0, HEALTH_BAD}, /* rank 0 was stopped */
        {3, 25, {0, 3000000, 2900000}, {0}, 0, HEALTH_BAD},
        {3, 25, {0, 3000000, 100000}, {0}, 1, HEALTH_BAD},
        {3, 25, {0}, {0, 1100000, 0}, -1, HEALTH_GOOD},          /* few, which have no spread */
        {3, 25, {0}, {500000, 500000, 500000}, -1, HEALTH_GOOD}, /* the machine stood still */
        {4, 25, {0, 0, 800000, 0}, {0}, -1, HEALTH_GOOD}, /* rank 0's host hears itself: three */
        {4, 25, {0, 0, 1300000, 0}, {0}, 2, HEALTH_BAD},
        {4, 25, {0}, {0, 0, 800000, 0}, 2, HEALTH_BAD},
        {3, 86400, {0}, {0, 60000000, 0}, -1, HEALTH_GOOD},
        {3, 86400, {0}, {0, 4000000000, 0}, 1, HEALTH_BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct acceptance acceptance = fleet_open(cases[i].hosts);
        acceptance.began = clock_seconds() - cases[i].seconds;
        for (int h = 0; h < cases[i].hosts; h++)
            fleet.hosts[h].gaps = (struct host_gaps){.unheard_us = cases[i].unheard[h],
                                                     .stopped_us = cases[i].stopped[h]};
        gaps_judge(&acceptance);
        assert_int_equal(acceptance.findings.count, cases[i].host >= 0);
        if (cases[i].host >= 0) {
            assert_int_equal(acceptance.findings.items[0].host, cases[i].host);
            assert_int_equal(acceptance.findings.items[0].health, cases[i].health);
        }
        fleet_close(&acceptance);
    }
}

/* Most hosts lose the carrier of one interface: their switch. */
static void carriers_of_most_hosts_are_no_hosts_fault(void **state)
{
    (void)state;
    enum { HOSTS = 4 };
    struct acceptance acceptance = fleet_open(HOSTS);
    acceptance.began = clock_seconds() - 25;
    for (int look = 0; look < 2; look++) {
        for (int h = 0; h < HOSTS; h++) {
            counts_clear(h);
            counts(h, "eth0", "carrier_lost", COUNTER_FAULTY, (uint64_t)(look == 1 && h > 0));
        }
        assert_int_equal(counting_look(&acceptance, STAGE_PAIRS), STATUS_OK);
    }
    acceptance.findings.count = 0; /* the notes of the stage */
    carriers_judge(&acceptance);
    assert_int_equal(acceptance.findings.count, 1);
    assert_int_equal(acceptance.findings.items[0].host, -1);
    assert_string_equal(
        acceptance.findings.items[0].text,
        "all: eth0 lost its carrier on 3 of 4 hosts, 3 times in 25 s: the switch that "
        "they are cabled to");
    for (int h = 0; h < HOSTS; h++)
        device_changes_free(&fleet.now[h]);
    counting_free(&acceptance);
    fleet_close(&acceptance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_hosts_and_long_runs_have_fewer_faults),
        cmocka_unit_test(carriers_of_most_hosts_are_no_hosts_fault),
        cmocka_unit_test(a_carrier_that_is_lost_again_is_a_fault),
        cmocka_unit_test(a_host_that_stands_still_is_named),
        cmocka_unit_test(the_host_of_rank_0_is_named_for_all_others),
        cmocka_unit_test(pairs_are_compared_with_themselves),
        cmocka_unit_test(each_iteration_of_a_pair_is_checked),
        cmocka_unit_test(a_clock_that_is_far_off_is_told),
        cmocka_unit_test(packets_that_arrive_twice_are_told),
        cmocka_unit_test(parts_with_a_slow_way_between_them_are_named),
        cmocka_unit_test(parts_are_tried_twice),
        cmocka_unit_test(congestion_that_passes_is_not_told),
        cmocka_unit_test(waits_for_cores_are_no_congestion),
        cmocka_unit_test(collectives_of_all_are_explained_by_waits),
        cmocka_unit_test(switch_that_is_congested_is_named),
        cmocka_unit_test(errors_are_found_and_congestion_is_kept),
        cmocka_unit_test(counters_that_cannot_be_read_are_told),
        cmocka_unit_test(hosts_that_come_and_go_explain_their_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
