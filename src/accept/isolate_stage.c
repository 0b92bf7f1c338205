/*
 * isolate_stage.c - measures suspects again with hosts without any finding, until each is
 * confirmed or cleared (accept/judge/judge.h).
 */
#include "accept/internal.h"

#define KERNEL_LATENCY  10.0 /* us: no NIC that is spoken to from user space is slower */
#define KERNEL_FLOOR    1.0
#define KERNEL_SHARE    0.1 /* of a bandwidth */
#define FEW_HOSTS       8
#define FEW_SHARE       0.15
#define ISOLATIONS_MOST 64 /* rounds: more than any fleet needs */

/* A lost agent, also one whose loss was noticed later, and lost packets are findings of their
 * own, and accuse no partner. */
static bool is_explained(const struct acceptance *acceptance, const struct sickness *sickness)
{
    return sickness->worst->outcome != READING_WRONG &&
           (host_is_explained(acceptance, sickness->host) ||
            (sickness->peer >= 0 && host_is_explained(acceptance, sickness->peer)));
}

/* Slow hosts that no good one was left to be tried with. */
static bool is_untried(const struct sickness *sickness)
{
    return sickness->place == PLACE_HOST && !sickness->confirmed && sickness->worst->tries == 0 &&
           !sickness->ended_early && sickness->kind != SICKNESS_FAILURE;
}

static int untried_count(const struct sicknesses *sicknesses)
{
    int count = 0;
    for (int i = 0; i < sicknesses->count; i++)
        count += is_untried(&sicknesses->items[i]);
    return count;
}

static void sickness_report(struct acceptance *acceptance, enum accept_stage stage,
                            const struct sickness *sickness)
{
    const struct fleet_names names = fleet_names_of(acceptance);
    bool failure = sickness->kind == SICKNESS_FAILURE;
    struct found found = {.stage = stage,
                          .host = sickness->host,
                          .peer = sickness->peer,
                          .health = sickness_health(sickness),
                          .unit = sickness->reason.value > 0 ? metric_unit(sickness->reason.metric)
                                                             : NULL,
                          .reason = sickness->reason};
    if (found.health != HEALTH_GOOD)
        found.status = failure ? outcome_status(sickness->worst->outcome) : STATUS_SLOW;
    struct text text = text_in(found.text, sizeof found.text);
    snprintf(found.what, sizeof found.what, "%s, rail %d",
             failure                              ? "failure"
             : sickness->kind == SICKNESS_LATENCY ? "latency"
                                                  : "bandwidth",
             sickness->rail);
    sickness_put(sickness, &names, &text);
    findings_add(&acceptance->findings, &found);
}

/* If half of the fleet or more stands out, nothing tells which half is sick. */
static void sicknesses_report(struct acceptance *acceptance, enum accept_stage stage,
                              const struct sicknesses *sicknesses, struct stage_result *result)
{
    int untried = untried_count(sicknesses);
    bool uneven = 2 * untried >= acceptance->roster->host_count;
    if (uneven)
        stage_lacks(result, STAGE_PARTLY,
                    "%d suspects had no good partner left: the fleet is too uneven to tell which "
                    "hosts are sick",
                    untried);
    for (int i = 0; i < sicknesses->count; i++) {
        const struct sickness *sickness = &sicknesses->items[i];
        if (!is_explained(acceptance, sickness) && !(uneven && is_untried(sickness)))
            sickness_report(acceptance, stage, sickness);
    }
}

/* Are messages moved by the kernel? A latency of its TCP is one of schedulers: a busy CPU may
 * double it, and take a part of a bandwidth. */
static bool is_by_kernel(const struct fleet *fleet)
{
    return fleet_median(fleet, METRIC_LATENCY) > KERNEL_LATENCY;
}

/* What no host can be accused of, since all have it. One connection of a kernel's TCP need not
 * fill its link. */
static void notes_report(struct acceptance *acceptance, enum accept_stage stage,
                         const struct limits *limits)
{
    const struct fleet_names names = fleet_names_of(acceptance);
    for (int i = 0; i < limits->note_count; i++) {
        const struct fleet_note *note = &limits->notes[i];
        bool usual = note->yardstick == YARDSTICK_RATE && is_by_kernel(acceptance->fleet);
        struct found found = {
            .stage = stage, .host = -1, .peer = -1, .status = usual ? STATUS_OK : STATUS_SLOW};
        struct text text = text_in(found.text, sizeof found.text);
        fleet_note_put(note, acceptance->fleet, &names, &text);
        findings_add(&acceptance->findings, &found);
    }
}

/* Returns in *rounds how many there were. */
static enum status isolate_rounds(struct acceptance *acceptance, struct isolation *isolation,
                                  struct stage_result *result, int *rounds)
{
    struct pair_jobs jobs = {.acceptance = acceptance};
    size_t hosts = (size_t)acceptance->roster->host_count;
    bool *present = stage_memory(acceptance, hosts, sizeof *present);
    struct host_pair *pairs = stage_memory(acceptance, hosts, sizeof *pairs);
    const struct readings *readings = &acceptance->readings;
    enum status status = STATUS_OK;
    struct turns turns = {0};
    uint64_t rails;
    while (status == STATUS_OK && *rounds < ISOLATIONS_MOST) {
        bool fits = turn_fits(&turns, acceptance);
        hosts_pairable(acceptance, present);
        int count = isolation_pairs(isolation, present, pairs, &rails), before = readings->count;
        if (count == 0)
            break;
        if (!fits) {
            stage_lacks(result, STAGE_PARTLY,
                        "its time was over after %d rounds, and there was more to try", *rounds);
            break;
        }
        ++*rounds;
        status = pair_jobs_run(&jobs, STAGE_ISOLATE, pairs, count, rails);
        if (status == STATUS_OK)
            isolation_add(isolation, readings->items + before, (size_t)(readings->count - before));
    }
    failed_jobs_free(&jobs.failed);
    return status;
}

/* What is known of the suspects, as findings of this stage. */
static void isolate_report(struct acceptance *acceptance, enum accept_stage stage,
                           const struct isolation *isolation, int suspects, int rounds,
                           struct stage_result *result)
{
    struct sicknesses *sicknesses = sicknesses_find(isolation);
    sicknesses_report(acceptance, stage, sicknesses, result);
    notes_report(acceptance, stage, isolation->limits);
    if (stage == STAGE_ISOLATE)
        stage_says(result, "%d suspect%s, %d round%s: %d finding%s, %d disturbed measurement%s",
                   suspects, plural(suspects), rounds, plural(rounds), sicknesses->count,
                   plural(sicknesses->count), sicknesses->passing, plural(sicknesses->passing));
    if (stage == STAGE_ISOLATE && sicknesses->untried > 0)
        stage_lacks(result, STAGE_PARTLY, "%d links were slow and were not measured again",
                    sicknesses->untried);
    sicknesses_free(sicknesses);
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
    if (fleet->config.hosts < FEW_HOSTS)
        *alone = *both = FEW_SHARE;
    for (int m = 0; m < METRICS; m++)
        yardsticks.asked[m] = acceptance->profile.asked[MEASURED_PAIRS + m];
    yardsticks.earlier = acceptance->baseline.pairs.items;
    yardsticks.earlier_count = (size_t)acceptance->baseline.pairs.count;
    return yardsticks;
}

/* Suspects are tried again if they are to be; else what a measurement showed that failed is
 * told. */
static enum status suspects_judge(struct acceptance *acceptance, enum accept_stage stage,
                                  struct stage_result *result)
{
    size_t count;
    const struct reading *readings = pair_readings(acceptance, &count);
    baseline_pairs_take(&acceptance->baseline, acceptance->rails.names, acceptance->rails.count);
    const struct yardsticks yardsticks = yardsticks_find(acceptance);
    struct isolation *isolation =
        isolation_create(acceptance->fleet, &yardsticks, readings, count, acceptance->seed);
    int suspects = isolation->count, rounds = 0;
    enum status status =
        stage == STAGE_ISOLATE ? isolate_rounds(acceptance, isolation, result, &rounds) : STATUS_OK;
    if (status == STATUS_OK)
        isolate_report(acceptance, stage, isolation, suspects, rounds, result);
    isolation_free(isolation);
    return status;
}

static bool pairs_are_known(const struct acceptance *acceptance)
{
    return acceptance->fleet && acceptance->pairs_end > acceptance->pairs_first;
}

enum status isolate_run(struct acceptance *acceptance, struct stage_result *result)
{
    if (pairs_are_known(acceptance))
        return suspects_judge(acceptance, STAGE_ISOLATE, result);
    stage_lacks(result, STAGE_LEFT_OUT, "no pairs were measured");
    return STATUS_OK;
}

enum status isolate_miss(struct acceptance *acceptance, struct stage_result *pairs)
{
    return pairs_are_known(acceptance) ? suspects_judge(acceptance, STAGE_PAIRS, pairs) : STATUS_OK;
}
