/*
 * pairs_stage.c - hosts meet in disjoint pairs, several rounds of them (accept/judge/judge.h).
 */
#include "accept/internal.h"

#include "base/host_list.h"
#include "base/io/io.h"
#include "base/stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * NIC ports by which the pairs of a fleet are measured one after the other.
 */
#define GBITS_OF_A_GB 8.0

/* Gb/s at which all interfaces of a host that are up run, or the one of --interface; 0: they
 * differ, or it is not known. */
static double interfaces_speed(const struct job *job, const struct inventory *inventory)
{
    const char *given = job->bootstrap.interface;
    bool is_device = given && inventory_find(inventory, PART_INTERFACE, given, "speed");
    double speed = 0;
    for (int i = 0; i < inventory->count && !(given && !is_device); i++) {
        const struct inventory_fact *fact = &inventory->facts[i];
        if (fact->rule->kind != PART_INTERFACE || strcmp(fact->rule->key, "speed") != 0 ||
            (given && strcmp(fact->part, given) != 0))
            continue;
        const struct inventory_fact *state =
            inventory_find(inventory, PART_INTERFACE, fact->part, "state");
        if (!state || strcmp(state->text, "up") != 0)
            continue;
        if (speed > 0 && fact->number != speed)
            return 0;
        speed = fact->number;
    }
    return speed;
}

/* GB/s of a NIC port (NULL: of the interfaces), the median of the hosts where it is known; 0: it
 * is not. `rates` has room for all hosts. */
static double link_rate(const struct job *job, const struct inventory *inventories, int hosts,
                        const char *nic, double *rates)
{
    size_t known = 0;
    for (int h = 0; h < hosts; h++) {
        const struct inventory_fact *rate =
            nic ? inventory_find(&inventories[h], PART_NIC, nic, "rate") : NULL;
        double number = rate ? rate->number : nic ? 0 : interfaces_speed(job, &inventories[h]);
        if (number > 0)
            rates[known++] = number / GBITS_OF_A_GB;
    }
    return median_of(rates, known);
}

void rails_find(const struct job *job, const struct inventory *inventories, int hosts,
                struct rails *rails)
{
    *rails = (struct rails){.count = 1};
    if (!inventories)
        return;
    double *rates = new_array((size_t)hosts, sizeof *rates);
    int ports = nic_ports_find(job->transports, inventories, hosts, rails->names);
    for (int r = 0; r < ports || r == 0; r++)
        rails->rates[r] = link_rate(job, inventories, hosts, rails->names[r], rates);
    if (ports > 1)
        rails->count = ports;
    else
        rails->names[0] = NULL;
    free(rates);
}

bool rails_have_names(const struct rails *rails)
{
    return rails->names[0] != NULL;
}

bool rail_is_at(const struct rails *rails, int rail, const struct inventory *inventories, int host)
{
    return !rails_have_names(rails) || nic_port_is_at(rails->names[rail], inventories, host);
}

const char *rail_transport(const struct job *job, const struct rails *rails, int rail,
                           char text[PORT_TRANSPORT_MOST])
{
    return rails_have_names(rails) ? nic_port_transport(job->transports, rails->names[rail], text)
                                   : NULL;
}

void rails_drop(struct rails *rails, int rail)
{
    rails->count--;
    rails->dropped++;
    for (int r = rail; r < rails->count; r++) {
        rails->names[r] = rails->names[r + 1];
        rails->rates[r] = rails->rates[r + 1];
    }
    if (rails->count == 0)
        *rails = (struct rails){.count = 1, .dropped = rails->dropped};
}

/*
 * Measures disjoint pairs of hosts at the same time.
 */
#define ROUND_SECONDS 30.0 /* that the jobs of a round may take */
#define ROUND_QUICK   12.0
#define LINE_SECONDS  0.5 /* and one line of a job */
#define LINE_QUICK    0.15
#define PROBE_BYTES   (256 << 10)
#define MESSAGE_US    4000.0 /* that a message is to take */
#define BYTES_LEAST   ((size_t)64 << 10)
#define BYTES_MOST    ((size_t)LATENCY_BYTES << 20) /* -f has no larger factor */
#define LATENCY_BYTES ((size_t)8)
#define STALL_SHARE   3 /* of the time: a job says itself what it waits for */

static double round_seconds(const struct acceptance *acceptance)
{
    return acceptance->asked->quick ? ROUND_QUICK : ROUND_SECONDS;
}

/* The pairs whose hosts both have a rail; how many. `kept` has room for all. */
static int pairs_on_rail(const struct acceptance *acceptance, int rail,
                         const struct host_pair *pairs, int count, struct host_pair *kept)
{
    const struct rails *rails = &acceptance->rails;
    int left = 0;
    for (int i = 0; i < count; i++)
        if (rail_is_at(rails, rail, acceptance->inventories, pairs[i].a) &&
            rail_is_at(rails, rail, acceptance->inventories, pairs[i].b))
            kept[left++] = pairs[i];
    return left;
}

/* Runs a job for each pair on a rail: one rank on each host, in this order or the other. */
static enum status rail_run(struct pair_jobs *jobs, struct trials *trials, int rail,
                            const struct host_pair *pairs, int count, bool reversed,
                            const char *command)
{
    const struct acceptance *acceptance = jobs->acceptance;
    const struct fleet_host *hosts = acceptance->roster->hosts;
    char transport[PORT_TRANSPORT_MOST];
    trials->transport = rail_transport(acceptance->job, &acceptance->rails, rail, transport);
    for (int i = 0; i < count; i++) {
        const int a = hosts[pairs[i].a].agents[0], b = hosts[pairs[i].b].agents[0];
        const int agents[] = {reversed ? b : a, reversed ? a : b};
        trials_add(trials, agents, 2, "%s", command);
    }
    return trials_run(trials, round_seconds(acceptance));
}

/* Did a job fail, and does that say something against its pair? */
static bool job_failed(struct pair_jobs *jobs, const struct trials *trials, int job)
{
    if (!trial_is_evidence(trials, job))
        return false;
    failed_jobs_add(&jobs->failed, trials->outcomes[job].why);
    return true;
}

/* ---- the first try ---- */

/* Tries a rail, and adds the rates of the pairs. *dropped: it cannot be used. */
static enum status rail_try(struct pair_jobs *jobs, int rail, const struct host_pair *pairs,
                            int count, double *rates, size_t *known, bool *dropped)
{
    struct trials trials;
    char command[120];
    int failed = 0, worst = 0;
    snprintf(command, sizeof command, "sendrecv -a uni -b %d -e %d -n 4 -w 1 -c 0 --timeout %g",
             PROBE_BYTES, PROBE_BYTES, round_seconds(jobs->acceptance) / STALL_SHARE);
    trials_open(&trials, jobs->acceptance, STAGE_PAIRS);
    enum status status = rail_run(jobs, &trials, rail, pairs, count, false, command);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        if (trials.outcomes[i].outcome == READING_VALUE) {
            rates[(*known)++] = line_number(trials_line(&trials, i, NULL, NULL, 1), "busbw_GBps");
        } else if (job_failed(jobs, &trials, i)) {
            failed++;
            worst = i;
        }
    }
    *dropped = rails_have_names(&jobs->acceptance->rails) && 2 * failed > count;
    if (status == STATUS_OK && *dropped)
        trials_refuse_port(&trials, worst, jobs->acceptance->rails.names[rail], "pairs");
    trials_close(&trials);
    return status;
}

static void bytes_choose(struct acceptance *acceptance, double *rates, size_t known)
{
    double wanted = known > 0 ? median_of(rates, known) * 1e3 * MESSAGE_US : PROBE_BYTES;
    size_t bytes = BYTES_LEAST;
    while (bytes < BYTES_MOST && (double)bytes < wanted)
        bytes *= 2;
    acceptance->message_bytes = bytes;
}

/* Before the first measurement: tries each rail with these pairs. A rail that fails with more
 * than half of them is told, and dropped. Finds the size of messages: so large that one takes a
 * few milliseconds at the fleet's median rate. */
static enum status pair_jobs_try(struct pair_jobs *jobs, const struct host_pair *pairs, int count)
{
    struct acceptance *acceptance = jobs->acceptance;
    struct rails *rails = &acceptance->rails;
    struct host_pair *kept = stage_memory(acceptance, (size_t)count, sizeof *kept);
    double *rates = stage_memory(acceptance, (size_t)(count * rails->count), sizeof *rates);
    size_t known = 0;
    bool named = rails_have_names(rails);
    for (int r = 0; r < rails->count;) {
        int left = pairs_on_rail(acceptance, r, pairs, count, kept);
        bool dropped = false;
        TRY(rail_try(jobs, r, kept, left, rates, &known, &dropped));
        if (dropped)
            rails_drop(rails, r);
        r += !dropped;
        if (dropped && named && !rails_have_names(rails))
            r = 0; /* none is left: the transports as they were given */
        named = rails_have_names(rails);
    }
    bytes_choose(acceptance, rates, known);
    return STATUS_OK;
}

/* ---- measurements ---- */

/* The readings that the two jobs of a pair bring, besides losses. The least latency is that of the
 * link; others may be those of a CPU that was busy. */
static const struct job_reading {
    bool second; /* of the second job */
    enum metric metric;
    bool reversed;                  /* from b to a */
    const char *algorithm, *number; /* of the line, and in it */
} job_readings[] = {
    {false, METRIC_LATENCY, false, "pingpong", "time_us.min"},
    {false, METRIC_ALONE, false, "uni", "busbw_GBps"},
    {false, METRIC_BOTH, false, "bidir", "busbw_GBps"},
    {false, METRIC_BOTH, true, "bidir", "busbw_GBps"},
    {true, METRIC_ALONE, true, "uni", "busbw_GBps"},
};
#define JOB_READINGS (sizeof job_readings / sizeof job_readings[0])

/* One of a pair's two jobs that has run. */
struct pair_job {
    struct acceptance *acceptance;
    const struct trials *trials;
    int job, rail;
    const struct host_pair *pair;
    bool second;
};

/* Adds a reading from a to b, or reversed. */
static struct reading *reading_add(const struct pair_job *run, enum metric metric, bool reversed)
{
    struct readings *readings = &run->acceptance->readings;
    struct reading *reading = LIST_ADD(readings->items, readings->count);
    *reading = (struct reading){.from = reversed ? run->pair->b : run->pair->a,
                                .to = reversed ? run->pair->a : run->pair->b,
                                .rail = run->rail,
                                .metric = metric,
                                .outcome = run->trials->outcomes[run->job].outcome,
                                .stage = (int)run->trials->stage};
    return reading;
}

/* The host that found wrong data received it, over some of the links. */
static bool wrong_data_take(const struct pair_job *run)
{
    size_t index;
    const json_t *error, *document = run->trials->outcomes[run->job].document;
    bool found[2] = {false, false};
    json_array_foreach(json_object_get(document, "errors"), index, error)
    {
        int rank = (int)json_integer_value(json_object_get(error, "rank"));
        if (strcmp(word_of(error, "phase"), "check") != 0 || rank < 0 || rank > 1 || found[rank])
            continue;
        found[rank] = true;
        reading_add(run, METRIC_ALONE, (rank == 0) != run->second);
    }
    return found[0] || found[1];
}

struct sent_packets {
    double all, again;
};

/* Adds what a rank sent in one line of results. */
static void packets_add(const json_t *line, int rank, struct sent_packets *sent)
{
    size_t s, p;
    const json_t *sample, *peer, *peers = NULL;
    json_array_foreach(json_object_get(line, "samples"), s, sample)
    {
        if (json_integer_value(json_object_get(sample, "rank")) == rank)
            peers = json_object_get(sample, "peers");
    }
    json_array_foreach(peers, p, peer)
    {
        sent->all += line_number(peer, "packets");
        sent->again += line_number(peer, "resent");
    }
}

/* %, 0 of fewer than LOST_LEAST, since TCP also sends some again that were late; NAN: none was
 * sent. */
static double lost_share(const struct sent_packets *sent)
{
    if (sent->all <= 0)
        return NAN;
    return sent->again < LOST_LEAST ? 0 : 100 * fmin(sent->again / sent->all, 1);
}

/* The packets that a rank of a job with -v sent again, in % of all that it sent, or of those of
 * long messages, where that is more: the many short ones may get through. NAN: its transport counts
 * none. A loss that few iterations meet leaves their median as it was. */
static double lost_packets(const json_t *document, int rank, double *packets)
{
    struct sent_packets all = {0}, large = {0};
    size_t index;
    const json_t *line;
    json_array_foreach(json_object_get(document, "results"), index, line)
    {
        packets_add(line, rank, &all);
        if (line_number(line, "bytes") > LATENCY_BYTES)
            packets_add(line, rank, &large);
    }
    *packets = large.all > 0 ? large.all : all.all;
    return fmax(lost_share(&all), lost_share(&large));
}

/* In both directions in which a job moves data. */
static void losses_take(const struct pair_job *run)
{
    for (int sender = 0; sender < 2; sender++) {
        double packets,
            loss = lost_packets(run->trials->outcomes[run->job].document, sender, &packets);
        if (isnan(loss) || (run->second && sender == 1))
            continue;
        struct reading *reading = reading_add(run, METRIC_LOSS, (sender == 1) != run->second);
        reading->value = loss;
        reading->packets = packets;
    }
}

void pair_job_take(struct pair_jobs *jobs, const struct trials *trials, int job, int rail,
                   const struct host_pair *pair, bool second)
{
    const struct pair_job run = {jobs->acceptance, trials, job, rail, pair, second};
    const struct trial *trial = &trials->outcomes[job];
    bool failed = trial->outcome != READING_VALUE;
    if (failed && !job_failed(jobs, trials, job))
        return;
    if (trial->outcome == READING_WRONG && wrong_data_take(&run))
        return;
    for (size_t i = 0; i < JOB_READINGS; i++) {
        const struct job_reading *from = &job_readings[i];
        size_t bytes =
            from->metric == METRIC_LATENCY ? LATENCY_BYTES : jobs->acceptance->message_bytes;
        if (from->second != second)
            continue;
        struct reading *reading = reading_add(&run, from->metric, from->reversed);
        if (failed)
            return;
        const json_t *line = trials_line(trials, job, NULL, from->algorithm, bytes);
        reading->value = line_number(line, from->number);
        jobs->acceptance->lines++;
        jobs->acceptance->tcp_lines += strcmp(word_of(line, "transport"), "tcp") == 0;
    }
    losses_take(&run);
}

/* Runs one of the two jobs of each pair: the second has b first. */
static enum status half_run(struct pair_jobs *jobs, enum accept_stage stage, int rail,
                            const struct host_pair *pairs, int count, bool second)
{
    struct trials trials;
    char command[200], factor[32] = "";
    struct acceptance *acceptance = jobs->acceptance;
    size_t bytes = acceptance->message_bytes;
    if (!second)
        snprintf(factor, sizeof factor, " -f %zu", bytes / LATENCY_BYTES);
    snprintf(command, sizeof command,
             "sendrecv -a %s -b %zu -e %zu%s -n auto --budget %g -w 2 -c all -v --timeout %g",
             second ? "uni" : "pingpong,uni,bidir", second ? bytes : LATENCY_BYTES, bytes, factor,
             acceptance->asked->quick ? LINE_QUICK : LINE_SECONDS,
             round_seconds(acceptance) / STALL_SHARE);
    trials_open(&trials, acceptance, stage);
    enum status status = rail_run(jobs, &trials, rail, pairs, count, second, command);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        pair_job_take(jobs, &trials, i, rail, &pairs[i], second);
    trials_close(&trials);
    return status;
}

enum status pair_jobs_run(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count, uint64_t rails)
{
    struct acceptance *acceptance = jobs->acceptance;
    struct host_pair *kept = stage_memory(acceptance, (size_t)count, sizeof *kept);
    struct turns turns = {0};
    for (int r = 0; r < acceptance->rails.count && turn_fits(&turns, acceptance); r++) {
        int left = rails >> r & 1 ? pairs_on_rail(acceptance, r, pairs, count, kept) : 0;
        for (int second = 0; second < 2 && left > 0; second++)
            TRY(half_run(jobs, stage, r, kept, left, second));
    }
    return STATUS_OK;
}

/*
 * Hosts meet in disjoint pairs.
 */
#define LATE_LEAST     3 /* readings: two jobs of each pair, so with two partners at least */
#define ROUNDS_TEXT    40
#define QUICK_READINGS 2 /* at least, of each host and rail, with --quick */

#define PART_NAME_BYTES 100
#define LOSS_OF_FLEET   1.0 /* %, of its median host: from here on a fault of the network */

struct pairing {
    struct acceptance *acceptance;
    struct pair_jobs jobs;
    struct rounds *plan;
    int rounds, done; /* planned, and measured on all of their rails */
    bool *present;
    struct host_pair *pairs;
    int *late, *ended; /* by host: its readings */
};

/* Takes out the hosts of which most jobs did not end in their time, with two partners at least:
 * each costs all pairs of a round that time, and more of them say nothing new. */
static void late_leave_out(const struct pairing *pairing)
{
    const struct readings *readings = &pairing->acceptance->readings;
    const size_t hosts = (size_t)pairing->acceptance->roster->host_count;
    memset(pairing->late, 0, hosts * sizeof *pairing->late);
    memset(pairing->ended, 0, hosts * sizeof *pairing->ended);
    for (int i = pairing->acceptance->pairs_first; i < readings->count; i++) {
        const struct reading *reading = &readings->items[i];
        if (reading->metric == METRIC_LOSS)
            continue; /* of a job whose bandwidths count */
        int *counts = reading->outcome == READING_LATE ? pairing->late : pairing->ended;
        counts[reading->from]++;
        counts[reading->to]++;
    }
    for (size_t h = 0; h < hosts; h++)
        pairing->present[h] &=
            pairing->late[h] < LATE_LEAST || pairing->late[h] <= pairing->ended[h];
}

/* How many rails are measured in a round: all, or with --quick so many that each has its
 * readings. */
static int rails_in_round(const struct pairing *pairing)
{
    int rails = pairing->acceptance->rails.count;
    int enough = (QUICK_READINGS * rails + pairing->rounds - 1) / pairing->rounds;
    return pairing->acceptance->asked->quick && enough < rails ? enough : rails;
}

/* They take turns. */
static uint64_t rails_of_round(const struct pairing *pairing, int round)
{
    int rails = pairing->acceptance->rails.count, each = rails_in_round(pairing);
    uint64_t set = 0;
    for (int i = 0; i < each; i++)
        set |= UINT64_C(1) << (round * each + i) % rails;
    return set;
}

/* The pairs of a round on its rails, one after the other, without hosts that have become late.
 * False, as *whole: the stage's time is over. */
static enum status round_run(struct pairing *pairing, int round, bool *whole)
{
    struct acceptance *acceptance = pairing->acceptance;
    uint64_t rails = rails_of_round(pairing, round);
    struct turns turns = {0};
    *whole = true;
    for (int r = 0; r < acceptance->rails.count && *whole; r++) {
        if (!(rails >> r & 1))
            continue;
        *whole = turn_fits(&turns, acceptance);
        hosts_pairable(acceptance, pairing->present);
        late_leave_out(pairing);
        int count = rounds_pairs(pairing->plan, round, pairing->present, pairing->pairs);
        if (*whole)
            TRY(pair_jobs_run(&pairing->jobs, STAGE_PAIRS, pairing->pairs, count,
                              UINT64_C(1) << r));
    }
    return STATUS_OK;
}

/* The first pairs that can be measured show which rails can be used, and how large messages are
 * to be. */
static enum status first_try(struct pairing *pairing, int round)
{
    if (pairing->acceptance->message_bytes > 0)
        return STATUS_OK;
    hosts_pairable(pairing->acceptance, pairing->present);
    int count = rounds_pairs(pairing->plan, round, pairing->present, pairing->pairs);
    return count > 0 ? pair_jobs_try(&pairing->jobs, pairing->pairs, count) : STATUS_OK;
}

/* As many rounds as its time allows. */
static enum status rounds_run(struct pairing *pairing, struct stage_result *result)
{
    struct acceptance *acceptance = pairing->acceptance;
    struct turns turns = {0};
    bool whole = true;
    for (int r = 0; r < pairing->rounds && whole; r++) {
        int before = acceptance->readings.count;
        whole = turn_fits(&turns, acceptance);
        stage_round(acceptance, r + 1, pairing->rounds);
        if (whole)
            TRY(first_try(pairing, r));
        if (whole)
            TRY(round_run(pairing, r, &whole));
        pairing->done += whole;
        if (!whole)
            stage_lacks(result, STAGE_PARTLY, "%d of %d rounds fit into its time%s", r,
                        pairing->rounds,
                        acceptance->readings.count > before ? ", and a part of the next" : "");
    }
    return STATUS_OK;
}

enum status pairs_once_more(struct acceptance *acceptance, int rounds)
{
    int hosts = acceptance->roster->host_count;
    struct pair_jobs jobs = {.acceptance = acceptance};
    if (rounds_enough(hosts) > rounds_all(hosts))
        rounds = rounds_enough(hosts);
    struct rounds *plan = rounds_plan(hosts, rounds, acceptance->seed + 1);
    bool *present = stage_memory(acceptance, (size_t)hosts, sizeof *present);
    struct host_pair *pairs = stage_memory(acceptance, (size_t)hosts, sizeof *pairs);
    int *good = stage_memory(acceptance, (size_t)hosts, sizeof *good);
    struct turns turns = {0};
    enum status status = STATUS_OK;
    for (int r = 0; r < rounds && status == STATUS_OK; r++) {
        if (!turn_fits(&turns, acceptance))
            break;
        memset(present, 0, (size_t)hosts * sizeof *present);
        for (int i = hosts_good(acceptance, good); i > 0; i--)
            present[good[i - 1]] = true;
        int count = rounds_pairs(plan, r, present, pairs);
        status = pair_jobs_run(&jobs, STAGE_ISOLATE, pairs, count,
                               UINT64_C(1) << r % acceptance->rails.count);
    }
    failed_jobs_free(&jobs.failed);
    rounds_free(plan);
    return status;
}

const struct reading *pair_readings(const struct acceptance *acceptance, size_t *count)
{
    *count = (size_t)(acceptance->pairs_end - acceptance->pairs_first);
    return *count > 0 ? acceptance->readings.items + acceptance->pairs_first : NULL;
}

static bool values_exist(const struct reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (readings[i].outcome == READING_VALUE)
            return true;
    return false;
}

/* "8 rounds", "8 rounds on 4 rails", "8 rounds, each on 2 of 8 rails". Returns `text`. */
static const char *rounds_text(const struct pairing *pairing, char text[ROUNDS_TEXT])
{
    int rails = pairing->acceptance->rails.count, each = rails_in_round(pairing);
    int done = pairing->done;
    if (!rails_have_names(&pairing->acceptance->rails))
        snprintf(text, ROUNDS_TEXT, "%d round%s", done, plural(done));
    else if (each < rails)
        snprintf(text, ROUNDS_TEXT, "%d rounds, each on %d of %d rails", done, each, rails);
    else
        snprintf(text, ROUNDS_TEXT, "%d round%s on %d rail%s", done, plural(done), rails,
                 plural(rails));
    return text;
}

/* Where each distance has medians of its own. */
static void distances_put(const struct acceptance *acceptance, struct text *text)
{
    const struct fleet *fleet = acceptance->fleet;
    const char *near = acceptance->leaves.inferred ? "inside each" : "behind one switch";
    const char *far = acceptance->leaves.inferred ? "between them" : "between switches";
    char us[TIME_TEXT_MOST];
    for (int d = 0; d < DISTANCE_KINDS; d++) {
        double latency = fleet_distance_median(fleet, METRIC_LATENCY, 0, (enum distance)d);
        double both = fleet_distance_median(fleet, METRIC_BOTH, 0, (enum distance)d);
        if (latency > 0)
            text_add(text, "; %s %s", d == DISTANCE_NEAR ? near : far,
                     time_text(1e-6 * latency, us));
        if (both > 0)
            text_add(text, " and %.3g GB/s each", both);
    }
}

/* The hosts of a part: a list, or if that is long their number and the first. To be freed. */
static char *part_name(const struct acceptance *acceptance, const int *side, int part)
{
    int hosts = acceptance->roster->host_count, count = 0;
    const char **names = new_array((size_t)hosts, sizeof *names);
    char listed[PART_NAME_BYTES];
    struct text text = text_in(listed, sizeof listed);
    for (int h = 0; h < hosts; h++)
        if (side[h] == part)
            names[count++] = acceptance->labels[h];
    host_list_add(&text, names, count);
    if (text.used + 1 >= sizeof listed)
        snprintf(listed, sizeof listed, "the %d hosts of %.64s's part", count, names[0]);
    free(names);
    return new_text(listed);
}

/* Two parts of the fleet whose pairs across are slow count as two switches. */
static void parts_are_switches(struct acceptance *acceptance, const int *side)
{
    size_t hosts = (size_t)acceptance->roster->host_count;
    struct switch_level *parts = &acceptance->leaves;
    *parts = (struct switch_level){.count = 2,
                                   .inferred = true,
                                   .name = new_array(2, sizeof *parts->name),
                                   .switches = new_array(hosts, sizeof *parts->switches)};
    memcpy(parts->switches, side, hosts * sizeof *side);
    for (int part = 0; part < 2; part++)
        parts->name[part] = part_name(acceptance, side, part);
}

static void fleet_make(struct acceptance *acceptance)
{
    const struct fleet_config config = {.hosts = acceptance->roster->host_count,
                                        .rails = acceptance->rails.count,
                                        .switches = acceptance->leaves.switches,
                                        .inferred = acceptance->leaves.inferred};
    size_t count;
    const struct reading *readings = pair_readings(acceptance, &count);
    acceptance->fleet = fleet_create(&config, readings, count);
}

void parts_take(struct acceptance *acceptance, enum accept_stage stage, const int *side, int pairs,
                const double medians[2])
{
    struct found found = {
        .stage = stage, .kind = FOUND_NETWORK, .host = -1, .peer = -1, .status = STATUS_SLOW};
    parts_are_switches(acceptance, side);
    fleet_free(acceptance->fleet);
    fleet_make(acceptance);
    snprintf(found.what, sizeof found.what, "parts");
    snprintf(found.text, sizeof found.text,
             "all: the pairs between %s and %s are slower than the pairs inside, %.3g GB/s "
             "against %.3g GB/s when %d pairs exchange at once: the network between these parts is "
             "slow or oversubscribed",
             acceptance->leaves.name[0], acceptance->leaves.name[1], medians[1], medians[0], pairs);
    findings_add(&acceptance->findings, &found);
}

/* The hosts that are there and of which no measurement failed. Returns how many. */
static int hosts_that_work(struct pairing *pairing, int *hosts)
{
    size_t count;
    const struct acceptance *acceptance = pairing->acceptance;
    const struct reading *readings = pair_readings(acceptance, &count);
    int kept = 0;
    hosts_pairable(acceptance, pairing->present);
    for (size_t i = 0; i < count; i++)
        if (readings[i].outcome != READING_VALUE)
            pairing->present[readings[i].from] = pairing->present[readings[i].to] = false;
    for (int h = 0; h < acceptance->roster->host_count; h++)
        if (pairing->present[h])
            hosts[kept++] = h;
    return kept;
}

/* From the readings of the pairs. Without --switches, once more if they fall into two parts. */
static enum status fleet_learn(struct pairing *pairing)
{
    struct acceptance *acceptance = pairing->acceptance;
    size_t hosts = (size_t)acceptance->roster->host_count, count;
    int *side = stage_memory(acceptance, hosts, sizeof *side);
    int *list = stage_memory(acceptance, hosts, sizeof *list);
    if (acceptance->leaves.inferred) { /* in an earlier rotation */
        switch_level_free(&acceptance->leaves);
        acceptance->leaves = (struct switch_level){.count = 0};
    }
    fleet_make(acceptance);
    const struct reading *readings = pair_readings(acceptance, &count);
    int working = hosts_that_work(pairing, list);
    for (int r = 0; r < acceptance->rails.count && acceptance->leaves.count == 0; r++)
        if (cut_find(acceptance->fleet, readings, count, r, acceptance->seed, side))
            TRY(parts_try(acceptance, STAGE_PAIRS, r, list, working, side));
    return STATUS_OK;
}

/* A loss that most hosts have is no host's. */
static void loss_say(struct acceptance *acceptance, struct text *text)
{
    double loss = fleet_median(acceptance->fleet, METRIC_LOSS);
    if (!fleet_knows(acceptance->fleet, METRIC_LOSS))
        return;
    text_add(text, "; %.2g%% of the packets are sent again", loss);
    if (loss >= LOSS_OF_FLEET)
        stage_finds(acceptance, STAGE_PAIRS, FOUND_NETWORK, -1, HEALTH_GOOD, STATUS_SLOW,
                    "all: the median host sends %.2g%% of its packets again (at most: %g%%): the "
                    "network loses packets",
                    loss, LOSS_OF_FLEET);
}

/* Learns the fleet from the readings, and says its medians. */
static enum status pairs_learn(struct pairing *pairing, struct stage_result *result)
{
    struct acceptance *acceptance = pairing->acceptance;
    char rounds[ROUNDS_TEXT], us[TIME_TEXT_MOST];
    double medians[METRICS];
    char apart[STAGE_TEXT_MOST / 2], failures[STAGE_TEXT_MOST];
    struct text text = text_in(apart, sizeof apart), why = text_in(failures, sizeof failures);
    failed_jobs_put(&pairing->jobs.failed, &why);
    size_t count;
    acceptance->pairs_end = acceptance->readings.count;
    TRY(fleet_learn(pairing));
    const struct reading *readings = pair_readings(acceptance, &count);
    if (!values_exist(readings, count)) {
        if (count > 0 || pairing->done > 0)
            stage_lacks(result, STAGE_PARTLY, "no pair could be measured: %s", failures);
        return STATUS_OK;
    }
    for (int m = 0; m < METRICS; m++)
        medians[m] = fleet_median(acceptance->fleet, (enum metric)m);
    if (acceptance->leaves.inferred)
        text_add(&text, "; in two parts");
    distances_put(acceptance, &text);
    loss_say(acceptance, &text);
    stage_says(result,
               "%s, medians: %s, one way %.3g GB/s, both ways at once %.3g GB/s each%s; "
               "%s",
               rounds_text(pairing, rounds), time_text(1e-6 * medians[METRIC_LATENCY], us),
               medians[METRIC_ALONE], medians[METRIC_BOTH], apart, failures);
    return STATUS_OK;
}

static enum status pairs_go(struct pairing *pairing, struct stage_result *result)
{
    struct acceptance *acceptance = pairing->acceptance;
    int left = hosts_pairable(acceptance, pairing->present);
    const char *remark = fleet_size_remark(left);
    if (left < 2) {
        stage_lacks(result, STAGE_LEFT_OUT, "pairs need two hosts");
        return STATUS_OK;
    }
    if (remark)
        stage_lacks(result, STAGE_PARTLY, "%s", remark);
    if (!acceptance->inventories && verbs_is_present(acceptance->job->transports))
        stage_lacks(result, STAGE_PARTLY,
                    "NICs are not told apart, since the stage inventory was left out");
    enum status status = rounds_run(pairing, result);
    if (acceptance->rails.dropped > 0)
        stage_lacks(result, STAGE_PARTLY, "%d rail%s could not be used: see the findings",
                    acceptance->rails.dropped, plural(acceptance->rails.dropped));
    if (status == STATUS_OK)
        status = pairs_learn(pairing, result);
    return status;
}

enum status pairs_run(struct acceptance *acceptance, struct stage_result *result)
{
    int hosts = acceptance->roster->host_count;
    int rounds = rounds_enough(hosts), all = rounds_all(hosts);
    if (acceptance->asked->all_pairs && all > rounds)
        rounds = all;
    struct pairing pairing = {
        .acceptance = acceptance,
        .jobs = {.acceptance = acceptance},
        .plan = rounds_plan(hosts, rounds, acceptance->seed),
        .rounds = rounds,
        .present = stage_memory(acceptance, (size_t)hosts, sizeof *pairing.present),
        .pairs = stage_memory(acceptance, (size_t)hosts, sizeof *pairing.pairs),
        .late = stage_memory(acceptance, (size_t)hosts, sizeof *pairing.late),
        .ended = stage_memory(acceptance, (size_t)hosts, sizeof *pairing.ended),
    };
    bool alone = !(acceptance->asked->stages & (1u << STAGE_ISOLATE));
    acceptance->pairs_first = acceptance->pairs_end = acceptance->readings.count;
    if (acceptance->rails.count == 0) /* those of the first time stay: some may be dropped */
        rails_find(acceptance->job, acceptance->inventories, hosts, &acceptance->rails);
    enum status status = pairs_go(&pairing, result);
    failed_jobs_free(&pairing.jobs.failed);
    rounds_free(pairing.plan);
    return status == STATUS_OK && alone ? isolate_miss(acceptance, result) : status;
}
