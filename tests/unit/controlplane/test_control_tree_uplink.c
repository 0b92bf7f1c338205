/*
 * test_control_tree_uplink.c - the connections of a rank whose parent is silent, step by step. The
 * rank is a real one; its parent and rank 0 are made by hand, so that each frame is seen.
 * tier: check; load: wait
 */
#include "tests/unit/pending.h"

#include <unistd.h>

/* The connections of rank 2, as its parent, rank 1, and rank 0 see them. */
struct family {
    struct job_of_ranks *job;
    struct listeners listeners; /* the parent's */
    struct wire below;          /* from the parent to rank 2 */
    struct wire direct;         /* from rank 0 to it */
};

/* After the end of the job the rank keeps its connections until the test lets it go on. */
static enum status lingering_life(struct control *control, struct job_of_ranks *job)
{
    enum status status = all_meet(control);
    while (!atomic_load(&job->pace))
        usleep(1000);
    return status;
}

static void tell(struct wire *wire, int type, const struct bytes *bytes)
{
    assert_true(wire_put(wire, 0, type, bytes->data, bytes->size) && wire_flush(wire));
}

static void tell_verdict(struct wire *wire)
{
    struct bytes verdict = {0};
    notice_encode(&(struct notice){.status = STATUS_TIMEOUT}, &verdict);
    tell(wire, FRAME_VERDICT, &verdict);
    bytes_free(&verdict);
}

/* Reads on until the rank closes the connection. */
static void await_end(struct wire *wire)
{
    struct pollfd set = {.fd = wire->fd, .events = POLLIN};
    do
        assert_int_equal(1, poll(&set, 1, 5000));
    while (wire_fill(wire));
}

/* Another rank answers at the first of the parent's addresses, as where hosts have the same private
 * address. Rank 2 hangs up. */
static void other_rank_answers(const struct job_of_ranks *job, const struct listeners *listeners)
{
    struct wire other = pending_answer(job, listeners, 0);
    await_end(&other);
    wire_close(&other);
}

/* Rank 2 joins through its parent, which then falls silent, so that rank 2 connects to rank 0. */
static void family_begin(struct family *family)
{
    struct redirect redirect = {.parent = 1};
    struct member members[3] = {{.local_rank = 0}, {.local_rank = 1}, {.local_rank = 2}};
    struct bytes place = {0}, welcome = {0};
    struct frame frame;
    struct listeners other;
    struct address_list other_home, *home = &redirect.home;
    struct job_of_ranks *job = job_create(3, 1, 10);
    *family = (struct family){.job = job};
    job->life = lingering_life;
    assert_int_equal(STATUS_OK, addresses_listen(NULL, true, &other, &other_home));
    assert_int_equal(STATUS_OK, addresses_listen(NULL, true, &family->listeners, home));
    home->list[home->count++] = home->list[0];
    home->list[0] = other_home.list[0];
    assert_true(threads_start(job, 2, 3));
    struct wire asked = pending_answer(job, &job->listeners, 0);
    redirect_encode(&redirect, &place);
    tell(&asked, FRAME_REDIRECT, &place);
    wire_close(&asked);
    other_rank_answers(job, &other);
    listeners_close(&other);
    family->below = pending_answer(job, &family->listeners, 1);
    pending_await(&family->below, FRAME_ATTACHED, &frame);
    members_encode(members, 3, &welcome);
    tell(&family->below, FRAME_WELCOME, &welcome);
    family->direct = pending_answer(job, &job->listeners, 0);
    pending_await(&family->direct, FRAME_HEARTBEAT, &frame);
    bytes_free(&place);
    bytes_free(&welcome);
}

/* The rank ends, and has not called rank 0 again. */
static void family_end(struct family *family)
{
    struct job_of_ranks *job = family->job;
    atomic_store(&job->pace, 1);
    threads_expect(job, 2, 3, STATUS_TIMEOUT);
    for (int i = 0; i < job->listeners.count; i++) {
        struct pollfd set = {.fd = job->listeners.fd[i], .events = POLLIN};
        assert_int_equal(0, poll(&set, 1, 0));
    }
    wire_close(&family->below);
    wire_close(&family->direct);
    listeners_close(&family->listeners);
    listeners_close(&job->listeners);
    job_free(job);
}

/* When its parent goes, the rank stays with rank 0, to which it is connected already. When it loses
 * that connection, too, it is isolated. */
static void test_parent_goes(void **state)
{
    (void)state;
    struct family family;
    family_begin(&family);
    shutdown(family.below.fd, SHUT_WR);
    await_end(&family.below);
    wire_close(&family.direct);
    family_end(&family);
}

/* When its parent brings heartbeats again, the rank says so once, and sends nothing more to rank 0
 * itself; but both get its GOODBYE. */
static void test_parent_speaks_again(void **state)
{
    (void)state;
    static const struct bytes nothing;
    struct family family;
    struct frame frame;
    family_begin(&family);
    tell(&family.below, FRAME_HEARTBEAT, &nothing);
    pending_await(&family.direct, FRAME_RETURNED, &frame);
    tell(&family.below, FRAME_HEARTBEAT, &nothing);
    tell_verdict(&family.below);
    pending_hear(&family.direct, &frame);
    assert_int_equal(FRAME_GOODBYE, frame.type);
    pending_await(&family.below, FRAME_GOODBYE, &frame);
    family_end(&family);
}

/* When rank 0 goes after its verdict, the rank does not wait for its parent to say so. */
static void test_rank_0_goes(void **state)
{
    (void)state;
    struct family family;
    struct frame frame;
    family_begin(&family);
    tell_verdict(&family.direct);
    pending_await(&family.direct, FRAME_GOODBYE, &frame);
    wire_close(&family.direct);
    await_end(&family.below);
    family_end(&family);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parent_goes),
        cmocka_unit_test(test_parent_speaks_again),
        cmocka_unit_test(test_rank_0_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
