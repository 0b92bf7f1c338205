/*
 * isolate_stage.c - measures suspects again with hosts without any finding, until each is
 * confirmed or cleared (accept/judge/judge.h).
 */
#include "accept/internal.h"

#include <string.h>

#define KERNEL_FLOOR    3.0
#define KERNEL_SHARE    0.1 /* of a bandwidth */
#define FEW_HOSTS       8
#define FEW_SHARE       0.15
#define ISOLATIONS_MOST 64 /* rounds: more than any fleet needs */
#define AGAIN_ROUNDS    3
#define LISTED_MOST     8 /* named in a sentence */
#define LISTED_BYTES    300

/* A lost agent, also one whose loss was noticed later, is a finding of its own, and is no evidence
 * against a partner. */
static bool is_explained(const struct acceptance *acceptance, const struct fleet_fault *fault)
{
    const struct fleet_host *hosts = acceptance->roster->hosts;
    return fault->worst->outcome != READING_WRONG &&
           (hosts[fault->host].lost || (fault->peer >= 0 && hosts[fault->peer].lost));
}

/* Slow hosts that no good one was left to be tried with. */
static bool is_untried(const struct fleet_fault *fault)
{
    return fault->place == PLACE_HOST && !fault->confirmed && fault->worst->tries == 0 &&
           !fault->ended_early && fault->kind != FLEET_FAULT_FAILURE;
}

static int untried_count(const struct fleet_faults *faults)
{
    int count = 0;
    for (int i = 0; i < faults->count; i++)
        count += is_untried(&faults->items[i]);
    return count;
}

/* Do most pairs use a kernel's TCP? A busy CPU may make a latency of it three times as long, and
 * take a part of a bandwidth. */
static bool is_by_kernel(const struct acceptance *acceptance)
{
    return 2 * acceptance->tcp_lines > acceptance->lines;
}

/* ---- Do small messages pass, and large ones not? ---- */

#define SIZES_LEAST   256  /* bytes of a message */
#define SIZES_MOST    9216 /* more than the packets of Ethernet carry, which are of 9,000 bytes */
#define SIZES_STEP    64
#define SIZES_STALL   2.0 /* seconds without progress */
#define SIZES_SECONDS 12.0
#define SIZES_AGAIN   20 /* iterations, of the second try */
#define SIZES_FAULTS  4  /* of a stage, that are tried: each takes some 10 seconds */

/* The sizes of messages between which those that pass end; `stuck` 0: all pass, or none does. */
struct sizes {
    size_t passes, stuck; /* bytes */
};

/* One job, from `first` to `last`. A job that hangs has a line for each size before. */
static enum status sizes_try(struct acceptance *acceptance, int from, int to,
                             const struct sizes *range, int iterations, struct sizes *found)
{
    struct trials trials;
    const struct fleet_host *hosts = acceptance->roster->hosts;
    const int agents[] = {hosts[from].agents[0], hosts[to].agents[0]};
    size_t index, passes = 0;
    const json_t *line;
    trials_open(&trials, acceptance, STAGE_ISOLATE);
    trials.aside = true;
    trials_add(&trials, agents, 2,
               "sendrecv -a uni -b %zu -e %zu -i %d -n %d -w 0 -c 0 --timeout %g", range->passes,
               range->stuck, SIZES_STEP, iterations, SIZES_STALL);
    enum status status = trials_run(&trials, SIZES_SECONDS);
    const struct trial *trial = &trials.outcomes[0];
    json_array_foreach(json_object_get(trial->document, "results"), index, line)
    {
        passes = (size_t)json_integer_value(json_object_get(line, "bytes"));
    }
    bool stuck = trial->outcome == READING_LATE && !trial->cut && passes > 0;
    *found = (struct sizes){.passes = passes, .stuck = stuck ? passes + SIZES_STEP : 0};
    trials_close(&trials);
    return status;
}

/* The sizes at which a job hangs twice, and below which many messages pass. */
static enum status sizes_find(struct acceptance *acceptance, int from, int to, struct sizes *found)
{
    static const struct sizes all = {.passes = SIZES_LEAST, .stuck = SIZES_MOST};
    struct sizes first, second = {0};
    *found = second;
    TRY(sizes_try(acceptance, from, to, &all, 1, &first));
    if (first.stuck > 0)
        TRY(sizes_try(acceptance, from, to, &first, SIZES_AGAIN, &second));
    if (second.stuck == first.stuck)
        *found = second;
    return STATUS_OK;
}

/* Adds to a measurement that did not end why it did not, if it was the size of packets: of a
 * kernel's TCP, which sends a message as packets of its own size. */
static enum status sizes_explain(struct acceptance *acceptance, const struct fleet_fault *fault,
                                 struct text *text, enum found_kind *kind)
{
    const struct suspect *worst = fault->worst;
    int peer = fault->peer >= 0 ? fault->peer : worst->partner_count > 0 ? worst->partners[0] : -1;
    const int ways[2][2] = {{fault->host, peer}, {peer, fault->host}};
    if (worst->outcome != READING_LATE || peer < 0 || !is_by_kernel(acceptance) ||
        acceptance->sized >= SIZES_FAULTS || stage_left(acceptance) < 2 * SIZES_SECONDS)
        return STATUS_OK;
    acceptance->sized++;
    for (int way = 0; way < 2; way++) {
        struct sizes sizes;
        TRY(sizes_find(acceptance, ways[way][0], ways[way][1], &sizes));
        if (sizes.stuck == 0)
            continue;
        *kind = FOUND_MTU;
        text_add(text,
                 "; from %s to %s messages of %zu bytes pass, and of %zu do not: a port or "
                 "switch on this path drops large packets, since its MTU is too small",
                 acceptance->labels[ways[way][0]], acceptance->labels[ways[way][1]], sizes.passes,
                 sizes.stuck);
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* ---- findings ---- */

/* Places in a sentence, each once: "h2, h1-h4 and 3 more". */
struct suspect_list {
    struct text text;
    int named, more;
};

static void suspect_list_add(struct suspect_list *list, const struct acceptance *acceptance,
                             int host, int peer)
{
    const char *const *labels = acceptance->labels;
    bool named = list->named < LISTED_MOST;
    list->named += named;
    list->more += !named;
    if (named)
        text_add(&list->text, "%s%s%s%s", list->text.used > 0 ? ", " : "", labels[host],
                 peer >= 0 ? "-" : "", peer >= 0 ? labels[peer] : "");
}

static void suspect_list_end(struct suspect_list *list)
{
    if (list->more > 0)
        text_add(&list->text, " and %d more", list->more);
}

/* Suspects with which isolation began: one of each place. */
static void suspects_put(const struct acceptance *acceptance, const struct isolation *isolation,
                         int count, struct suspect_list *list)
{
    for (const struct suspect *s = isolation->suspects; s && s->number < count; s = s->next) {
        bool again = false;
        for (const struct suspect *one = isolation->hosts[s->host].suspects; one;
             one = one->sibling)
            again |= one->number < s->number && one->peer == s->peer;
        if (!again)
            suspect_list_add(list, acceptance, s->host, s->peer);
    }
    suspect_list_end(list);
}

/* Two ends that are good with others have a path between them that is at fault. */
static enum found_kind fault_kind(const struct fleet_fault *fault)
{
    bool is_path = fault->place == PLACE_LINK;
    switch (fault->kind) {
    case FLEET_FAULT_LATENCY:
        return is_path ? FOUND_SLOW_PATH : FOUND_LATENCY;
    case FLEET_FAULT_LOSS:
        return FOUND_LOSS;
    case FLEET_FAULT_FAILURE:
        return is_path && fault->worst->outcome != READING_WRONG
                   ? FOUND_SLOW_PATH
                   : outcome_kind(fault->worst->outcome);
    default:
        return is_path ? FOUND_SLOW_PATH : FOUND_SLOW_PORT;
    }
}

static enum status fleet_fault_report(struct acceptance *acceptance, enum accept_stage stage,
                                      const struct fleet_fault *fault)
{
    const struct fleet_names names = fleet_names_of(acceptance);
    bool failure = fault->kind == FLEET_FAULT_FAILURE;
    struct found found = {.stage = stage,
                          .kind = fault_kind(fault),
                          .host = fault->host,
                          .peer = fault->peer,
                          .health = fleet_fault_health(fault),
                          .unit =
                              fault->reason.value > 0 ? metric_unit(fault->reason.metric) : NULL,
                          .reason = fault->reason};
    if (found.health != HEALTH_GOOD)
        found.status = failure ? outcome_status(fault->worst->outcome) : STATUS_SLOW;
    struct text text = text_in(found.text, sizeof found.text);
    snprintf(found.what, sizeof found.what, "%s, rail %d",
             failure                              ? "failure"
             : fault->kind == FLEET_FAULT_LOSS    ? "loss"
             : fault->kind == FLEET_FAULT_LATENCY ? "latency"
                                                  : "bandwidth",
             fault->rail);
    fleet_fault_put(fault, &names, &text);
    TRY(sizes_explain(acceptance, fault, &text, &found.kind));
    findings_add(&acceptance->findings, &found);
    return STATUS_OK;
}

/* If half of the fleet or more stands out, nothing tells which half is faulty. */
static enum status fleet_faults_report(struct acceptance *acceptance, enum accept_stage stage,
                                       const struct fleet_faults *faults,
                                       struct stage_result *result)
{
    char listed[LISTED_BYTES];
    struct suspect_list list = {.text = text_in(listed, sizeof listed)};
    int untried = untried_count(faults);
    bool uneven = 2 * untried >= acceptance->roster->host_count;
    for (int i = 0; i < faults->count; i++)
        if (is_untried(&faults->items[i]))
            suspect_list_add(&list, acceptance, faults->items[i].host, -1);
    suspect_list_end(&list);
    if (uneven)
        stage_lacks(result, STAGE_PARTLY,
                    "%d suspects (%s) had no good partner left: the fleet is too uneven to tell "
                    "which hosts are faulty",
                    untried, listed);
    for (int i = 0; i < faults->count; i++) {
        const struct fleet_fault *fault = &faults->items[i];
        if (!is_explained(acceptance, fault) && !(uneven && is_untried(fault)))
            TRY(fleet_fault_report(acceptance, stage, fault));
    }
    return STATUS_OK;
}

/* No host is the cause, since all have it. One connection of a kernel's TCP need not
 * fill its link. */
static void notes_report(struct acceptance *acceptance, enum accept_stage stage,
                         const struct limits *limits)
{
    const struct fleet_names names = fleet_names_of(acceptance);
    for (int i = 0; i < limits->note_count; i++) {
        const struct fleet_note *note = &limits->notes[i];
        bool usual = note->reference == REFERENCE_RATE && is_by_kernel(acceptance);
        struct found found = {.stage = stage,
                              .kind = usual ? FOUND_NOTE : FOUND_ALL_MISS,
                              .host = -1,
                              .peer = -1,
                              .status = usual ? STATUS_OK : STATUS_SLOW};
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

/* Reports all that is known of the suspects, as findings of this stage. */
static enum status isolate_report(struct acceptance *acceptance, enum accept_stage stage,
                                  const struct isolation *isolation, int suspects, int rounds,
                                  struct stage_result *result)
{
    char listed[LISTED_BYTES];
    struct suspect_list list = {.text = text_in(listed, sizeof listed)};
    struct fleet_faults *faults = fleet_faults_find(isolation);
    enum status status = fleet_faults_report(acceptance, stage, faults, result);
    if (stage != STAGE_ALL)
        notes_report(acceptance, stage, isolation->limits); /* of the fleet, before */
    suspects_put(acceptance, isolation, suspects, &list);
    if (stage == STAGE_ISOLATE)
        stage_says(result,
                   "%d suspect%s%s%s%s, %d round%s: %d finding%s, %d disturbed measurement%s",
                   suspects, plural(suspects), suspects > 0 ? " (" : "", listed,
                   suspects > 0 ? ")" : "", rounds, plural(rounds), faults->count,
                   plural(faults->count), faults->passing, plural(faults->passing));
    if (stage != STAGE_PAIRS && faults->untried > 0)
        stage_lacks(result, STAGE_PARTLY, "%d links were slow and were not measured again",
                    faults->untried);
    fleet_faults_free(faults);
    return status;
}

/* The spread of a few hosts says little. */
static struct references references_find(const struct acceptance *acceptance,
                                         enum accept_stage stage)
{
    const struct fleet *fleet = acceptance->fleet;
    struct references references = references_default();
    double *alone = &references.floor[METRIC_ALONE], *both = &references.floor[METRIC_BOTH];
    references.rates = acceptance->rails.rates;
    double share = stage == STAGE_ALL ? ALARMS_AGAIN : ALARMS_PAIRS;
    references.alarms = share * acceptance->asked->false_alarms;
    if (is_by_kernel(acceptance)) {
        references.floor[METRIC_LATENCY] = KERNEL_FLOOR;
        *alone = *both = KERNEL_SHARE;
    }
    if (fleet->config.hosts < FEW_HOSTS)
        *alone = *both = FEW_SHARE;
    for (int m = 0; m < METRICS; m++)
        references.asked[m] = acceptance->profile.asked[MEASURED_PAIRS + m];
    return references;
}

/* Suspects are tried again, but in the stage pairs, where only what a measurement showed that
 * failed is told. `earlier`: of an earlier run, or of this one, of the same hosts. */
static enum status suspects_judge(struct acceptance *acceptance, enum accept_stage stage,
                                  const struct readings *earlier, struct stage_result *result)
{
    size_t count;
    const struct reading *readings = pair_readings(acceptance, &count);
    struct references references = references_find(acceptance, stage);
    references.earlier = earlier->items;
    references.earlier_count = (size_t)earlier->count;
    struct isolation *isolation =
        isolation_create(acceptance->fleet, &references, readings, count, acceptance->seed);
    int suspects = isolation->count, rounds = 0;
    if (stage == STAGE_ISOLATE) {
        acceptance->sensitivity = limits_sensitivity(isolation->limits);
        acceptance->isolated = true;
    }
    enum status status =
        stage != STAGE_PAIRS ? isolate_rounds(acceptance, isolation, result, &rounds) : STATUS_OK;
    if (status == STATUS_OK)
        status = isolate_report(acceptance, stage, isolation, suspects, rounds, result);
    isolation_free(isolation);
    return status;
}

static bool pairs_are_known(const struct acceptance *acceptance)
{
    return acceptance->fleet && acceptance->pairs_end > acceptance->pairs_first;
}

/* Compares with the earlier run that the user gave, too, if any. */
static enum status pairs_judge(struct acceptance *acceptance, enum accept_stage stage,
                               struct stage_result *result)
{
    struct baseline *baseline = &acceptance->baseline;
    baseline_pairs_take(baseline, acceptance->rails.names, acceptance->rails.count);
    return suspects_judge(acceptance, stage, &baseline->pairs, result);
}

enum status isolate_run(struct acceptance *acceptance, struct stage_result *result)
{
    if (pairs_are_known(acceptance))
        return pairs_judge(acceptance, STAGE_ISOLATE, result);
    stage_lacks(result, STAGE_LEFT_OUT, "no pairs were measured");
    return STATUS_OK;
}

enum status isolate_miss(struct acceptance *acceptance, struct stage_result *pairs)
{
    return pairs_are_known(acceptance) ? pairs_judge(acceptance, STAGE_PAIRS, pairs) : STATUS_OK;
}

/* The readings of the last pairs, in memory of the stage. Without those that cross a slow way
 * between two parts: each has as much of it as others leave. */
static struct readings pairs_copy(struct acceptance *acceptance)
{
    size_t count;
    const struct reading *readings = pair_readings(acceptance, &count);
    const struct switch_level *parts = &acceptance->leaves;
    struct readings copy = {.items = stage_memory(acceptance, count, sizeof *copy.items)};
    for (size_t i = 0; i < count; i++)
        if (!parts->inferred ||
            parts->switches[readings[i].from] == parts->switches[readings[i].to])
            copy.items[copy.count++] = readings[i];
    return copy;
}

static bool finds_hosts(const struct findings *findings, int first)
{
    bool found = false;
    for (int i = first; i < findings->count; i++)
        found |= findings->items[i].host >= 0 && findings->items[i].health != HEALTH_GOOD;
    return found;
}

enum status isolate_again(struct acceptance *acceptance, struct stage_result *result, bool *found)
{
    *found = false;
    if (!pairs_are_known(acceptance))
        return STATUS_OK;
    struct fleet *fleet = acceptance->fleet;
    int first = acceptance->pairs_first, end = acceptance->pairs_end;
    int findings = acceptance->findings.count;
    struct readings earlier = pairs_copy(acceptance);
    size_t count;
    acceptance->pairs_first = acceptance->readings.count;
    enum status status = pairs_once_more(acceptance, AGAIN_ROUNDS);
    acceptance->pairs_end = acceptance->readings.count;
    const struct reading *readings = pair_readings(acceptance, &count);
    if (status == STATUS_OK && count > 0) {
        acceptance->fleet = fleet_create(&fleet->config, readings, count);
        status = suspects_judge(acceptance, STAGE_ALL, &earlier, result);
        fleet_free(acceptance->fleet);
    }
    acceptance->fleet = fleet;
    acceptance->pairs_first = first;
    acceptance->pairs_end = end;
    *found = finds_hosts(&acceptance->findings, findings);
    return status;
}
