/*
 * pairs_stage.c - hosts meet in disjoint pairs.
 */
#include "accept/internal.h"

#include "accept/accept.h"
#include "accept/judge/judge.h"
#include "base/log.h"
#include "base/stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * NIC ports by which the pairs of a fleet are measured one after the other.
 */
#define GBITS_OF_A_GB 8.0

/* Gb/s at which all interfaces of a host that are up run, or the one of --interface; 0: they differ,
 * or it is not known. */
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

/* GB/s of a NIC port (NULL: of the interfaces), the median of the hosts where it is known; 0: it is not.
 * `rates` has room for all hosts. */
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

bool rails_find(const struct job *job, const struct inventory *inventories, int hosts,
                struct rails *rails)
{
    *rails = (struct rails){.count = 1};
    if (!inventories)
        return true;
    double *rates = malloc(((size_t)hosts + 1) * sizeof *rates);
    if (!rates)
        return false;
    int ports = nic_ports_find(job->transports, inventories, hosts, rails->names);
    for (int r = 0; r < ports || r == 0; r++)
        rails->rates[r] = link_rate(job, inventories, hosts, rails->names[r], rates);
    if (ports > 1)
        rails->count = ports;
    else
        rails->names[0] = NULL;
    free(rates);
    return true;
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
 * Hosts meet in disjoint pairs.
 */
#define LATE_LEAST     3 /* readings: two jobs of each pair, so with two partners at least */
#define QUICK_READINGS 2 /* at least, of each host and rail, with --quick */

struct pairing {
    struct acceptance *acceptance;
    struct rounds *plan;
    int rounds, done; /* planned, and measured on all of their rails */
    bool *present;
    struct host_pair *pairs;
    int *late, *ended; /* by host: its readings */
};

/* Takes out the hosts of which most jobs did not end in their time, with two partners at least: each
 * costs all pairs of a round that time, and more of them say nothing new. */
static void late_leave_out(const struct pairing *it)
{
    const struct readings *readings = &it->acceptance->paired;
    const size_t hosts = (size_t)it->acceptance->roster->host_count;
    memset(it->late, 0, hosts * sizeof *it->late);
    memset(it->ended, 0, hosts * sizeof *it->ended);
    for (size_t i = 0; i < readings->count; i++) {
        const struct reading *reading = &readings->of[i];
        int *counts = reading->outcome == READING_LATE ? it->late : it->ended;
        counts[reading->from]++;
        counts[reading->to]++;
    }
    for (size_t h = 0; h < hosts; h++)
        it->present[h] &= it->late[h] < LATE_LEAST || it->late[h] <= it->ended[h];
}

/* How many rails are measured in a round: all, or with --quick so many that each has its readings. */
static int rails_in_round(const struct pairing *it)
{
    int rails = it->acceptance->rails.count;
    int enough = (QUICK_READINGS * rails + it->rounds - 1) / it->rounds;
    return it->acceptance->asked->quick && enough < rails ? enough : rails;
}

/* They take turns. */
static uint64_t rails_of_round(const struct pairing *it, int round)
{
    int rails = it->acceptance->rails.count, each = rails_in_round(it);
    uint64_t set = 0;
    for (int i = 0; i < each; i++)
        set |= UINT64_C(1) << (round * each + i) % rails;
    return set;
}

/* The pairs of a round on its rails, one after the other, without hosts that have become late. False, as
 * *whole: the stage's time is over. */
static enum status round_run(struct pairing *it, struct pair_jobs *jobs, int round, bool *whole)
{
    struct acceptance *acceptance = it->acceptance;
    uint64_t rails = rails_of_round(it, round);
    enum status status = STATUS_OK;
    double longest = 0;
    *whole = true;
    for (int r = 0; r < acceptance->rails.count && *whole && status == STATUS_OK; r++) {
        double left = stage_left(acceptance);
        if (!(rails >> r & 1))
            continue;
        *whole = left >= longest;
        hosts_pairable(acceptance, it->present);
        late_leave_out(it);
        int count = rounds_pairs(it->plan, round, it->present, it->pairs);
        if (*whole)
            status = pair_jobs_run(jobs, STAGE_PAIRS, it->pairs, count, UINT64_C(1) << r,
                                   &acceptance->paired);
        longest = fmax(longest, left - stage_left(acceptance));
    }
    return status;
}

/* The first pairs that can be measured show which rails can be used, and how large messages are to be. */
static enum status first_try(struct pairing *it, struct pair_jobs *jobs, int round)
{
    if (it->acceptance->message_bytes > 0)
        return STATUS_OK;
    hosts_pairable(it->acceptance, it->present);
    int count = rounds_pairs(it->plan, round, it->present, it->pairs);
    return count > 0 ? pair_jobs_try(jobs, STAGE_PAIRS, it->pairs, count) : STATUS_OK;
}

/* As many rounds as its time allows. */
static enum status rounds_run(struct pairing *it, struct pair_jobs *jobs,
                              struct stage_result *result)
{
    struct acceptance *acceptance = it->acceptance;
    enum status status = STATUS_OK;
    double longest = 0;
    bool whole = true;
    for (int r = 0; r < it->rounds && status == STATUS_OK && whole; r++) {
        double left = stage_left(acceptance);
        size_t before = acceptance->paired.count;
        whole = left >= longest;
        stage_round(acceptance, r + 1, it->rounds);
        if (whole)
            status = first_try(it, jobs, r);
        if (whole && status == STATUS_OK)
            status = round_run(it, jobs, r, &whole);
        longest = fmax(longest, left - stage_left(acceptance));
        it->done += whole;
        if (!whole)
            stage_lacks(result, STAGE_PARTLY, "%d of %d rounds fit into its time%s", r, it->rounds,
                        acceptance->paired.count > before ? ", and a part of the next" : "");
    }
    return status;
}

static bool values_exist(const struct readings *readings)
{
    for (size_t i = 0; i < readings->count; i++)
        if (readings->of[i].outcome == READING_VALUE)
            return true;
    return false;
}

/* "8 rounds", "8 rounds on 4 rails", "8 rounds, each on 2 of 8 rails". Returns `text`. */
static const char *rounds_text(const struct pairing *it, char text[COUNTED_MOST])
{
    int rails = it->acceptance->rails.count, each = rails_in_round(it);
    if (!rails_have_names(&it->acceptance->rails))
        return counted(it->done, "round", text);
    if (each < rails)
        snprintf(text, COUNTED_MOST, "%d rounds, each on %d of %d rails", it->done, each, rails);
    else
        snprintf(text, COUNTED_MOST, "%d round%s on %d rail%s", it->done, it->done == 1 ? "" : "s",
                 rails, rails == 1 ? "" : "s");
    return text;
}

/* Where each distance has medians of its own. */
static void distances_put(const struct fleet *fleet, struct text *text)
{
    for (int near = 1; near >= 0; near--) {
        double latency = fleet_distance_median(fleet, METRIC_LATENCY, 0, near);
        double both = fleet_distance_median(fleet, METRIC_BOTH, 0, near);
        if (latency > 0)
            text_add(text, "; %s %.3g us", near ? "behind one switch" : "between switches",
                     latency);
        if (both > 0)
            text_add(text, " and %.3g GB/s each", both);
    }
}

/* Learns the fleet from the readings, and says its medians. */
static enum status pairs_learn(const struct pairing *it, const struct failed_jobs *failed,
                               struct stage_result *result)
{
    struct acceptance *acceptance = it->acceptance;
    const struct fleet_config config = {.hosts = acceptance->roster->host_count,
                                        .rails = acceptance->rails.count,
                                        .switches = acceptance->leaves.of};
    char rounds[COUNTED_MOST];
    const struct readings *readings = &acceptance->paired;
    double medians[METRICS];
    char apart[STAGE_TEXT_MOST / 2], failures[STAGE_TEXT_MOST];
    struct text text = text_in(apart, sizeof apart), why = text_in(failures, sizeof failures);
    failed_jobs_put(failed, &why);
    acceptance->fleet = fleet_create(&config, readings->of, readings->count);
    if (!acceptance->fleet)
        return fail(STATUS_ERROR, "out of memory for %zu readings", readings->count);
    if (!values_exist(readings)) {
        if (readings->count > 0 || it->done > 0)
            stage_lacks(result, STAGE_PARTLY, "no pair could be measured: %s", failures);
        return STATUS_OK;
    }
    for (int m = 0; m < METRICS; m++)
        medians[m] = fleet_median(acceptance->fleet, (enum metric)m);
    distances_put(acceptance->fleet, &text);
    stage_says(result,
               "%s, medians: %.3g us, one way %.3g GB/s, both ways at once %.3g GB/s each%s; "
               "%s",
               rounds_text(it, rounds), medians[METRIC_LATENCY], medians[METRIC_ALONE],
               medians[METRIC_BOTH], apart, failures);
    return STATUS_OK;
}

static enum status pairs_go(struct pairing *it, struct stage_result *result)
{
    struct acceptance *acceptance = it->acceptance;
    struct pair_jobs jobs = pair_jobs_open(acceptance);
    int left = hosts_pairable(acceptance, it->present);
    const char *remark = fleet_size_remark(left);
    char rails[COUNTED_MOST];
    if (left < 2) {
        stage_lacks(result, STAGE_LEFT_OUT, "pairs need two hosts");
        return STATUS_OK;
    }
    if (remark)
        stage_lacks(result, STAGE_PARTLY, "%s", remark);
    if (!acceptance->inventories && verbs_is_present(acceptance->job->transports))
        stage_lacks(result, STAGE_PARTLY,
                    "NICs are not told apart, since the stage inventory was left out");
    enum status status = rounds_run(it, &jobs, result);
    if (acceptance->rails.dropped > 0)
        stage_lacks(result, STAGE_PARTLY, "%s could not be used: see the findings",
                    counted(acceptance->rails.dropped, "rail", rails));
    if (status == STATUS_OK)
        status = resent_packets_judge(acceptance);
    if (status == STATUS_OK)
        status = pairs_learn(it, &jobs.failed, result);
    failed_jobs_free(&jobs.failed);
    return status;
}

/* The rails of the first time stay: those that could not be used are dropped. False: out of memory. */
static bool rails_know(struct acceptance *acceptance)
{
    return acceptance->rails.count > 0 ||
           rails_find(acceptance->job, acceptance->inventories, acceptance->roster->host_count,
                      &acceptance->rails);
}

enum status pairs_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    int hosts = acceptance->roster->host_count;
    int rounds = acceptance->asked->all_pairs ? rounds_all(hosts) : rounds_enough(hosts);
    struct pairing it = {
        .acceptance = acceptance,
        .plan = rounds_plan(hosts, rounds, acceptance->seed),
        .rounds = rounds,
        .present = calloc((size_t)hosts, sizeof *it.present),
        .pairs = calloc((size_t)hosts, sizeof *it.pairs),
        .late = calloc((size_t)hosts, sizeof *it.late),
        .ended = calloc((size_t)hosts, sizeof *it.ended),
    };
    bool room = it.present && it.pairs && it.late && it.ended && it.plan && rails_know(acceptance);
    enum status status =
        room ? pairs_go(&it, result) : fail(STATUS_ERROR, "out of memory for %d hosts", hosts);
    rounds_free(it.plan);
    free(it.present);
    free(it.pairs);
    free(it.late);
    free(it.ended);
    return status;
}
