/*
 * incidents.c - what happened on a rank in its long iterations.
 *
 * The longest iterations are kept, and of the looks at packets those with the longest iterations.
 */
#include "run/results/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"

#define LONG_MOST  24
#define LOSS_MOST  48
#define LOOK_LEAST 100000000u /* ns between two looks at the packets, and */
#define LOOK_SHARE 100        /* times as long as a look takes */

_Static_assert(3 * LONG_MOST + LOSS_MOST <= INCIDENTS_MOST, "they fit");

struct long_iteration {
    uint64_t iteration;
    uint64_t begins, ended; /* ns of the clock: from the end of the one before, if it follows it */
    uint64_t late;          /* ns */
    struct awaited awaited;
};

struct lossy_look {
    uint64_t longest; /* ns: of the iterations since the look before */
    struct incident incident;
};

struct incidents {
    const struct link_stats *stats;
    struct links *links;
    uint64_t last, ended; /* the last iteration; when it ended, ns of the clock */
    struct long_iteration longest[LONG_MOST];
    int long_count;
    struct lossy_look losses[LOSS_MOST];
    int loss_count;
    uint64_t look_at;      /* when the next look is due, ns of the clock */
    uint64_t looked_first; /* the first iteration behind the last look, */
    uint64_t looked_long;  /* and ns of the longest of these */
    uint64_t *resent;      /* packets, by stats->sending[]: then, */
    uint64_t *now;         /* and now */
};

void incidents_create(const struct link_stats *stats, struct links *links,
                      struct incidents **incidents)
{
    struct incidents *made = new_array(1, sizeof *made);
    made->stats = stats;
    made->links = links;
    made->resent = new_array((size_t)stats->sending_count, sizeof *made->resent);
    made->now = new_array((size_t)stats->sending_count, sizeof *made->now);
    *incidents = made;
}

void incidents_free(struct incidents *incidents)
{
    if (!incidents)
        return;
    free(incidents->resent);
    free(incidents->now);
    free(incidents);
}

/* Reads incidents->now, and says when the next look is due. */
static void packets_read(struct incidents *incidents)
{
    uint64_t begun = clock_ns();
    link_stats_resent(incidents->stats, incidents->links, incidents->now);
    uint64_t ended = clock_ns(), pause = (ended - begun) * LOOK_SHARE;
    incidents->look_at = ended + (pause > LOOK_LEAST ? pause : LOOK_LEAST);
}

void incidents_begin(struct incidents *incidents, long iteration)
{
    if (!incidents)
        return;
    packets_read(incidents);
    memcpy(incidents->resent, incidents->now,
           (size_t)incidents->stats->sending_count * sizeof *incidents->now);
    incidents->looked_first = (uint64_t)iteration;
    incidents->looked_long = 0;
    incidents_resume(incidents);
}

void incidents_resume(struct incidents *incidents)
{
    if (incidents)
        incidents->ended = clock_ns();
}

/* The place of the shortest of them, which a longer one takes; a new one while there is room. */
static struct long_iteration *long_place(struct incidents *incidents, uint64_t ns)
{
    if (incidents->long_count < LONG_MOST)
        return &incidents->longest[incidents->long_count++];
    struct long_iteration *least = &incidents->longest[0];
    for (int i = 1; i < LONG_MOST; i++) {
        struct long_iteration *one = &incidents->longest[i];
        if (one->ended - one->begins < least->ended - least->begins)
            least = one;
    }
    return least->ended - least->begins < ns ? least : NULL;
}

static struct lossy_look *loss_place(struct incidents *incidents)
{
    if (incidents->loss_count < LOSS_MOST)
        return &incidents->losses[incidents->loss_count++];
    struct lossy_look *least = &incidents->losses[0];
    for (int i = 1; i < LOSS_MOST; i++)
        if (incidents->losses[i].longest < least->longest)
            least = &incidents->losses[i];
    return least->longest < incidents->looked_long ? least : NULL;
}

/* Counts packets sent again since the last look, up to iteration `last`. */
static void losses_look(struct incidents *incidents, uint64_t last)
{
    packets_read(incidents);
    for (int i = 0; i < incidents->stats->sending_count; i++) {
        uint64_t before = incidents->resent[i], now = incidents->now[i];
        uint64_t resent = resent_since(now, before);
        struct lossy_look *loss = resent > 0 ? loss_place(incidents) : NULL;
        incidents->resent[i] = now;
        if (loss)
            *loss = (struct lossy_look){.longest = incidents->looked_long,
                                        .incident = {.kind = INCIDENT_RESENT,
                                                     .peer = incidents->stats->sending[i].peer,
                                                     .first = incidents->looked_first,
                                                     .last = last,
                                                     .amount = resent}};
    }
    incidents->looked_first = last + 1;
    incidents->looked_long = 0;
}

void incidents_note(struct incidents *incidents, long iteration,
                    const struct iteration_times *times)
{
    uint64_t ended = times->released + times->duration, ns = ended - incidents->ended;
    struct long_iteration *place = ns >= INCIDENT_LEAST ? long_place(incidents, ns) : NULL;
    if (place)
        *place = (struct long_iteration){.iteration = (uint64_t)iteration,
                                         .begins = incidents->ended,
                                         .ended = ended,
                                         .late = times->late,
                                         .awaited = times->awaited};
    if (ns > incidents->looked_long)
        incidents->looked_long = ns;
    if (ended >= incidents->look_at)
        losses_look(incidents, (uint64_t)iteration);
    incidents->last = (uint64_t)iteration;
    incidents->ended = ended;
}

void incidents_end(struct incidents *incidents)
{
    if (!incidents)
        return;
    if (incidents->looked_first > incidents->last) /* a look came right behind the last */
        incidents->looked_first = incidents->last;
    losses_look(incidents, incidents->last);
}

static int incident_add(struct incident *list, int count, enum incident_kind kind, int peer,
                        const struct long_iteration *in, uint64_t ns)
{
    if (ns < INCIDENT_LEAST)
        return count;
    list[count] = (struct incident){
        .kind = kind, .peer = peer, .first = in->iteration, .last = in->iteration, .amount = ns};
    return count + 1;
}

int incidents_list(struct incidents *incidents, struct run_watch *watch,
                   struct incident list[INCIDENTS_MOST])
{
    int count = 0;
    incidents_end(incidents);
    for (int i = 0; incidents && i < incidents->long_count; i++) {
        const struct long_iteration *one = &incidents->longest[i];
        uint64_t gaps = watch ? run_watch_gaps_within(watch, one->begins, one->ended) : 0;
        count = incident_add(list, count, INCIDENT_STOPPED, -1, one, gaps);
        count = incident_add(list, count, INCIDENT_LATE, -1, one, one->late);
        count =
            incident_add(list, count, INCIDENT_AWAITED, one->awaited.peer, one, one->awaited.ns);
    }
    for (int i = 0; incidents && i < incidents->loss_count; i++)
        list[count++] = incidents->losses[i].incident;
    return count;
}

void incident_code(struct codec codec, int ranks, struct incident *incident)
{
    int kind = (int)incident->kind;
    code_int(codec, &kind, 0, INCIDENT_KINDS - 1);
    incident->kind = (enum incident_kind)kind;
    code_int(codec, &incident->peer, -1, ranks - 1);
    code_u64(codec, &incident->first);
    code_u64(codec, &incident->last);
    code_u64(codec, &incident->amount);
    code_require(codec, (incident->peer >= 0) == (incident->kind == INCIDENT_RESENT ||
                                                  incident->kind == INCIDENT_AWAITED));
}
