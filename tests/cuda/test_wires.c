/*
 * test_wires.c - garbage on a wire of the cuda transport, which both ranks see, is told with the
 * name of the other end. Rank 0 writes it there itself, in the place of rank 1.
 * tier: deep; load: cpu1
 */
#include "transports/cuda/internal.h"

#include "../transport/world.h"

enum { ELEMENT = 4, PIECES = PULL_CELLS + 1 };

enum garbage {
    NOTHING,
    ALL_CELLS,    /* none, either: as many as a wire has */
    CELLS_SENT,   /* one more */
    REGION,       /* that was not lent */
    OUTSIDE,      /* bytes behind the region */
    PART,         /* of an element */
    TIMES,        /* runs of which the sum is beyond 64 bits */
    BYTES_READ,   /* more than were sent */
    CELLS_READ,   /* likewise */
    CELLS_UNREAD, /* fewer than had been read */
    GARBAGES
};

static const char *const words[GARBAGES] = {
    [CELLS_SENT] = "a number of cells sent",
    [REGION] = "a reference",
    [OUTSIDE] = "a reference",
    [PART] = "a reference",
    [TIMES] = "a reference",
    [BYTES_READ] = "a number of bytes read",
    [CELLS_READ] = "a number of cells read",
    [CELLS_UNREAD] = "a number of cells read",
};

static struct pull_channel *channel_of(struct rank *me, bool sends)
{
    return (struct pull_channel *)me->endpoint->transport->channel(me->endpoint, !me->number, 0,
                                                                   sends);
}

static void receiver_spoil(struct pull_wire *wire, enum garbage garbage)
{
    struct pull_cell cell = {.run = ELEMENT, .stride = ELEMENT, .times = 2};
    if (garbage == REGION)
        cell.region = 1 + PULL_REGIONS_MOST;
    else if (garbage == OUTSIDE)
        cell.offset = 4 * MIB - ELEMENT;
    else if (garbage == PART)
        cell.run = ELEMENT / 2;
    else if (garbage == TIMES)
        cell = (struct pull_cell){.run = ELEMENT, .times = ((uint64_t)1 << 62) + 1};
    for (int i = 0; i < PULL_CELLS; i++)
        wire->cells[i] = cell;
    atomic_store(&wire->published, garbage == CELLS_SENT  ? PULL_CELLS + 1
                                   : garbage == ALL_CELLS ? PULL_CELLS
                                                          : 1);
}

static void sender_spoil(struct pull_wire *wire, enum garbage garbage)
{
    if (garbage == BYTES_READ)
        atomic_store(&wire->done, (uint64_t)PIECES * ELEMENT + 1);
    else
        atomic_store(&wire->taken, garbage == CELLS_READ ? PULL_CELLS + 1 : UINT64_MAX);
}

static void garbage_is_told(struct rank *me)
{
    const enum garbage garbage = (enum garbage)atomic_load(&me->world->shared[0]);
    const bool sends = garbage >= BYTES_READ;
    if (me->number == 1)
        return;
    struct piece piece, pieces[PIECES]; /* too many for the cells of a wire */
    struct transfer transfer =
        transfer_make(me, sends ? TRANSFER_SEND : TRANSFER_RECV, &piece,
                      rank_take(me, 2 * sizeof pieces * ELEMENT), PIECES * ELEMENT);
    for (size_t i = 0; i < PIECES; i++)
        pieces[i] = (struct piece){
            .base = piece.base + 3 * i * ELEMENT, .run = ELEMENT, .stride = ELEMENT, .times = 1};
    transfer.element = ELEMENT;
    transfer.from = transfer.to = (struct layout){.pieces = pieces, .count = PIECES};
    rank_post(me, 1, 0, &transfer);
    me->endpoint->transport->activate(&channel_of(me, sends)->base);
    enum status status = me->endpoint->transport->progress(me->endpoint);
    require(me, status == STATUS_OK);
    if (sends)
        sender_spoil(channel_of(me, true)->wire, garbage);
    else if (garbage != NOTHING)
        receiver_spoil(channel_of(me, false)->wire, garbage);
    status = me->endpoint->transport->progress(me->endpoint);
    require(me, (status == STATUS_OK) == !words[garbage]);
    require(me, !words[garbage] ||
                    (me->log.failure.reason == REASON_PEER_INVALID && me->log.failure.peer == 1 &&
                     strstr(me->log.failure.text, words[garbage]) &&
                     strstr(me->log.failure.text, "that no rank writes")));
}

static void test_garbage(void **state)
{
    (void)state;
    for (int garbage = 0; garbage < GARBAGES; garbage++) {
        struct world *world = malloc(sizeof *world);
        *world = world_make(transport_find("cuda"), 0, 2);
        world->body = garbage_is_told;
        atomic_store(&world->shared[0], (size_t)garbage);
        print_message("garbage %d\n", garbage);
        assert_true(world_run(world));
        free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_garbage),
    };
    setenv("CUDA_STANDIN", "mode=sync,devices=2", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
