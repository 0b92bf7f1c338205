/*
 * test_verify.c - the verifier accepts correct schedules, and names each fault.
 *
 * Each test takes a right program, breaks it in one way, and wants the sentence that names that
 * way.
 * tier: check; load: cpu1
 */
#include "tests/unit/schedules.h"

#define DESTINATION_WRONG "of the wrong element: the contract wants"

/* Alltoall in p-1 exchanges; how a rank can get it wrong is a variant. */
enum { RIGHT, SWAPPED_PEERS, SAME_PEER_TWICE, OWN_BLOCK_FORGOTTEN, SHORT_SEND, LANE_ORDER };

static void alltoall_page(const struct page *page)
{
    int p = page->p, r = page->r, odd = page->r == 1 ? page->variant : RIGHT;

    if (odd != OWN_BLOCK_FORGOTTEN)
        put_copy(page->b, &page->g, view_block(&page->destination, r),
                 view_block(&page->source, r));
    for (int k = 1; k < p; k++) {
        struct message block = view_block(&page->source, r + k);
        struct span half = {.buffer = BUFFER_SOURCE, .run = 1, .stride = 1, .times = 1};
        int peer = (r + k) % p;

        put_step(page->b, &page->g);
        if (odd == SWAPPED_PEERS && k <= 2)
            peer = (r + 3 - k) % p;
        if (odd == SAME_PEER_TWICE && k == 2)
            peer = (r + 1) % p;
        if (odd == SHORT_SEND && k == 1)
            block = (struct message){.spans = &half, .count = 1};
        put_send(page->b, &page->g, peer, block);
        put_recv(page->b, &page->g, (r - k + p) % p, view_block(&page->destination, r - k));
    }
}

static void alltoall_right(void **state)
{
    struct program program;
    struct verification verification;

    (void)state;
    program_write(&program, COLLECTIVE_ALLTOALL, 4, 3, false, alltoall_page, RIGHT);
    verify(PROGRAM(&program), false, &verification);
    assert_true(verification.right);
    assert_int_equal(verification.steps, 3);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(verification.messages[r], 3);
        assert_int_equal(verification.elements[r], 9);
    }
    verification_free(&verification);
    program_free(&program);
}

static void alltoall_wrong(int variant, const char *words)
{
    struct program program;

    program_write(&program, COLLECTIVE_ALLTOALL, 4, 3, false, alltoall_page, variant);
    assert_wrong(&program, words);
    program_free(&program);
}

static void swapped_peers(void **state)
{
    (void)state;
    alltoall_wrong(
        SWAPPED_PEERS,
        "rank 2's destination element 3 holds rank 1's source element 9, " DESTINATION_WRONG
        " rank 1's source element 6");
}

static void message_without_receive(void **state)
{
    (void)state;
    alltoall_wrong(SAME_PEER_TWICE, "rank 1's operation 3 (send to rank 2) meets no receive: such "
                                    "messages are 2 on the sending and 1 on the receiving side");
}

static void element_never_written(void **state)
{
    (void)state;
    alltoall_wrong(OWN_BLOCK_FORGOTTEN, "rank 1's destination element 3 was never written");
}

static void lengths_differ(void **state)
{
    (void)state;
    alltoall_wrong(SHORT_SEND,
                   "rank 1's operation 1 (send to rank 2) and rank 2's operation 2 (recv "
                   "from rank 1) disagree about the message's length: 1 and 3");
}

/* Two messages of equal length on one lane in the wrong order, and one on the wrong lane. */
static void two_messages_page(const struct page *page)
{
    put_copy(page->b, &page->g, view_block(&page->destination, page->r),
             view_block(&page->source, page->r));
    for (int i = 0; i < 2; i++) {
        int which = page->variant == LANE_ORDER && page->r == 0 ? 1 - i : i;

        struct message from = view_block(&page->source, 1 - page->r);
        struct message to = view_block(&page->destination, 1 - page->r);

        put_send(page->b, &page->g, 1 - page->r, message_part(page->b, from, (size_t)which * 2, 2));
        put_recv(page->b, &page->g, 1 - page->r, message_part(page->b, to, (size_t)i * 2, 2));
    }
}

static void lane_order(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_ALLTOALL, 2, 4, false, two_messages_page, RIGHT);
    assert_right(&program);
    struct operation *operations = program_open(&program, 0);
    program.schedules[0]->lanes = program.schedules[1]->lanes = 2;
    operations[1].lane = 1;
    assert_wrong(&program,
                 "rank 1's operation 4 (recv from rank 0, lane 0) meets no send: such messages "
                 "are 1 on the sending and 2 on the receiving side");
    operations[1].lane = 2;
    assert_wrong(&program, "has a peer or a lane that does not exist");
    program_free(&program);

    program_write(&program, COLLECTIVE_ALLTOALL, 2, 4, false, two_messages_page, LANE_ORDER);
    assert_wrong(
        &program,
        "rank 1's destination element 0 holds rank 0's source element 6, " DESTINATION_WRONG
        " rank 0's source element 4");
    program_free(&program);
}

/* Allreduce: every rank sends its vector to every other, which adds up all of them. */
enum { SUM_FORGOTTEN = 1, SUM_TWICE, SUM_TOO_EARLY, SUM_ONE_AREA, SUM_NO_RECEIVE, SUM_SHIFTED };

static void allreduce_page(const struct page *page)
{
    int p = page->p, r = page->r, odd = r == 1 ? page->variant : RIGHT;
    struct view areas[RANKS_MOST];
    struct message to = view_all(page->b, &page->destination),
                   so_far = view_all(page->b, &page->source);

    for (int k = 1; k < p; k++) {
        areas[k] = odd == SUM_ONE_AREA && k == 2 ? areas[1] : view_scratch(page->b, &page->source);
        put_send(page->b, &page->g, (r + k) % p, view_all(page->b, &page->source));
    }
    if (odd == SUM_TOO_EARLY)
        put_reduce(page->b, &page->g, to, view_all(page->b, &areas[1]), so_far);
    for (int k = 1; k < p; k++)
        put_recv(page->b, &page->g, (r - k + p) % p, view_all(page->b, &areas[k]));
    for (int k = 1; k < p; k++) {
        struct span halves[2] = {areas[k].messages->spans[0], areas[k].messages->spans[0]};
        struct message with = view_all(page->b, &areas[k]);

        halves[0].offset += 2;
        halves[0].run = halves[1].run = 2;
        if (odd == SUM_SHIFTED && k == 1)
            with = (struct message){halves, 2};
        if (odd == SUM_FORGOTTEN && k == 2)
            continue;
        put_reduce(page->b, &page->g, to, so_far, with);
        so_far = to;
        if (odd == SUM_TWICE && k == 2)
            put_reduce(page->b, &page->g, to, to, with);
    }
}

static void allreduce_wrong(int variant, const char *words)
{
    struct program program;

    program_write(&program, COLLECTIVE_ALLREDUCE, 3, 4, false, allreduce_page, variant);
    assert_wrong(&program, words);
    program_free(&program);
}

static void contribution_missing(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_ALLREDUCE, 3, 4, false, allreduce_page, RIGHT);
    assert_right(&program);
    program_free(&program);
    allreduce_wrong(SUM_FORGOTTEN, "rank 1's destination element 0: the contribution of rank 2 is "
                                   "missing (rank 2's source element 0)");
}

static void contribution_doubled(void **state)
{
    struct program program;
    struct verification verification;

    (void)state;
    allreduce_wrong(SUM_TWICE,
                    "rank 1's destination element 0: the contribution of rank 2 is in it "
                    "2 times");
    program_write(&program, COLLECTIVE_ALLREDUCE, 3, 4, false, allreduce_page, SUM_TWICE);
    verify(PROGRAM(&program), true, &verification); /* harmless where x with x is x */
    assert_true(verification.right);
    verification_free(&verification);
    program_free(&program);
}

static void contribution_of_wrong_element(void **state)
{
    (void)state;
    allreduce_wrong(
        SUM_SHIFTED,
        "rank 1's destination element 0 holds rank 0's source element 2, " DESTINATION_WRONG
        " rank 0's source element 0");
}

static void stale_not_yet(void **state)
{
    (void)state;
    allreduce_wrong(SUM_TOO_EARLY,
                    "rank 1's operation 2 (reduce) reads scratch element 0, which was "
                    "never written");
}

/* One landing area for two messages: when the first is read, the second stands there. */
static void stale_no_longer(void **state)
{
    (void)state;
    allreduce_wrong(SUM_ONE_AREA,
                    "rank 1's destination element 0: the contribution of rank 2 is in "
                    "it 2 times");
}

/* Reduce down a chain to rank 0: the others have no destination, and combine in scratch. */
enum { CHAIN_FORGOTTEN = 1, CHAIN_IN_SOURCE };

static void reduce_page(const struct page *page)
{
    int r = page->r, odd = r == 1 ? page->variant : RIGHT;
    struct message so_far = view_all(page->b, &page->source),
                   to = view_all(page->b, &page->destination);
    struct view scratch;

    if (r > 0) {
        scratch = view_scratch(page->b, &page->source);
        to = odd == CHAIN_IN_SOURCE ? so_far : view_all(page->b, &scratch);
    }
    if (r < page->p - 1) {
        put_recv_reduce(page->b, &page->g, r + 1, to, so_far);
        so_far = odd == CHAIN_FORGOTTEN ? so_far : to;
    }
    if (r > 0)
        put_send(page->b, &page->g, r - 1, so_far);
}

static void reduce_to_root(void **state)
{
    static const char *const words[] = {
        [CHAIN_FORGOTTEN] = "rank 0's destination element 0: the contribution of rank 2 is missing",
        [CHAIN_IN_SOURCE] =
            "rank 1's operation 0 (recv_reduce from rank 2) writes source element 0",
    };
    struct program program;

    (void)state;
    for (int in_place = 0; in_place < 2; in_place++)
        for (int variant = RIGHT; variant <= CHAIN_IN_SOURCE; variant++) {
            program_write(&program, COLLECTIVE_REDUCE, 3, 4, in_place, reduce_page, variant);
            if (variant == RIGHT)
                assert_right(&program);
            else
                assert_wrong(&program, words[variant]);
            program_free(&program);
        }
}

/* Reduce-scatter round a ring, with the two areas that it takes, or with one. */
enum { ONE_AREA = 1, STALE_FORWARD };

static void ring_page(const struct page *page)
{
    int p = page->p, r = page->r;
    struct view areas[2] = {view_scratch(page->b, &page->destination),
                            view_scratch(page->b, &page->destination)};
    struct message going = view_block(&page->source, r - 1);

    for (int k = 0; k < p - 1; k++) {
        const struct view *area = &areas[page->variant == ONE_AREA ? 0 : k % 2];
        struct message coming =
            k == p - 2 ? view_all(page->b, &page->destination) : view_all(page->b, area);

        put_send(page->b, &page->g, (r + 1) % p, going);
        put_recv_reduce(page->b, &page->g, (r + p - 1) % p, coming,
                        view_block(&page->source, r - 2 - k));
        going = coming;
        if (page->variant == STALE_FORWARD && r == 2 && k == 1)
            going = view_all(page->b, &areas[0]); /* last step's partial instead of this one's */
    }
}

static void ring_wrong(int variant, const char *words)
{
    struct program program;

    program_write(&program, COLLECTIVE_REDUCE_SCATTER, 5, 2, false, ring_page, variant);
    assert_wrong(&program, words);
    program_free(&program);
}

static void circle(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_REDUCE_SCATTER, 5, 2, false, ring_page, RIGHT);
    assert_right(&program);
    program_free(&program);
    ring_wrong(ONE_AREA,
               "deadlock: rank 0's operation 2 (send to rank 1) waits for rank 1's "
               "operation 3 (recv_reduce from rank 0), which waits for rank 1's operation "
               "2 (send to rank 2), which waits for rank 2's operation 3 (recv_reduce from "
               "rank 1), and so on in a circle of 10 operations");
}

static void stale_partial(void **state)
{
    (void)state;
    ring_wrong(STALE_FORWARD,
               "rank 4's destination element 0 holds rank 1's source element 0, " DESTINATION_WRONG
               " rank 1's source element 8");
}

/* Alltoall in place of two ranks: rank 1 receives over the block that it has not sent yet. */
static void overwrite_page(const struct page *page)
{
    struct message from = view_block(&page->source, 1 - page->r);
    struct message to = view_block(&page->destination, 1 - page->r);

    if (page->r == 0 || page->variant == RIGHT)
        put_send(page->b, &page->g, 1 - page->r, from);
    put_recv(page->b, &page->g, 1 - page->r, to);
    if (page->r == 1 && page->variant != RIGHT)
        put_send(page->b, &page->g, 1 - page->r, from);
}

static void overwrite_in_place(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_ALLTOALL, 2, 2, true, overwrite_page, 1);
    assert_wrong(&program, "rank 0's destination element 2 holds rank 0's source element 2, of the "
                           "wrong rank: the contract wants rank 1's source element 0");
    program_free(&program);
    /* Both in the same way: each would have to receive before it has sent. */
    program_write(&program, COLLECTIVE_ALLTOALL, 2, 2, true, overwrite_page, RIGHT);
    assert_wrong(&program, "deadlock: rank 0's operation 0 (send to rank 1) waits for rank 1's "
                           "operation 1 (recv from rank 0), which waits for rank 1's operation 0");
    program_free(&program);
}

/* Errors that the builder refuses are put into a finished schedule. */

static void outside(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_ALLTOALL, 4, 3, false, alltoall_page, RIGHT);
    struct operation *operations = program_open(&program, 2);
    message_open(&program, 2, &operations[2].to)->offset = 10;
    assert_wrong(&program,
                 "rank 2's operation 2 (recv from rank 1) touches destination element 12, "
                 "which is outside: there are 12");
    operations[2].to.count = 0;
    assert_wrong(
        &program,
        "rank 2's operation 2 (recv from rank 1) is of length 3, but its 'to' of length 0");
    program_free(&program);
}

static void write_into_source(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_ALLTOALL, 4, 3, false, alltoall_page, RIGHT);
    struct operation *operations = program_open(&program, 2);
    message_open(&program, 2, &operations[2].to)->buffer = BUFFER_SOURCE;
    assert_wrong(&program,
                 "rank 2's operation 2 (recv from rank 1) writes source element 3, but only the "
                 "destination is for results");
    program_free(&program);
}

/* In place the source is the outer buffer here, and only the own block of it is the destination. */
static void write_into_source_in_place(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_REDUCE_SCATTER, 3, 2, true, ring_page, RIGHT);
    struct operation *operations = program_open(&program, 1);
    size_t last = program.schedules[1]->count - 1;
    struct span *to = message_open(&program, 1, &operations[last].to);
    *to = (struct span){.buffer = BUFFER_SOURCE, .offset = 4, .run = 2, .times = 1};
    assert_wrong(&program, "writes source element 4, but only the destination is for results");
    program_free(&program);
}

static void target_over_input(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_ALLREDUCE, 3, 4, false, allreduce_page, RIGHT);
    struct operation *operations = program_open(&program, 0);
    struct operation *reduce = &operations[operation_nth(&program, 0, OPERATION_REDUCE, 1)];
    struct span halves[2] = {{.buffer = BUFFER_DESTINATION, .offset = 2, .run = 2, .times = 1},
                             {.buffer = BUFFER_DESTINATION, .offset = 0, .run = 2, .times = 1}};
    reduce->from = (struct message){halves, 2};
    assert_wrong(&program,
                 "(reduce) writes over its own input: destination element 2 is element 2 of "
                 "its target and element 0 of its 'from'");
    halves[0].offset = 0;
    halves[1] = (struct span){.buffer = BUFFER_SOURCE, .offset = 2, .run = 2, .times = 1};
    assert_wrong(&program, "(reduce) has a target that is partly its 'from'");
    reduce->to = (struct message){halves, 2};
    halves[1] = halves[0];
    assert_wrong(&program, "(reduce) writes destination element 0 twice");
    program_free(&program);
}

static void malformed(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_ALLREDUCE, 3, 4, false, allreduce_page, RIGHT);
    struct operation *operations = program_open(&program, 0);
    struct wait wait = {.operation = 7, .length = 4};
    size_t reduce = operation_nth(&program, 0, OPERATION_REDUCE, 0);
    struct operation kept = operations[reduce];
    operations[reduce].waits = &wait;
    operations[reduce].wait_count = 1;
    assert_wrong(&program, "(reduce) waits for operation 7, which is not before it");
    wait = (struct wait){.operation = 0, .past = 1, .length = 4};
    assert_wrong(&program, "(reduce) has a malformed wait for operation 0");
    operations[reduce] = kept;
    operations[0].peer = 0;
    assert_wrong(&program, "rank 0's operation 0 (send to rank 0) has its own rank as peer");
    operations[0].peer = 3;
    assert_wrong(&program, "has a peer or a lane that does not exist");
    operations[0].peer = 1;
    assert_right(&program);

    struct schedule *other = program.schedules[1];
    program.schedules[1] = program.schedules[2];
    assert_wrong(&program, "schedule 1 of 3 is that of rank 2 of 3");
    program.schedules[1] = other;
    program_free(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alltoall_right),
        cmocka_unit_test(swapped_peers),
        cmocka_unit_test(message_without_receive),
        cmocka_unit_test(element_never_written),
        cmocka_unit_test(lengths_differ),
        cmocka_unit_test(lane_order),
        cmocka_unit_test(contribution_missing),
        cmocka_unit_test(contribution_doubled),
        cmocka_unit_test(contribution_of_wrong_element),
        cmocka_unit_test(stale_not_yet),
        cmocka_unit_test(stale_no_longer),
        cmocka_unit_test(reduce_to_root),
        cmocka_unit_test(stale_partial),
        cmocka_unit_test(circle),
        cmocka_unit_test(overwrite_in_place),
        cmocka_unit_test(outside),
        cmocka_unit_test(write_into_source),
        cmocka_unit_test(write_into_source_in_place),
        cmocka_unit_test(target_over_input),
        cmocka_unit_test(malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
