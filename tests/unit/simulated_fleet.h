/*
 * simulated_fleet.h - fleets of hosts with noise and known fault, and a screening of them.
 *
 * Noise: each value has a lognormal factor of 2.5%, one in 200 is also slower by up to 30%, and
 * each host's sending, receiving and latency differ by up to 1% from the others'. Of 5,000 packets
 * up to 2 are lost, of a disturbed reading up to 30.
 */
#ifndef CCTEST_TESTS_SIMULATED_FLEET_H
#define CCTEST_TESTS_SIMULATED_FLEET_H

#include <math.h>
#include <stdlib.h>

#include "accept/judge/judge.h"
#include "base/numbers.h"

#define FAULTS_MOST    64
#define ROUNDS_MOST    100 /* of isolation: more is a fault */
#define BANDWIDTH      11.8
#define LATENCY        2.0
#define NOISE          0.025
#define DISTURBED      200 /* one reading in so many */
#define DISTURBED_MOST 0.3
#define HOST_SPREAD    0.01
#define PACKETS        5000.0
#define LOST_USUALLY   2
#define LOST_DISTURBED 30

enum seeded_kind {
    SEEDED_HOST,    /* slow in both directions */
    SEEDED_SEND,    /* slow in one */
    SEEDED_RECEIVE, /* likewise */
    SEEDED_NIC,     /* one rail of several, in both directions */
    SEEDED_LINK,    /* one pair, in both directions */
    SEEDED_ONE_WAY, /* one pair in one direction */
    SEEDED_DUPLEX,  /* slow where both directions are in use */
    SEEDED_LATENCY,
    SEEDED_FLAKY, /* slow in both directions, now and then */
    SEEDED_LOST,  /* a worker dies now and then */
    SEEDED_WRONG, /* some of the data that a host sends arrives wrong */
    SEEDED_LOSSY, /* loses packets in both directions, and is slow thereby; 0.5% to 8% of them */
    SEEDED_LOSSY_SEND, /* in one */
    SEEDED_LOSSY_LINK, /* one pair, in both directions */
    SEEDED_LOSSY_WAY,  /* one pair, in one direction */
    SEEDED_SLIGHT,     /* slow in both directions by 10% to 20%; the others by 20% to 80% */
    SEEDED_KINDS,
};

static const char *const seeded_names[SEEDED_KINDS] = {
    [SEEDED_HOST] = "host slow",        [SEEDED_SEND] = "send slow",
    [SEEDED_RECEIVE] = "receive slow",  [SEEDED_NIC] = "NIC slow",
    [SEEDED_LINK] = "link slow",        [SEEDED_ONE_WAY] = "link one way",
    [SEEDED_DUPLEX] = "both at once",   [SEEDED_LATENCY] = "latency",
    [SEEDED_FLAKY] = "now and then",    [SEEDED_LOST] = "lost",
    [SEEDED_WRONG] = "wrong data",      [SEEDED_SLIGHT] = "10-20% slow",
    [SEEDED_LOSSY] = "lossy",           [SEEDED_LOSSY_SEND] = "lossy send",
    [SEEDED_LOSSY_LINK] = "lossy link", [SEEDED_LOSSY_WAY] = "lossy one way",
};

struct seeded {
    enum seeded_kind kind;
    int host, peer, rail;
    double factor;  /* of the bandwidth, or 1 / of the latency */
    double often;   /* the probability of a failure, or of being slow */
    double lost;    /* % of the packets */
    bool one_rail;  /* packets are lost on `rail` alone */
    bool slow_rail; /* a lossy host is slow on rail 0 alone */
};

struct simulated {
    int hosts, rails, fault_count;
    bool quiet;          /* no noise */
    double modes;        /* half of the latencies are so many times as long; 0: none */
    const int *switches; /* of each host: those of one switch have half the latency; NULL */
    int leaves;          /* the host that is gone after the pairs, -1: none */
    struct seeded faults[FAULTS_MOST];
    int *fault_of;     /* [hosts] the first fault, -1 */
    double (*bias)[3]; /* [hosts] sending, receiving, latency */
    uint64_t random;
    struct reading *readings; /* of one list */
    size_t count, room;
};

static inline double simulated_uniform(uint64_t *random)
{
    return (double)((random_next(random) >> 11) + 1) * 0x1p-53; /* above 0 */
}

/* Box and Muller, 1958. */
static inline double simulated_normal(uint64_t *random)
{
    double u = simulated_uniform(random), v = simulated_uniform(random);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* How much worse than it should be: 1 is as it should be. */
static inline double simulated_noise(struct simulated *f)
{
    double noise = exp(NOISE * simulated_normal(&f->random));
    if (random_below(&f->random, DISTURBED) == 0)
        noise /= 1 - DISTURBED_MOST * simulated_uniform(&f->random);
    return noise;
}

static inline void simulated_create(struct simulated *f, int hosts, int rails, uint64_t seed)
{
    *f = (struct simulated){.hosts = hosts,
                            .rails = rails,
                            .leaves = -1,
                            .random = seed,
                            .fault_of = malloc((size_t)hosts * sizeof(int)),
                            .bias = malloc((size_t)hosts * sizeof *f->bias)};
    for (int h = 0; h < hosts; h++) {
        f->fault_of[h] = -1;
        for (int i = 0; i < 3; i++)
            f->bias[h][i] = 1 + HOST_SPREAD * (2 * simulated_uniform(&f->random) - 1);
    }
}

static inline void simulated_free(struct simulated *f)
{
    free(f->fault_of);
    free(f->bias);
    free(f->readings);
}

static inline bool seeded_is_of_a_link(enum seeded_kind kind)
{
    return kind == SEEDED_LINK || kind == SEEDED_ONE_WAY || kind == SEEDED_LOSSY_LINK ||
           kind == SEEDED_LOSSY_WAY;
}

/* Makes a host faulty; of a link, with its peer. False where a host is faulty already. */
static inline bool simulated_seed(struct simulated *f, enum seeded_kind kind, int host, int peer)
{
    bool link = seeded_is_of_a_link(kind);
    if (f->fault_count == FAULTS_MOST || f->fault_of[host] >= 0 || (link && f->fault_of[peer] >= 0))
        return false;
    struct seeded *s = &f->faults[f->fault_count];
    *s = (struct seeded){.kind = kind,
                         .host = host,
                         .peer = link ? peer : -1,
                         .rail = (int)random_below(&f->random, (uint64_t)f->rails),
                         .factor = 0.2 + 0.6 * simulated_uniform(&f->random),
                         .often = 0.3 + 0.7 * simulated_uniform(&f->random),
                         .lost = 0.5 * pow(16, simulated_uniform(&f->random))};
    if (kind == SEEDED_SLIGHT)
        s->factor = 0.8 + 0.1 * simulated_uniform(&f->random);
    f->fault_of[host] = f->fault_count++;
    if (link)
        f->fault_of[peer] = f->fault_of[host];
    return true;
}

/* The effect of a fault of one end on one value between two hosts: a factor. */
static inline double seeded_factor(struct simulated *f, const struct seeded *s,
                                   const struct reading *r)
{
    bool sends = r->from == s->host, latency = r->metric == METRIC_LATENCY;
    bool link = (sends && r->to == s->peer) || (r->from == s->peer && r->to == s->host);
    bool slow = false;
    switch (s->kind) {
    case SEEDED_HOST:
    case SEEDED_SLIGHT:
    case SEEDED_LOSSY:
        slow = !latency && (!s->slow_rail || r->rail == 0);
        break;
    case SEEDED_SEND:
    case SEEDED_LOSSY_SEND:
        slow = !latency && sends;
        break;
    case SEEDED_RECEIVE:
        slow = !latency && !sends;
        break;
    case SEEDED_NIC:
        slow = !latency && r->rail == s->rail;
        break;
    case SEEDED_LINK:
    case SEEDED_LOSSY_LINK:
        slow = !latency && link;
        break;
    case SEEDED_ONE_WAY:
    case SEEDED_LOSSY_WAY:
        slow = !latency && link && sends;
        break;
    case SEEDED_DUPLEX:
        slow = r->metric == METRIC_BOTH;
        break;
    case SEEDED_LATENCY:
        slow = latency;
        break;
    case SEEDED_FLAKY:
        slow = !latency && simulated_uniform(&f->random) < s->often;
        break;
    default:
        break;
    }
    return slow ? s->factor : 1;
}

static inline bool seeded_fails(struct simulated *f, const struct seeded *s, struct reading *r)
{
    bool sends = r->from == s->host && r->metric != METRIC_LATENCY;
    if (s->kind == SEEDED_LOST && simulated_uniform(&f->random) < s->often / 3)
        r->outcome = READING_LOST;
    else if (s->kind == SEEDED_WRONG && sends && simulated_uniform(&f->random) < s->often)
        r->outcome = READING_WRONG;
    return r->outcome != READING_VALUE;
}

static inline bool seeded_loses(enum seeded_kind kind)
{
    return kind >= SEEDED_LOSSY && kind <= SEEDED_LOSSY_WAY;
}

/* The loss of a reading, %, by the faults of its ends, each of which makes it slow, too. */
static inline double simulated_loss(struct simulated *f, const struct reading *r)
{
    bool disturbed = random_below(&f->random, DISTURBED) == 0;
    double lost = (double)random_below(&f->random, (disturbed ? LOST_DISTURBED : LOST_USUALLY) + 1);
    double loss = f->quiet ? 0 : 100 * lost / PACKETS;
    const struct reading bandwidth = {.from = r->from, .to = r->to, .metric = METRIC_ALONE};
    const int ends[] = {r->from, r->to};
    for (int e = 0; e < 2; e++) {
        const struct seeded *s = f->fault_of[ends[e]] < 0 ? NULL : &f->faults[f->fault_of[ends[e]]];
        if (s && seeded_loses(s->kind) && seeded_factor(f, s, &bandwidth) < 1 &&
            (!s->one_rail || r->rail == s->rail))
            loss = fmax(loss,
                        f->quiet ? s->lost : s->lost * (0.8 + 0.4 * simulated_uniform(&f->random)));
    }
    return loss;
}

/* Measures one value. False: the job is over. */
static inline bool simulated_read(struct simulated *f, struct reading r)
{
    double factor = f->quiet ? 1 : 1 / simulated_noise(f);
    if (r.metric == METRIC_LATENCY && f->switches && f->switches[r.from] == f->switches[r.to])
        factor *= 2;
    if (r.metric == METRIC_LATENCY)
        factor /= fmax(f->bias[r.from][2], f->bias[r.to][2]);
    else
        factor *= fmin(f->bias[r.from][0], f->bias[r.to][1]);
    if (r.metric == METRIC_LATENCY && f->modes > 0 && random_below(&f->random, 2))
        factor /= f->modes;
    double slowed = 1;
    const int ends[] = {r.from, r.to};
    for (int e = 0; e < 2; e++) {
        if (f->fault_of[ends[e]] < 0)
            continue;
        const struct seeded *s = &f->faults[f->fault_of[ends[e]]];
        slowed = fmin(slowed, seeded_factor(f, s, &r));
        if (r.outcome == READING_VALUE)
            seeded_fails(f, s, &r);
    }
    factor *= slowed;
    r.value = r.metric == METRIC_LATENCY ? LATENCY / factor
              : r.metric == METRIC_LOSS  ? simulated_loss(f, &r)
                                         : BANDWIDTH * factor;
    if (f->count == f->room) {
        f->room = f->room * 2 + 1024;
        f->readings = realloc(f->readings, f->room * sizeof *f->readings);
    }
    f->readings[f->count++] = r;
    return r.outcome == READING_VALUE || r.outcome == READING_WRONG;
}

#define RAILS_ALL UINT64_MAX

/* A job of a pair for each of these rails (1 << rail): all metrics. */
static inline void simulated_pair(struct simulated *f, int a, int b, uint64_t rails)
{
    for (int rail = 0; rail < f->rails; rail++) {
        if (!(rails >> rail & 1))
            continue;
        const struct reading job[] = {
            {.from = a, .to = b, .rail = rail, .metric = METRIC_LATENCY},
            {.from = a, .to = b, .rail = rail, .metric = METRIC_ALONE},
            {.from = b, .to = a, .rail = rail, .metric = METRIC_ALONE},
            {.from = a, .to = b, .rail = rail, .metric = METRIC_BOTH},
            {.from = b, .to = a, .rail = rail, .metric = METRIC_BOTH},
            {.from = a, .to = b, .rail = rail, .metric = METRIC_LOSS},
            {.from = b, .to = a, .rail = rail, .metric = METRIC_LOSS},
        };
        for (int i = 0; i < 7; i++)
            if (!simulated_read(f, job[i]))
                break;
    }
}

struct screened {
    struct fleet *fleet;
    struct isolation *isolation;
    struct fleet_faults *found;
    int pair_rounds, rounds; /* of the pairs, and of isolation, */
    uint64_t rails;          /* which was on these (1 << rail) */
};

/* Runs pairs and isolation. `count` rounds of pairs. */
static inline struct screened simulated_screen(struct simulated *f, const struct rounds *plan,
                                               int count, const struct references *references,
                                               uint64_t seed)
{
    struct screened out = {.pair_rounds = count};
    struct host_pair *pairs = malloc(((size_t)f->hosts / 2 + 1) * sizeof *pairs);
    bool *present = malloc((size_t)f->hosts * sizeof *present);
    for (int h = 0; h < f->hosts; h++)
        present[h] = true;
    f->count = 0;
    for (int r = 0; r < count; r++)
        for (int i = 0, n = rounds_pairs(plan, r, present, pairs); i < n; i++)
            simulated_pair(f, pairs[i].a, pairs[i].b, RAILS_ALL);
    const struct fleet_config config = {
        .hosts = f->hosts, .rails = f->rails, .switches = f->switches};
    out.fleet = fleet_create(&config, f->readings, f->count);
    out.isolation = isolation_create(out.fleet, references, f->readings, f->count, seed);
    if (f->leaves >= 0)
        present[f->leaves] = false;
    uint64_t rails;
    for (int n; out.rounds < ROUNDS_MOST &&
                (n = isolation_pairs(out.isolation, present, pairs, &rails)) > 0;
         out.rounds++) {
        f->count = 0;
        out.rails |= rails;
        for (int i = 0; i < n; i++)
            simulated_pair(f, pairs[i].a, pairs[i].b, rails);
        isolation_add(out.isolation, f->readings, f->count);
    }
    out.found = fleet_faults_find(out.isolation);
    free(pairs);
    free(present);
    return out;
}

/* The worst that was found of a host. */
static inline enum health screened_health(const struct screened *screened, int host)
{
    enum health worst = HEALTH_GOOD;
    for (int i = 0; i < screened->found->count; i++) {
        const struct fleet_fault *fault = &screened->found->items[i];
        if ((fault->host == host || fault->peer == host) && fleet_fault_health(fault) > worst)
            worst = fleet_fault_health(fault);
    }
    return worst;
}

static inline void screened_free(struct screened *screened)
{
    fleet_faults_free(screened->found);
    isolation_free(screened->isolation);
    fleet_free(screened->fleet);
}

#endif
