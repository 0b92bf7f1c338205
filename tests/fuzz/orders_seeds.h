/*
 * orders_seeds.h - the inputs that orders.c begins with: jobs as they truly go.
 */
#ifndef CCTEST_FUZZ_ORDERS_SEEDS_H
#define CCTEST_FUZZ_ORDERS_SEEDS_H

#include "orders_world.h"

static void put(struct bytes *out, unsigned first, unsigned second, unsigned third)
{
    const unsigned char bytes[] = {(unsigned char)first, (unsigned char)second,
                                   (unsigned char)third};
    bytes_put(out, bytes, sizeof bytes);
}

static void put_two(struct bytes *out, unsigned first, unsigned second)
{
    put(out, first, second, 0);
    out->size--;
}

static void put_content(struct bytes *out, struct bytes *content)
{
    put_two(out, (unsigned)content->size & 255, (unsigned)content->size >> 8);
    bytes_put(out, content->data, content->size);
    bytes_free(content);
}

static void put_say(struct bytes *out, unsigned line, unsigned rank, unsigned type,
                    struct bytes content)
{
    put_two(out, SAY, line);
    put_two(out, rank, type);
    put_content(out, &content);
}

static void put_queued(struct bytes *out, unsigned type, struct bytes content)
{
    unsigned which = 0;
    while (queued_types[which] != (int)type)
        which++;
    put_two(out, QUEUED, which);
    put_content(out, &content);
}

static const struct bytes nothing;

static struct bytes failure_bytes(enum status status, const char *text)
{
    struct bytes bytes = {0};
    struct failure failure;
    failure_set(&failure, status, "%s", text);
    failure_encode(&failure, &bytes);
    return bytes;
}

static struct bytes notice_bytes(enum status status, const char *text)
{
    struct bytes bytes = {0};
    struct notice notice = {.status = status};
    memcpy(notice.text, text, strlen(text));
    notice_encode(&notice, &bytes);
    return bytes;
}

static struct bytes share_bytes(enum exchange kind, uint32_t number, const char *text)
{
    struct bytes bytes = {0};
    const struct share share = {kind, number, (const unsigned char *)text, strlen(text)};
    share_encode(&share, &bytes);
    return bytes;
}

static struct bytes maxima_bytes(uint32_t number, int rank)
{
    struct bytes bytes = {0};
    const uint64_t words[] = {(uint64_t)rank, 7};
    maxima_encode(number, rank, words, sizeof words / sizeof words[0], &bytes);
    return bytes;
}

static struct bytes snapshot_bytes(uint64_t progress)
{
    struct bytes bytes = {0};
    const struct progress_snapshot snapshot = {
        .progress = progress, .phase = PHASE_TIME, .operation = 1, .kind = 2, .peer = 1};
    snapshot_encode(&snapshot, &bytes);
    return bytes;
}

static struct bytes redirect_bytes(int parent)
{
    struct bytes bytes = {0};
    const struct redirect redirect = {
        .parent = parent, .home = {.count = parent > 0, .list = {{.family = AF_INET, .port = 7}}}};
    redirect_encode(&redirect, &bytes);
    return bytes;
}

static struct bytes members_bytes(int ranks)
{
    struct bytes bytes = {0};
    struct member members[RANKS_FEW] = {0};
    for (int rank = 0; rank < ranks; rank++)
        members[rank] =
            (struct member){.rank = rank, .host = "n1", .pid = 7 + rank, .local_rank = rank};
    members_encode(members, ranks, &bytes);
    return bytes;
}

static void seed_begin(struct bytes *out, unsigned ranks, unsigned fan_out, unsigned rank)
{
    out->size = 0;
    put(out, ranks - 2, fan_out - 1, rank);
}

static void seed_end(struct bytes *out, const char *name)
{
    fuzz_seed(name, out->data, out->size);
}

/* At rank 0, of three: ranks 1 and 2 come over lines 0 and 1. */
static void seed_joined(struct bytes *out)
{
    seed_begin(out, 3, 2, 0);
    put(out, CALL, 1, LISTENS);
    put(out, CALL, 2, LISTENS);
    put_say(out, 0, 1, FRAME_ATTACHED, nothing);
    put_say(out, 1, 2, FRAME_ATTACHED, nothing);
    put_say(out, 0, 1, FRAME_HEARTBEAT, snapshot_bytes(1));
}

static void seed_goodbyes(struct bytes *out)
{
    for (unsigned rank = 1; rank < 3; rank++) {
        put_say(out, rank - 1, rank, FRAME_GOODBYE, nothing);
        put_two(out, HANG_UP, rank - 1);
    }
}

static void seed_whole_job(struct bytes *out)
{
    static const enum exchange kinds[] = {EXCHANGE_ALLGATHER, EXCHANGE_GATHER};
    seed_joined(out);
    for (uint32_t number = 0; number < 2; number++) {
        put_say(out, 0, 1, FRAME_SHARE, share_bytes(kinds[number], number, "one"));
        put_queued(out, FRAME_SHARE, share_bytes(kinds[number], number, ""));
        put_say(out, 1, 2, FRAME_SHARE, share_bytes(kinds[number], number, "the third"));
    }
    for (unsigned rank = 1; rank < 3; rank++)
        put_say(out, rank - 1, rank, FRAME_MAXIMA, maxima_bytes(2, (int)rank));
    put_queued(out, FRAME_MAXIMA, maxima_bytes(2, 0));
    put_queued(out, FRAME_FINISHED, notice_bytes(STATUS_OK, ""));
    for (unsigned rank = 1; rank < 3; rank++)
        put_say(out, rank - 1, rank, FRAME_FINISHED, notice_bytes(STATUS_WRONG_DATA, ""));
    seed_goodbyes(out);
    put(out, CALL, 1, JOIN_FIRST); /* it is for the next job */
    seed_end(out, "whole-job");
}

static void seed_failures(struct bytes *out)
{
    seed_joined(out);
    put_say(out, 1, 2, FRAME_FAILED, failure_bytes(STATUS_UNAVAILABLE, "there is no such device"));
    put_say(out, 0, 1, FRAME_POSTMORTEM, notice_bytes(STATUS_OK, "what rank 1 adds"));
    put_two(out, HANG_UP, 0);
    put_two(out, WAIT, 5);
    seed_goodbyes(out);
    seed_end(out, "fails");

    seed_joined(out);
    put_say(out, 1, 2, FRAME_SHARE, share_bytes(EXCHANGE_GATHER, 0, "two"));
    put_two(out, WAIT, 10);
    put_say(out, 0, 1, FRAME_HEARTBEAT, snapshot_bytes(2));
    put_two(out, WAIT, 13);
    put_say(out, 0, 1, FRAME_FAILED, failure_bytes(STATUS_TIMEOUT, "no word of rank 2"));
    seed_end(out, "silence");

    seed_begin(out, 4, 3, 0);
    put(out, CALL, 1, 0);
    put(out, CALL, 2, OTHER_OPTIONS);
    put(out, CALL, 1, OTHER_PROCESS);
    put(out, CALL, 3, 0);
    seed_end(out, "refused");

    seed_joined(out);
    put_two(out, INTERRUPT, WAIT);
    put_two(out, 5, DIED);
    put_two(out, 1, BABBLE);
    put(out, 0, 2, 0);
    seed_end(out, "interrupted");
}

/* One is connected to rank 0, the others are below it. */
static void seed_tree(struct bytes *out)
{
    seed_begin(out, 4, 1, 0);
    put(out, CALL, 1, LISTENS);
    put_say(out, 0, 1, FRAME_ATTACHED, nothing);
    put(out, CALL, 2, LISTENS); /* line 1: it is sent to rank 1 */
    put_say(out, 0, 2, FRAME_ATTACHED, nothing);
    put(out, CALL, 3, LISTENS);
    put(out, CALL, 3, LISTENS | JOIN_AGAIN); /* rank 2 cannot be reached */
    put_say(out, 0, 3, FRAME_ATTACHED, nothing);
}

static void seed_orphans(struct bytes *out)
{
    seed_tree(out);
    put(out, CALL, 2, LISTENS | JOIN_ORPHANED); /* line 4 */
    put_say(out, 4, 2, FRAME_HEARTBEAT, snapshot_bytes(3));
    put_say(out, 4, 2, FRAME_RETURNED, nothing);
    put_say(out, 0, 3, FRAME_LOST, nothing);
    put(out, CALL, 2, LISTENS | JOIN_ORPHANED);
    put_two(out, HANG_UP, 0);
    put_two(out, WAIT, 5);
    put(out, CALL, 3, LISTENS | JOIN_ORPHANED);
    seed_end(out, "orphans");

    seed_begin(out, 4, 1, 0);
    put(out, CALL, 1, LISTENS | JOIN_ORPHANED); /* of another job */
    put(out, CALL, 1, LISTENS);
    seed_end(out, "orphan-first");

    seed_tree(out);
    put(out, CALL, 1, LISTENS); /* it had hung up, as rank 0 took too long */
    put(out, CALL, 2, LISTENS);
    seed_end(out, "again");
}

/* At rank 1, of four, which rank 0 sends to rank 2. */
static void seed_relay_joined(struct bytes *out)
{
    seed_begin(out, 4, 2, 1);
    put_two(out, ANSWERED, CALL_DONE); /* line 0: rank 0 */
    put_say(out, 0, 0, FRAME_REDIRECT, redirect_bytes(2));
    put_two(out, ANSWERED, CALL_DONE); /* line 1: its parent */
    put(out, CALL, 3, LISTENS);        /* line 2: below it */
    put_say(out, 2, 3, FRAME_ATTACHED, nothing);
    put_say(out, 1, 0, FRAME_WELCOME, members_bytes(4));
    put_say(out, 2, 3, FRAME_HEARTBEAT, snapshot_bytes(3));
}

static void seed_relays(struct bytes *out)
{
    seed_begin(out, 3, 2, 1);
    put_two(out, ANSWERED, CALL_DONE);
    put_say(out, 0, 0, FRAME_REDIRECT, redirect_bytes(0));
    put_say(out, 0, 0, FRAME_REFUSED, notice_bytes(STATUS_USAGE, "two processes claim rank 2"));
    seed_end(out, "relay-refused");

    seed_relay_joined(out);
    put_queued(out, FRAME_SHARE, share_bytes(EXCHANGE_ALLGATHER, 0, "two"));
    put_say(out, 1, 0, FRAME_RESULT, share_bytes(EXCHANGE_ALLGATHER, 0, "all"));
    put_queued(out, FRAME_MAXIMA, maxima_bytes(1, 1));
    put_say(out, 2, 3, FRAME_MAXIMA, maxima_bytes(1, 3));
    put_two(out, WAIT, 13);
    put_queued(out, FRAME_FINISHED, notice_bytes(STATUS_OK, ""));
    put_say(out, 1, 0, FRAME_VERDICT, notice_bytes(STATUS_OK, ""));
    put_say(out, 2, 3, FRAME_GOODBYE, nothing);
    seed_end(out, "relay-whole-job");

    seed_relay_joined(out);
    put_queued(out, FRAME_FAILED, failure_bytes(STATUS_ERROR, "no memory"));
    put_two(out, WAIT, 13);
    put_two(out, ANSWERED, CALL_DONE); /* line 3: rank 0 again */
    put_say(out, 3, 0, FRAME_LATE, nothing);
    put_say(out, 1, 0, FRAME_HEARTBEAT, nothing);
    put_two(out, HANG_UP, 2);
    put_say(out, 1, 2, FRAME_ISOLATED, notice_bytes(STATUS_TIMEOUT, "rank 0 is silent"));
    put_two(out, WAIT, 15);
    put_two(out, ANSWERED, CALL_FAILED);
    put_two(out, INTERRUPT, WAIT);
    put_two(out, 30, DIED);
    put(out, 0, BABBLE, 1);
    put_two(out, 1, 1);
    seed_end(out, "relay-alone");
}

#endif
