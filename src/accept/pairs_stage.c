/*
 * pairs_stage.c - the stages pairs and isolate.
 */
#include "accept/pairs_stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accept/pair_jobs.h"
#include "accept/resent_packets.h"
#include "accept/stage.h"
#include "base/log.h"
#include "screening/sickness_text.h"

#define ROUND_SECONDS   30.0 /* that the jobs of a round may take */
#define ROUND_QUICK     12.0
#define LINE_SECONDS    0.5 /* and one line of a job */
#define LINE_QUICK      0.15
#define KERNEL_LATENCY  10.0 /* us: no NIC that is spoken to from user space is slower */
#define KERNEL_FLOOR    1.0
#define KERNEL_SHARE    0.1 /* of a bandwidth */
#define FEW_HOSTS       8
#define FEW_SHARE       0.15
#define LATE_LEAST      3  /* readings: two jobs of each pair, so with two partners at least */
#define ISOLATIONS_MOST 64 /* rounds: more than any fleet needs */
#define QUICK_READINGS  2  /* at least, of each host and rail, with --quick */

static struct pair_jobs jobs_of(struct acceptance *acceptance)
{
    bool quick = acceptance->job->accept.quick;
    return (struct pair_jobs){.acceptance = acceptance,
                              .seconds = quick ? ROUND_QUICK : ROUND_SECONDS,
                              .budget = quick ? LINE_QUICK : LINE_SECONDS};
}

/* Is it known why measurements with this host fail or are slow? */
static bool host_is_explained(const struct acceptance *acceptance, int host)
{
    return acceptance->roster->hosts[host].lost ||
           (acceptance->loses_packets && acceptance->loses_packets[host]);
}

/* The hosts that are left, as a plan of rounds sees them; how many. */
static int present_find(const struct acceptance *acceptance, bool *present)
{
    int count = 0;
    for (int h = 0; h < acceptance->roster->host_count; h++)
        count += present[h] = !host_is_explained(acceptance, h);
    return count;
}

/* ---- pairs ---- */

struct pairing {
    struct acceptance *acceptance;
    struct rounds *plan;
    int rounds;
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
    return it->acceptance->job->accept.quick && enough < rails ? enough : rails;
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
        present_find(acceptance, it->present);
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
    present_find(it->acceptance, it->present);
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
    int rounds = it->rounds;
    for (int r = 0; r < rounds && status == STATUS_OK && whole; r++) {
        double left = stage_left(acceptance);
        whole = left >= longest;
        stage_round(acceptance, r + 1, rounds);
        if (whole)
            status = first_try(it, jobs, r);
        if (whole && status == STATUS_OK)
            status = round_run(it, jobs, r, &whole);
        longest = fmax(longest, left - stage_left(acceptance));
        if (!whole) {
            stage_lacks(result, STAGE_PARTLY, "%d of %d rounds fit into its time", r, rounds);
            it->rounds = r;
        }
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
        return counted(it->rounds, "round", text);
    if (each < rails)
        snprintf(text, COUNTED_MOST, "%d rounds, each on %d of %d rails", it->rounds, each, rails);
    else
        snprintf(text, COUNTED_MOST, "%d round%s on %d rail%s", it->rounds,
                 it->rounds == 1 ? "" : "s", rails, rails == 1 ? "" : "s");
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
    if (it->rounds > 0 && !values_exist(readings)) {
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
    struct pair_jobs jobs = jobs_of(acceptance);
    int left = present_find(acceptance, it->present);
    const char *remark = fleet_size_remark(left);
    char rails[COUNTED_MOST];
    if (left < 2) {
        stage_lacks(result, STAGE_LEFT_OUT, "pairs need two hosts");
        return STATUS_OK;
    }
    if (remark)
        stage_lacks(result, STAGE_PARTLY, "%s", remark);
    if (!acceptance->inventories && verbs_is_present(acceptance->job))
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
    const struct job *job = acceptance->job;
    int rounds = job->accept.all_pairs ? rounds_all(hosts) : rounds_enough(hosts);
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

/* ---- isolate ---- */

static enum status sickness_status(enum sickness_kind kind)
{
    switch (kind) {
    case SICKNESS_WRONG:
        return STATUS_WRONG_DATA;
    case SICKNESS_LOST:
    case SICKNESS_LATE:
        return STATUS_TIMEOUT;
    case SICKNESS_ERROR:
        return STATUS_ERROR;
    default:
        return STATUS_SLOW;
    }
}

/* A lost agent, also one whose loss was noticed later, and lost packets are findings of their own, and
 * accuse no partner. */
static bool is_explained(const struct acceptance *acceptance, const struct sickness *sickness)
{
    const struct spot *spot = &sickness->spot;
    return sickness->kind != SICKNESS_WRONG &&
           (host_is_explained(acceptance, spot->host) ||
            (spot->peer >= 0 && host_is_explained(acceptance, spot->peer)));
}

/* Slow hosts that no good one was left to be tried with. */
static bool is_untried(const struct sickness *sickness)
{
    return sickness->spot.kind == SPOT_HOST && !sickness->confirmed && sickness->tries == 0 &&
           !sickness->ended_early && sickness->kind <= SICKNESS_SLOW;
}

static int untried_count(const struct sicknesses *sicknesses)
{
    int count = 0;
    for (int i = 0; i < sicknesses->count; i++)
        count += is_untried(&sicknesses->of[i]);
    return count;
}

/* Slowness that was not tried again is noise as likely as not, and no failure is. */
static enum status sickness_report(struct acceptance *acceptance, enum accept_stage stage,
                                   const struct sickness *sickness)
{
    const struct spot *spot = &sickness->spot;
    const struct fleet_names names = fleet_names_of(acceptance);
    bool passes = sickness->ended_early && sickness->tries == 0 && sickness->kind <= SICKNESS_SLOW;
    struct found found = {
        .stage = stage,
        .host = spot->host,
        .peer = spot->peer,
        .health = passes                                           ? HEALTH_GOOD
                  : spot->kind == SPOT_HOST && sickness->confirmed ? HEALTH_BAD
                                                                   : HEALTH_SUSPECT,
        .status = passes ? STATUS_OK : sickness_status(sickness->kind),
        .unit = sickness->reason.value > 0 ? metric_unit(sickness->reason.metric) : NULL,
        .reason = sickness->reason};
    struct text text = text_in(found.text, sizeof found.text);
    sickness_put(sickness, &names, &text);
    return findings_add(&acceptance->findings, &found);
}

/* If half of the fleet or more stands out, nothing tells which half is sick. */
static enum status sicknesses_report(struct acceptance *acceptance, enum accept_stage stage,
                                     const struct sicknesses *sicknesses,
                                     struct stage_result *result)
{
    enum status status = STATUS_OK;
    int untried = untried_count(sicknesses);
    bool uneven = 2 * untried >= acceptance->roster->host_count;
    if (uneven)
        stage_lacks(result, STAGE_PARTLY,
                    "%d suspects had no good partner left: the fleet is too uneven to tell which "
                    "hosts are sick",
                    untried);
    for (int i = 0; i < sicknesses->count && status == STATUS_OK; i++) {
        const struct sickness *sickness = &sicknesses->of[i];
        if (is_explained(acceptance, sickness) || (uneven && is_untried(sickness)))
            continue;
        status = sickness_report(acceptance, stage, sickness);
    }
    return status;
}

/* Are messages moved by the kernel? A latency of its TCP is one of schedulers: a busy CPU may double it,
 * and take a part of a bandwidth. */
static bool is_by_kernel(const struct fleet *fleet)
{
    return fleet_median(fleet, METRIC_LATENCY) > KERNEL_LATENCY;
}

/* What no host can be accused of, since all have it. One connection of a kernel's TCP need not fill its
 * link. */
static enum status notes_report(struct acceptance *acceptance, enum accept_stage stage,
                                const struct limits *limits)
{
    const struct fleet_names names = fleet_names_of(acceptance);
    const struct fleet_note *notes = limits_notes(limits);
    enum status status = STATUS_OK;
    for (int i = 0; i < limits_note_count(limits) && status == STATUS_OK; i++) {
        bool usual = notes[i].yardstick == YARDSTICK_RATE && is_by_kernel(acceptance->fleet);
        struct found found = {
            .stage = stage, .host = -1, .peer = -1, .status = usual ? STATUS_OK : STATUS_SLOW};
        struct text text = text_in(found.text, sizeof found.text);
        fleet_note_put(&notes[i], acceptance->fleet, &names, &text);
        status = findings_add(&acceptance->findings, &found);
    }
    return status;
}

struct isolating {
    struct acceptance *acceptance;
    struct limits *limits;
    struct isolation *isolation;
    bool *present;
    struct host_pair *pairs;
    int rounds;
};

static enum status isolate_rounds(struct isolating *it, struct stage_result *result)
{
    struct pair_jobs jobs = jobs_of(it->acceptance);
    struct readings *readings = &it->acceptance->isolated;
    enum status status = STATUS_OK;
    double longest = 0;
    uint64_t rails;
    while (status == STATUS_OK && it->rounds < ISOLATIONS_MOST) {
        double left = stage_left(it->acceptance);
        present_find(it->acceptance, it->present);
        int count = isolation_pairs(it->isolation, it->present, it->pairs, &rails);
        size_t before = readings->count;
        if (count < 0)
            status = fail(STATUS_ERROR, "out of memory for the suspects");
        if (count <= 0)
            break;
        if (left < longest) {
            stage_lacks(result, STAGE_PARTLY,
                        "its time was over after %d rounds, and there was more to try", it->rounds);
            break;
        }
        it->rounds++;
        status = pair_jobs_run(&jobs, STAGE_ISOLATE, it->pairs, count, rails, readings);
        if (status == STATUS_OK &&
            !isolation_add(it->isolation, readings->of + before, readings->count - before))
            status = fail(STATUS_ERROR, "out of memory for the suspects");
        longest = fmax(longest, left - stage_left(it->acceptance));
    }
    failed_jobs_free(&jobs.failed);
    return status;
}

/* What is known of the suspects, as findings of this stage. */
static enum status isolate_report(const struct isolating *it, enum accept_stage stage, int suspects,
                                  struct stage_result *result)
{
    struct acceptance *acceptance = it->acceptance;
    struct sicknesses *sicknesses = sicknesses_find(acceptance->fleet, it->isolation);
    if (!sicknesses)
        return fail(STATUS_ERROR, "out of memory for the findings");
    enum status status = sicknesses_report(acceptance, stage, sicknesses, result);
    if (status == STATUS_OK)
        status = notes_report(acceptance, stage, it->limits);
    if (stage == STAGE_ISOLATE)
        stage_says(result, "%d suspects, %d rounds: %d findings, %d were disturbed measurements",
                   suspects, it->rounds, sicknesses->count, sicknesses->passing);
    if (stage == STAGE_ISOLATE && sicknesses->untried > 0)
        stage_lacks(result, STAGE_PARTLY, "%d links were slow and were not measured again",
                    sicknesses->untried);
    sicknesses_free(sicknesses);
    return status;
}

/* The spread of a few hosts says little. */
static struct yardsticks yardsticks_find(const struct acceptance *acceptance)
{
    const struct fleet *fleet = acceptance->fleet;
    struct yardsticks yardsticks = yardsticks_default();
    double *alone = &yardsticks.floor[METRIC_ALONE], *both = &yardsticks.floor[METRIC_BOTH];
    yardsticks.rates = acceptance->rails.rates;
    if (is_by_kernel(fleet)) {
        yardsticks.floor[METRIC_LATENCY] = KERNEL_FLOOR;
        *alone = *both = KERNEL_SHARE;
    }
    if (fleet_shape(fleet)->hosts < FEW_HOSTS)
        *alone = *both = FEW_SHARE;
    for (int m = 0; m < METRICS; m++)
        yardsticks.asked[m] = host_profile_asked(&acceptance->profile, reading_metric_keys[m]);
    yardsticks.earlier = acceptance->baseline.pairs.of;
    yardsticks.earlier_count = acceptance->baseline.pairs.count;
    return yardsticks;
}

/* What pairs has shown, before anything is tried again. False: out of memory. */
static bool isolating_open(struct isolating *it)
{
    const struct acceptance *acceptance = it->acceptance;
    const struct readings *readings = &acceptance->paired;
    const struct yardsticks yardsticks = yardsticks_find(acceptance);
    size_t hosts = (size_t)acceptance->roster->host_count;
    it->present = calloc(hosts, sizeof *it->present);
    it->pairs = calloc(hosts, sizeof *it->pairs);
    it->limits = limits_create(acceptance->fleet, &yardsticks, readings->of, readings->count);
    it->isolation = it->limits ? isolation_create(acceptance->fleet, it->limits, readings->of,
                                                  readings->count, acceptance->seed)
                               : NULL;
    return it->present && it->pairs && it->isolation;
}

static void isolating_close(struct isolating *it)
{
    isolation_free(it->isolation);
    limits_free(it->limits);
    free(it->present);
    free(it->pairs);
}

/* Suspects are tried again if they are to be; else what a measurement showed that failed is told. */
static enum status suspects_judge(struct acceptance *acceptance, enum accept_stage stage,
                                  struct stage_result *result)
{
    struct isolating it = {.acceptance = acceptance};
    enum status status = baseline_pairs_take(&acceptance->baseline, acceptance->rails.names,
                                             acceptance->rails.count);
    if (status == STATUS_OK && !isolating_open(&it))
        status = fail(STATUS_ERROR, "out of memory for the suspects");
    int suspects = status == STATUS_OK ? isolation_suspicion(it.isolation)->count : 0;
    if (status == STATUS_OK && stage == STAGE_ISOLATE)
        status = isolate_rounds(&it, result);
    if (status == STATUS_OK)
        status = isolate_report(&it, stage, suspects, result);
    isolating_close(&it);
    return status;
}

enum status isolate_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    if (acceptance->fleet && acceptance->paired.count > 0)
        return suspects_judge(acceptance, STAGE_ISOLATE, result);
    stage_lacks(result, STAGE_LEFT_OUT, "no pairs were measured");
    return STATUS_OK;
}

enum status isolate_stage_miss(struct acceptance *acceptance, struct stage_result *pairs)
{
    bool any = acceptance->fleet && acceptance->paired.count > 0;
    return any ? suspects_judge(acceptance, STAGE_PAIRS, pairs) : STATUS_OK;
}
