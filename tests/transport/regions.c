/*
 * regions.c - a transfer that names a byte outside of its endpoint's regions ends the process, over
 * every transport. The tests that see this run in a child.
 * tier: check; load: cpu1
 */
#include "dataplane/memory/memory.h"
#include "world.h"

#include "../unit/child.h" /* after world.h, for cmocka's fail() */

enum { BYTES = 96, RUNS = 3 };

/* The bytes that rank 1 names. */
enum outside {
    INSIDE,        /* the last byte of the region, with the gap of a last run behind it */
    BEFORE,        /* the byte before the region */
    BEHIND,        /* the byte behind it */
    BEHIND_LATE,   /* the same, by the last run of its second piece */
    WRAPS,         /* a piece that goes round the address space */
    ELSEWHERE,     /* the stack, in a message that it sends */
    LANDS,         /* the stack, in one that it receives */
    COMBINES_WITH, /* the stack, in what it combines a message with */
    EAGER,         /* the stack, in a message that is not posted */
    OUTSIDES
};

/* Three runs with gaps, of which the last ends at `end`. */
static struct piece piece_before(char *end)
{
    enum { RUN = BYTES / RUNS, STRIDE = 2 * RUN };
    return (struct piece){
        .base = end - RUN - (RUNS - 1) * STRIDE, .run = RUN, .stride = STRIDE, .times = RUNS};
}

static struct piece piece_flat(char *base)
{
    return (struct piece){.base = base, .run = BYTES, .stride = BYTES, .times = 1};
}

/* Fills in the pieces, of 2 * BYTES bytes together. */
static void outside_lay(struct rank *me, enum outside outside, char *elsewhere,
                        struct piece pieces[2])
{
    char *base = me->region.base, *end = base + me->region.bytes;
    pieces[0] = piece_flat(base);
    pieces[1] = piece_before(end);
    if (outside == BEFORE)
        pieces[0] = piece_flat(base - 1);
    else if (outside == BEHIND)
        pieces[0] = piece_flat(end - BYTES + 1);
    else if (outside == BEHIND_LATE)
        pieces[1] = piece_before(end + 1);
    else if (outside == WRAPS)
        pieces[1] = (struct piece){.base = base, .run = 1, .stride = SIZE_MAX / 2, .times = 4};
    else if (outside != INSIDE)
        pieces[1] = piece_flat(elsewhere);
}

static void violate(struct rank *me)
{
    enum outside outside = (enum outside)me->world->shared[0];
    bool receives = outside == LANDS || outside == COMBINES_WITH;
    char elsewhere[BYTES] = {0};
    struct piece pieces[2], with;
    struct transfer transfer = transfer_make(me, receives ? TRANSFER_RECV : TRANSFER_SEND, &with,
                                             rank_take(me, 2 * BYTES), 2 * BYTES);
    outside_lay(me, outside, elsewhere, pieces);
    transfer.from = transfer.to = (struct layout){.pieces = pieces, .count = 2};
    if (outside == COMBINES_WITH) {
        transfer.kind = TRANSFER_RECV_REDUCE;
        transfer.reduce = reduce_kernel(datatype_find("uint8"), reduction_find("sum"));
        transfer.with = transfer.to;
        transfer.to = (struct layout){.pieces = &with, .count = 1};
    }
    bool moved = false;
    if (me->number == 1 && outside == EAGER)
        channel_move(me->world->transport->channel(me->endpoint, 0, 0, true), &transfer, &moved);
    else if (me->number == 1)
        rank_post(me, 0, 0, &transfer);
}

struct region_violation {
    const struct transport *transport;
    enum outside outside;
};

static int violation_work(void *argument)
{
    const struct region_violation *violation = argument;
    struct world *world = malloc(sizeof *world);
    *world = world_make(violation->transport, 0, 2);
    world->body = violate;
    world->shared[0] = violation->outside;
    world_run(world);
    free(world);
    return 0;
}

static void test_outside(void **state)
{
    const struct transport *transport = *state;
    for (enum outside outside = 0; outside < OUTSIDES; outside++) {
        if (outside == EAGER && !transport->eager_move)
            continue;
        struct region_violation violation = {transport, outside};
        const struct child *child = child_run(violation_work, &violation);
        bool ended = WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGABRT;
        if (ended != (outside != INSIDE) ||
            !strstr(child->err, "outside of this rank's 1 regions") != (outside == INSIDE))
            fail_msg("%s, case %d: status %d, \"%s\"", transport->name, outside, child->status,
                     child->err);
    }
}

/* To the last byte of a region, a message moves. */
static void to_the_end(struct rank *me)
{
    struct piece piece;
    struct transfer transfer = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &piece,
                                             me->region.base, BYTES);
    piece = piece_before(me->region.base + me->region.bytes);
    char *last = me->region.base + me->region.bytes - 1;
    *rank_view(me, last) = (char)(me->number ? 0 : 'x');
    rank_show(me, last, 1);
    rank_post(me, !me->number, 0, &transfer);
    if (rank_complete(me, &transfer, 1))
        require(me, *rank_look(me, last, 1) == 'x');
}

static void test_to_the_end(void **state)
{
    run_everywhere(state, to_the_end, NULL, 2);
}

static const struct world_test tests[] = {
    {"a byte outside of the regions", test_outside},
    {"the last byte of a region", test_to_the_end},
};

int main(void)
{
    return world_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
