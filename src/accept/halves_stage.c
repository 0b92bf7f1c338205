/*
 * halves_stage.c - the stages halves and all: what shows only when many hosts talk at once.
 *
 * The hosts that are good are halved, and each exchanges with one of the other half: first some of
 * these pairs, then all at the same time. Halves are random, and by switch where --switches tells
 * the switches: hosts behind half of them exchange with hosts behind the others. What seems
 * congested is halved again, and told if it seems so then, too. Where no switches are known, the
 * stage then looks for two parts of the fleet between which pairs have less, and tries them.
 *
 * A rank that waits for its core, because other programs have it, moves nothing, and the network is
 * not the cause. So the time does not count that it waits for longer where all exchange than where
 * few do. Where it waits for much of the time even then, its core limits both, and nothing shows of
 * the network.
 */
#include "accept/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/host_list.h"
#include "base/numbers.h"

#define JOB_SECONDS  60.0 /* that the exchange of all pairs may take */
#define LINE_SECONDS 1.0  /* and what is timed of it */
#define LINE_QUICK   0.3
#define SPLITS       3 /* of each kind, */
#define TIMES        2 /* so often at most */
#define FEW_ROUNDS   2 /* in which few of a split's pairs exchange, others in each */
#define FEW_SHARE    8 /* of random pairs, 1 in so many are few */
#define PAIRS_LEAST  2 /* of a split: one pair alone is few and all */
#define LIST_MOST    200
#define WAITED_TOLD  0.1 /* a wait for a core, as a share of the time: from here on it is told, */
#define WAITED_MOST  0.1 /* and of few, on average: from here on no congestion is */

/* Halves of one kind. */
struct halving {
    struct acceptance *acceptance;
    const struct switch_level *level; /* whose switches are halved; NULL: random halves */
    uint64_t random;
    int *hosts, count;                   /* that are good */
    int made;                            /* splits so far, measured or not */
    bool *present;                       /* of each of the hosts that are good: true */
    int *agents;                         /* room for those of all pairs of a split */
    struct exchange_transfer *transfers; /* of all splits, of each as many as it has pairs */
    size_t transfer_count;               /* without those of the present split, */
    struct exchange_transfer *split;     /* which follow */
    int pair_count;                      /* of the present split */
    struct host_pair *pairs;             /* likewise */
    struct exchange_transfer **chosen;   /* that exchange at the same time */
    int few_rounds;                      /* so far */
    int *round_of;      /* of each switch: the last round of few that it had a host in */
    int done;           /* splits */
    double *few_waited; /* of each transfer: as a share of the time, a rank's wait for its core */
    double *usual;      /* likewise: GB/s, what it has when few exchange, or the median of those of
                           its split that were among few */
    double few_sum;     /* of few_waited, */
    int few_count;      /* and how many */
    int *side;          /* of each host: its part of the fleet, as cut_of_transfers() has them */
    double waited;      /* the most where all exchanged */
};

static struct halving halving_open(struct acceptance *acceptance, const struct switch_level *level)
{
    size_t count = (size_t)acceptance->roster->host_count;
    struct halving halving = {.acceptance = acceptance, .level = level, .random = acceptance->seed};
    halving.hosts = stage_memory(acceptance, count, sizeof *halving.hosts);
    halving.present = stage_memory(acceptance, count, sizeof *halving.present);
    halving.agents = stage_memory(acceptance, count, sizeof *halving.agents);
    halving.transfers = stage_memory(acceptance, TIMES * SPLITS * count, sizeof *halving.transfers);
    halving.few_waited =
        stage_memory(acceptance, TIMES * SPLITS * count, sizeof *halving.few_waited);
    halving.usual = stage_memory(acceptance, TIMES * SPLITS * count, sizeof *halving.usual);
    halving.side = stage_memory(acceptance, count, sizeof *halving.side);
    halving.pairs = stage_memory(acceptance, count, sizeof *halving.pairs);
    halving.chosen = stage_memory(acceptance, count, sizeof *halving.chosen);
    halving.round_of =
        stage_memory(acceptance, count, sizeof *halving.round_of); /* no more than hosts */
    return halving;
}

/* ---- pairs ---- */

/* Pairs of random halves. The splits of 7 hosts and more have no pair in common. */
static void halves_draw(struct halving *halving)
{
    halving->pair_count = 0;
    if (halving->count < 2)
        return;
    struct host_pair *pairs = halving->pairs;
    struct rounds *plan = rounds_plan(halving->count, TIMES * SPLITS, halving->random);
    for (int i = 0; i < halving->count; i++)
        halving->present[i] = true;
    halving->pair_count = rounds_pairs(plan, halving->made++, halving->present, pairs);
    for (int i = 0; i < halving->pair_count; i++)
        pairs[i] =
            (struct host_pair){.a = halving->hosts[pairs[i].a], .b = halving->hosts[pairs[i].b]};
    rounds_free(plan);
}

static void split_make(struct halving *halving)
{
    struct host_pair *pairs = halving->pairs;
    halving->count = hosts_good(halving->acceptance, halving->hosts);
    if (halving->level) {
        halving->pair_count =
            switches_pairs(halving->level, halving->hosts, halving->count, &halving->random, pairs);
    } else {
        halves_draw(halving);
    }
    halving->split = halving->transfers + halving->transfer_count;
    for (int i = 0; i < halving->pair_count; i++)
        halving->split[i] = (struct exchange_transfer){.from = pairs[i].a, .to = pairs[i].b};
}

/* Is there a place among the few of a round for a pair? By switch, each one has a host in one pair
 * at most. */
static bool few_has_place(struct halving *halving, int count, const struct exchange_transfer *pair)
{
    int share = halving->pair_count / FEW_SHARE;
    if (!halving->level)
        return count < (share > 1 ? share : 1);
    int *a = &halving->round_of[halving->level->switches[pair->from]],
        *b = &halving->round_of[halving->level->switches[pair->to]];
    if (*a == halving->few_rounds || *b == halving->few_rounds)
        return false;
    *a = *b = halving->few_rounds;
    return true;
}

/* Chooses pairs that have no value of few yet; how many. */
static int few_choose(struct halving *halving)
{
    int count = 0;
    halving->few_rounds++;
    for (int i = 0; i < halving->pair_count; i++)
        if (halving->split[i].few == 0 && few_has_place(halving, count, &halving->split[i]))
            halving->chosen[count++] = &halving->split[i];
    return count;
}

/* ---- exchanges ---- */

/* The transport of a split: each has another rail, if its hosts have it; NULL: as the user gave
 * it. */
static const char *split_transport(const struct halving *halving, char text[PORT_TRANSPORT_MOST])
{
    const struct acceptance *acceptance = halving->acceptance;
    const struct rails *rails = &acceptance->rails;
    int rail = rails->count > 0 ? halving->done % rails->count : 0;
    for (int i = 0; i < halving->pair_count; i++)
        if (!rail_is_at(rails, rail, acceptance->inventories, halving->pairs[i].a) ||
            !rail_is_at(rails, rail, acceptance->inventories, halving->pairs[i].b))
            return NULL;
    return rail_transport(acceptance->job, rails, rail, text);
}

static void pair_agents(const struct acceptance *acceptance, int a, int b, int agents[2])
{
    agents[0] = acceptance->roster->hosts[a].agents[0];
    agents[1] = acceptance->roster->hosts[b].agents[0];
}

/* The rate of a pair of an exchange in each direction, GB/s; 0: it is not known. */
static double pair_rate(const json_t *line, int pair)
{
    return line_number(json_array_get(json_object_get(line, "groups"), (size_t)pair), "busbw_GBps");
}

static void values_take(struct halving *halving, const json_t *line, int count, bool few)
{
    for (int i = 0; i < count; i++) {
        int rank;
        double waited = line_core_wait(line, 2 * i, 2, &rank);
        double value = pair_rate(line, i);
        double *few_waited = &halving->few_waited[halving->chosen[i] - halving->transfers];
        if (few) {
            halving->chosen[i]->few = value;
            halving->few_sum += *few_waited = waited;
            halving->few_count++;
        } else {
            halving->chosen[i]->many = value * fmax(1, (1 - *few_waited) / (1 - waited));
            halving->waited = fmax(halving->waited, waited);
        }
    }
}

/* Pairs of agents exchange at the same time. *known: their values are there. */
static enum status exchange_run(struct trials *trials, const int *agents, int count, bool *known)
{
    const struct acceptance *acceptance = trials->acceptance;
    trials_add(
        trials, agents, count,
        "sendrecv -a bidir -b %zu -e %zu --split 2 -n auto --budget %g -w 2 -c all --timeout 15",
        acceptance->message_bytes, acceptance->message_bytes,
        acceptance->asked->quick ? LINE_QUICK : LINE_SECONDS);
    enum status status = trials_run(trials, JOB_SECONDS);
    *known = status == STATUS_OK && trials->outcomes[0].outcome == READING_VALUE;
    return status;
}

/* The chosen pairs exchange at the same time, few or many. *known: their values are there; else a
 * finding says why not. */
static enum status pairs_exchange(struct halving *halving, int count, bool few, bool *known)
{
    struct acceptance *acceptance = halving->acceptance;
    struct trials trials;
    char transport[PORT_TRANSPORT_MOST];
    for (int i = 0; i < count; i++)
        pair_agents(acceptance, halving->chosen[i]->from, halving->chosen[i]->to,
                    &halving->agents[2 * i]);
    trials_open(&trials, acceptance, STAGE_HALVES);
    trials.transport = split_transport(halving, transport);
    enum status status = exchange_run(&trials, halving->agents, 2 * count, known);
    if (*known)
        values_take(halving, trials_line(&trials, 0, NULL, NULL, 1), count, few);
    else if (status == STATUS_OK)
        trials_find_failure(&trials, 0);
    trials_close(&trials);
    return status;
}

static void usual_find(struct halving *halving)
{
    double *usual = halving->usual + halving->transfer_count;
    size_t few = 0;
    for (int i = 0; i < halving->pair_count; i++)
        if (halving->split[i].few > 0)
            usual[few++] = halving->split[i].few;
    double median = median_of(usual, few);
    for (int i = 0; i < halving->pair_count; i++)
        usual[i] = halving->split[i].few > 0 ? halving->split[i].few : median;
}

/* One split: few of its pairs, then all. */
static enum status split_run(struct halving *halving)
{
    bool known = true;
    split_make(halving);
    if (halving->pair_count < PAIRS_LEAST)
        return STATUS_OK;
    for (int r = 0; r < FEW_ROUNDS && known; r++) {
        int count = few_choose(halving);
        if (count > 0)
            TRY(pairs_exchange(halving, count, true, &known));
    }
    for (int i = 0; i < halving->pair_count; i++)
        halving->chosen[i] = &halving->split[i];
    if (known)
        TRY(pairs_exchange(halving, halving->pair_count, false, &known));
    usual_find(halving);
    halving->transfer_count += known ? (size_t)halving->pair_count : 0;
    halving->done += known;
    return STATUS_OK;
}

/* ---- judgement ---- */

/* Adds the names of the switches that take part, of the congested ones or of all. Returns how
 * many. */
static int switches_put(const struct halving *halving, const struct exchange_group *groups,
                        bool congested, struct text *text)
{
    int count = 0;
    const char **names =
        stage_memory(halving->acceptance, (size_t)halving->level->count, sizeof *names);
    for (int s = 0; s < halving->level->count; s++)
        if (groups[s].transfers > 0 && (groups[s].congested || !congested))
            names[count++] = halving->level->name[s];
    host_list_add(text, names, count);
    return count;
}

/* Reports the switches whose pairs have less. Where half of the switches explain it, it is all of
 * them: each pair has two ends. */
static void congestion_find(const struct halving *halving, const struct exchange_group *groups)
{
    char listed[LIST_MOST], whole[LIST_MOST];
    struct text list = text_in(listed, sizeof listed), all = text_in(whole, sizeof whole);
    int count = switches_put(halving, groups, true, &list);
    bool half = 2 * count >= switches_put(halving, groups, false, &all);
    double worst = 1;
    for (int s = 0; s < halving->level->count; s++)
        if (groups[s].congested && groups[s].share < worst)
            worst = groups[s].share;
    if (count == 0)
        return;
    stage_finds(halving->acceptance, STAGE_HALVES, FOUND_NETWORK, -1, HEALTH_GOOD, STATUS_SLOW,
                "all: when %d pairs of hosts %s exchange at once, the pairs %s %s have "
                "%.0f%% of the bandwidth that they have when few pairs exchange (threshold: "
                "%.0f%%): %s congested",
                halving->pair_count,
                halving->level->inferred ? "of two parts" : "behind different switches",
                half ? "between" : "behind", half ? whole : listed, 100 * worst, 100 * SHARE_LEAST,
                half         ? "the network between them is"
                : count == 1 ? "the links between this switch and the others are"
                             : "the links between these switches and the others are");
}

/* The result of a number of splits. */
struct halved {
    struct exchange_group all, *groups; /* of each switch; NULL: they are random halves */
    bool congested;                     /* a switch of them, or all */
};

/* Judges the transfers from `first` on. */
static struct halved halving_judge(const struct halving *halving, size_t first)
{
    int count = halving->level ? halving->level->count : 0;
    struct halved halved = {
        .groups = stage_memory(halving->acceptance, (size_t)count, sizeof *halved.groups)};
    halved.all =
        exchange_judge(halving->transfers + first, halving->transfer_count - first,
                       halving->level ? halving->level->switches : NULL, count, halved.groups);
    halved.congested = !halving->level && halved.all.congested;
    for (int s = 0; s < count; s++)
        halved.congested |= halved.groups[s].congested;
    return halved;
}

static void halved_find(const struct halving *halving, const struct halved *halved)
{
    if (halving->level)
        congestion_find(halving, halved->groups);
    else if (halved->congested)
        stage_finds(halving->acceptance, STAGE_HALVES, FOUND_NETWORK, -1, HEALTH_GOOD, STATUS_SLOW,
                    "all: when %d pairs of hosts exchange at once, the median pair has %.0f%% of "
                    "the bandwidth that it has when few pairs exchange (threshold: %.0f%%): the "
                    "network between the hosts is congested",
                    halving->pair_count, 100 * halved->all.share, 100 * SHARE_LEAST);
}

/* Do random halves suggest two parts of the fleet? */
static bool parts_show(const struct halving *halving)
{
    struct acceptance *acceptance = halving->acceptance;
    size_t count = halving->transfer_count;
    if (halving->level || acceptance->leaves.count > 0)
        return false;
    struct exchange_transfer *all = stage_memory(acceptance, count, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        all[i] = halving->transfers[i];
        all[i].few = halving->usual[i];
    }
    return cut_of_transfers(all, count, acceptance->roster->host_count, acceptance->seed,
                            halving->side);
}

/* ---- the stage ---- */

/* The line of the stage, of all kinds of halves. */
struct halves_said {
    struct text text, lacks;
    int done;      /* splits */
    double waited; /* as in struct halving */
};

/* Why hosts cannot be halved by switch; NULL: they can. Written into `text`. */
static const char *level_lacks(const struct halving *halving, char text[LIST_MOST])
{
    int used = switches_used(halving->level, halving->hosts, halving->count);
    if (used == 1)
        snprintf(text, LIST_MOST, "all good hosts are behind one switch, %.64s",
                 halving->level->name[halving->level->switches[halving->hosts[0]]]);
    else if (used == halving->count)
        snprintf(text, LIST_MOST, "each good host has a switch of its own");
    else
        return NULL;
    return text;
}

/* So many splits as fit into the stage's time. */
static enum status splits_run(struct halving *halving, struct turns *turns)
{
    for (int split = 0; split < SPLITS && turn_fits(turns, halving->acceptance); split++)
        TRY(split_run(halving));
    return STATUS_OK;
}

/* Measures again what seems congested. What is so both times is told by all measurements. */
static enum status congestion_confirm(struct halving *halving, struct halved *halved,
                                      struct turns *turns, const char *what,
                                      struct halves_said *said)
{
    const struct halved before = *halved;
    size_t first = halving->transfer_count;
    TRY(splits_run(halving, turns));
    if (halving->transfer_count == first)
        text_add(&said->lacks, "%s%s seem congested and could not be measured again",
                 said->lacks.used ? "; " : "", what);
    struct halved after = halving_judge(halving, first);
    bool again = !halving->level && after.congested;
    *halved = halving_judge(halving, 0);
    if (parts_show(halving)) {
        TRY(parts_try(halving->acceptance, STAGE_HALVES, 0, halving->hosts, halving->count,
                      halving->side));
        if (halving->acceptance->leaves.inferred)
            return STATUS_OK;
    }
    for (int s = 0; halving->level && s < halving->level->count; s++) {
        bool both = before.groups[s].congested && after.groups[s].congested;
        halved->groups[s].congested &= both;
        again |= both;
    }
    if (again)
        halved_find(halving, halved);
    return STATUS_OK;
}

static enum status halves_go(struct acceptance *acceptance, const struct switch_level *level,
                             const char *what, struct halves_said *said)
{
    struct halving halving = halving_open(acceptance, level);
    char why[LIST_MOST];
    struct halved halved = {.congested = false};
    struct turns turns = {0};
    halving.count = hosts_good(acceptance, halving.hosts);
    const char *lacks = level ? level_lacks(&halving, why) : NULL;
    if (lacks) {
        text_add(&said->lacks, "%sno halves by switch: %s", said->lacks.used ? "; " : "", lacks);
        return STATUS_OK;
    }
    TRY(splits_run(&halving, &turns));
    if (halving.done > 0)
        halved = halving_judge(&halving, 0);
    bool bound = halving.few_sum >= WAITED_MOST * halving.few_count;
    if (halved.congested && bound)
        text_add(&said->lacks,
                 "%scongestion cannot be judged: when few pairs exchange, ranks wait for their "
                 "cores in %.0f%% of the time",
                 said->lacks.used ? "; " : "", 100 * halving.few_sum / halving.few_count);
    else if (halved.congested)
        TRY(congestion_confirm(&halving, &halved, &turns, what, said));
    if (halving.done < SPLITS)
        text_add(&said->lacks, "%s%d of %d %s could be measured", said->lacks.used ? "; " : "",
                 halving.done, SPLITS, what);
    if (halving.done == 0)
        return STATUS_OK;
    int count = level ? switches_used(level, halving.hosts, halving.count) : halving.count;
    text_add(&said->text, "%s%d %s of %d %s: %.0f%%", said->text.used ? ", " : "", halving.done,
             what, count,
             !level            ? "hosts"
             : level->inferred ? "parts"
                               : "switches",
             100 * fmin(1, halved.all.share));
    said->done += halving.done;
    said->waited = fmax(said->waited, halving.waited);
    return STATUS_OK;
}

/* Halves of all kinds that the run has. */
static enum status halves_all(struct acceptance *acceptance, struct stage_result *result)
{
    char text[STAGE_TEXT_MOST], lacks[STAGE_TEXT_MOST];
    struct halves_said said = {.text = text_in(text, sizeof text),
                               .lacks = text_in(lacks, sizeof lacks)};
    enum status status = halves_go(acceptance, NULL, "random halves", &said);
    if (status == STATUS_OK && acceptance->leaves.count > 0)
        status =
            halves_go(acceptance, &acceptance->leaves,
                      acceptance->leaves.inferred ? "halves by part" : "halves by switch", &said);
    if (status == STATUS_OK && acceptance->above.count > 0)
        status = halves_go(acceptance, &acceptance->above, "halves by the switches above", &said);
    if (said.waited >= WAITED_TOLD)
        text_add(&said.text,
                 "; ranks waited for their cores in up to %.0f%% of the time, which does not count",
                 100 * said.waited);
    if (said.done > 0)
        stage_says(result, "bandwidth of pairs, as a share of what they have when few exchange: %s",
                   text);
    if (said.lacks.used > 0)
        stage_lacks(result, said.done > 0 ? STAGE_PARTLY : STAGE_LEFT_OUT, "%s", lacks);
    return status;
}

enum status halves_run(struct acceptance *acceptance, struct stage_result *result)
{
    size_t count = (size_t)acceptance->roster->host_count;
    int good = hosts_good(acceptance, stage_memory(acceptance, count, sizeof(int)));
    if (!acceptance->fleet)
        stage_lacks(result, STAGE_LEFT_OUT,
                    "no pairs were measured, which tell the size of messages");
    else if (good < 2 * PAIRS_LEAST)
        stage_lacks(result, STAGE_LEFT_OUT, "fewer than %d hosts are good", 2 * PAIRS_LEAST);
    else
        return halves_all(acceptance, result);
    return STATUS_OK;
}

/*
 * Two parts of a fleet, which its pairs or random halves suggest.
 */
#define PARTS_TURNS 2

/* The median of pairs that exchange at once, GB/s; 0: it is not known. */
static enum status parts_exchange(struct acceptance *acceptance, enum accept_stage stage, int rail,
                                  const struct host_pair *pairs, int count, const int *side,
                                  double *median)
{
    int *agents = stage_memory(acceptance, 2 * (size_t)count, sizeof *agents);
    double *rates = stage_memory(acceptance, (size_t)count, sizeof *rates);
    struct trials trials;
    char transport[PORT_TRANSPORT_MOST];
    bool known;
    for (int i = 0; i < count; i++)
        pair_agents(acceptance, pairs[i].a, pairs[i].b, &agents[2 * i]);
    trials_open(&trials, acceptance, stage);
    trials.transport = rail_transport(acceptance->job, &acceptance->rails, rail, transport);
    enum status status = exchange_run(&trials, agents, 2 * count, &known);
    const json_t *line = known ? trials_line(&trials, 0, NULL, NULL, 1) : NULL;
    for (int i = 0; i < count; i++)
        rates[i] = pair_rate(line, i);
    *median = cut_median(pairs, rates, count, side);
    if (status == STATUS_OK && !known)
        trials_find_failure(&trials, 0);
    trials_close(&trials);
    return status;
}

/* Keeps the hosts that have a port on the rail. Returns how many. */
static int hosts_on_rail(const struct acceptance *acceptance, int rail, const int *hosts, int count,
                         int *kept)
{
    int left = 0;
    for (int i = 0; i < count; i++)
        if (rail_is_at(&acceptance->rails, rail, acceptance->inventories, hosts[i]))
            kept[left++] = hosts[i];
    return left;
}

enum status parts_try(struct acceptance *acceptance, enum accept_stage stage, int rail,
                      const int *hosts, int count, const int *side)
{
    struct host_pair *pairs = stage_memory(acceptance, (size_t)count, sizeof *pairs);
    int *kept = stage_memory(acceptance, (size_t)count, sizeof *kept), made = 0;
    int left = hosts_on_rail(acceptance, rail, hosts, count, kept);
    uint64_t random = acceptance->seed;
    double medians[2]; /* inside, and across */
    bool apart = true;
    for (int turn = 0; turn < PARTS_TURNS && apart; turn++) {
        for (int across = 0; across < 2; across++) {
            medians[across] = 0;
            made = cut_pairs(kept, left, side, across, &random, pairs);
            if (made >= PAIRS_LEAST)
                TRY(parts_exchange(acceptance, stage, rail, pairs, made, side, &medians[across]));
        }
        apart = medians[1] > 0 && medians[1] < SHARE_LEAST * medians[0];
    }
    if (apart)
        parts_take(acceptance, stage, side, made, medians);
    return STATUS_OK;
}

/*
 * The stage all: allreduce and alltoall over all agents of the hosts that are good, checked, and
 * compared with the slowest of these hosts.
 */
#define ALL_SECONDS   120.0 /* that the job may take */
#define STALL_SECONDS 30.0  /* at most, until the job itself says what it waits for */
#define ALL_BYTES     (1 << 20)

#define ALL_COLLECTIVES 2

/* All hosts that are good, and the slowest of them. */
struct whole {
    struct acceptance *acceptance;
    int *hosts, count;
    const int *agents; /* of each rank */
    int ranks, slowest;
    double rate;                        /* of the slowest host, GB/s */
    struct found slow[ALL_COLLECTIVES]; /* collectives that it does not explain */
    bool excused[ALL_COLLECTIVES];      /* waits for cores explain them */
    int slow_count;
};

/* Is a collective of so many steps slower than its slowest host explains? */
static void collective_judge(struct whole *whole, const char *name, const json_t *line,
                             double least_us, int steps)
{
    const struct acceptance *acceptance = whole->acceptance;
    int rank;
    double us = line_number(line, "time_us.p50");
    double waited = line_core_wait(line, 0, whole->ranks, &rank);
    double latency = fleet_median(whole->acceptance->fleet, METRIC_LATENCY);
    double most = least_us / COLLECTIVE_LEAST + steps * latency;
    char taken[TIME_TEXT_MOST], explained[TIME_TEXT_MOST];
    if (us <= 0 || least_us <= 0 || us <= most)
        return;
    bool excused = us * (1 - waited) <= most;
    whole->excused[whole->slow_count] = excused;
    struct found *found = &whole->slow[whole->slow_count++];
    *found = (struct found){.stage = STAGE_ALL,
                            .kind = excused ? FOUND_STOPPED : FOUND_NETWORK,
                            .host = -1,
                            .peer = -1,
                            .status = STATUS_SLOW};
    snprintf(found->what, sizeof found->what, "%s", name);
    snprintf(found->text, sizeof found->text,
             "all: %s of 1M over %d ranks takes %s, but the slowest host (%s, %.3g GB/s) "
             "and the latency of %d steps explain only %s: ",
             name, whole->ranks, time_text(1e-6 * us, taken),
             whole->acceptance->labels[whole->slowest], whole->rate, steps,
             time_text(1e-6 * most, explained));
    struct text text = text_after(found->text, sizeof found->text);
    if (excused)
        text_add(&text, "rank %d (%s) waited for its core in %.0f%% of the time", rank,
                 acceptance->labels[acceptance->roster->agents[whole->agents[rank]].host],
                 100 * waited);
    else
        text_add(&text, "look at the switches and uplinks that hosts share");
}

static void collectives_judge(struct whole *whole, const struct trials *trials,
                              struct stage_result *result)
{
    struct acceptance *acceptance = whole->acceptance;
    int hosts = whole->count, ranks = whole->ranks;
    const json_t *allreduce = trials_line(trials, 0, "allreduce", NULL, ALL_BYTES);
    const json_t *alltoall = trials_line(trials, 0, "alltoall", NULL, ALL_BYTES);
    bool *present = stage_memory(acceptance, (size_t)acceptance->roster->host_count, sizeof(bool));
    for (int i = 0; i < hosts; i++)
        present[whole->hosts[i]] = true;
    stage_says(result, "%d ranks of %d hosts: allreduce of 1M %.3g GB/s, alltoall of 1M %.3g GB/s",
               ranks, hosts, line_number(allreduce, "busbw_GBps"),
               line_number(alltoall, "busbw_GBps"));
    whole->slowest =
        acceptance->fleet ? exchange_slowest(acceptance->fleet, present, &whole->rate) : -1;
    if (whole->slowest < 0) {
        stage_lacks(result, STAGE_PARTLY, "no pairs were measured, to which it could be compared");
        return;
    }
    /* Each rank uses one rail: the share of the rails that a host's ranks use together. */
    whole->rate *= fmin(1, (double)ranks / hosts / acceptance->rails.count);
    collective_judge(whole, "allreduce", allreduce,
                     allreduce_least_us(hosts, ALL_BYTES, whole->rate), 2 * (ranks - 1));
    collective_judge(whole, "alltoall", alltoall,
                     alltoall_least_us(hosts, ranks / hosts, ALL_BYTES, whole->rate), ranks - 1);
}

/* Where a host has become slow since the pairs, or ranks wait for their cores, what that slows down
 * is a note. */
static enum status slow_explain(struct whole *whole, struct stage_result *result)
{
    bool found = false;
    enum status status =
        whole->slow_count > 0 ? isolate_again(whole->acceptance, result, &found) : STATUS_OK;
    for (int i = 0; i < whole->slow_count; i++) {
        whole->slow[i].status = found || whole->excused[i] ? STATUS_OK : STATUS_SLOW;
        findings_add(&whole->acceptance->findings, &whole->slow[i]);
    }
    return status;
}

static enum status all_judge(struct whole *whole, const struct trials *trials,
                             struct stage_result *result)
{
    const struct trial *trial = &trials->outcomes[0];
    if (trial->outcome == READING_VALUE) {
        collectives_judge(whole, trials, result);
        return slow_explain(whole, result);
    }
    trials_find_failure(trials, 0);
    if (!trial->cut)
        stage_lacks(result, STAGE_PARTLY, "its job failed: %s", trial->why);
    return STATUS_OK;
}

enum status all_run(struct acceptance *acceptance, struct stage_result *result)
{
    const struct roster *roster = acceptance->roster;
    struct whole whole = {.acceptance = acceptance};
    struct trials trials;
    int *agents = stage_memory(acceptance, (size_t)roster->ranks, sizeof *agents);
    whole.hosts = stage_memory(acceptance, (size_t)roster->host_count, sizeof *whole.hosts);
    whole.count = hosts_good(acceptance, whole.hosts);
    if (whole.count < 2) {
        stage_lacks(result, STAGE_LEFT_OUT, "fewer than 2 hosts are good");
        return STATUS_OK;
    }
    for (int i = 0; i < whole.count; i++)
        for (int a = 0; a < roster->hosts[whole.hosts[i]].count; a++)
            agents[whole.ranks++] = roster->hosts[whole.hosts[i]].agents[a];
    whole.agents = agents;
    trials_open(&trials, acceptance, STAGE_ALL);
    trials_add(&trials, agents, whole.ranks,
               "allreduce,alltoall -b 1K -e 1M -f 1024 -n auto --budget 2 -w 2 -c all --timeout %g",
               fmax(fmin(STALL_SECONDS, stage_left(acceptance) / 3), 1));
    enum status status = trials_run(&trials, ALL_SECONDS);
    if (status == STATUS_OK)
        status = all_judge(&whole, &trials, result);
    trials_close(&trials);
    return status;
}
