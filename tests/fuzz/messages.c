/*
 * messages.c - the content of the frames of the control plane and of a fleet, and a rank's join
 * request.
 *
 * Input: which message it is, a number of ranks, then the message. What is accepted must survive
 * being written and read again, and keep the bounds that its readers rely on.
 */
#include <stdio.h>

#include "controlplane/control/control.h"
#include "controlplane/control/internal.h"
#include "controlplane/agents/agents.h"
#include "fuzz.h"
#include "controlplane/verdict/verdict.h"

#define RANKS_FEW 6

static void try_notice(const unsigned char *data, size_t size)
{
    struct notice notice, again;
    struct bytes bytes = {0};
    if (!notice_decode(data, size, &notice))
        return;
    notice_encode(&notice, &bytes);
    require(bytes.size == size);
    require(notice_decode(bytes.data, bytes.size, &again));
    require(again.status == notice.status && strcmp(again.text, notice.text) == 0);
    bytes_free(&bytes);
}

static void try_failure(const unsigned char *data, size_t size, int ranks)
{
    struct failure failure, again;
    struct bytes bytes = {0};
    if (!failure_decode(data, size, 0, ranks, &failure))
        return;
    require(failure.status != STATUS_OK && failure.text[0]);
    require(failure.reason >= REASON_OWN && failure.reason < FAILURE_REASONS);
    require(failure.peer >= NO_RANK && failure.peer < ranks && failure.peer != 0);
    require((failure.peer == NO_RANK) == (failure.reason == REASON_OWN));
    failure_encode(&failure, &bytes);
    require(bytes.size == size);
    require(failure_decode(bytes.data, bytes.size, 0, ranks, &again));
    require(again.status == failure.status && again.reason == failure.reason &&
            again.peer == failure.peer && strcmp(again.text, failure.text) == 0);
    bytes_free(&bytes);
}

static void try_members(const unsigned char *data, size_t size, int ranks)
{
    struct member members[RANKS_FEW];
    struct bytes bytes = {0};
    int firsts = 0, nodes = 0;
    if (!members_decode(data, size, ranks, members))
        return;
    for (int r = 0; r < ranks; r++) {
        require(members[r].node >= 0 && members[r].node < ranks);
        require(members[r].local_rank >= 0 && members[r].local_rank < ranks);
        nodes = members[r].node >= nodes ? members[r].node + 1 : nodes;
        firsts += members[r].local_rank == 0;
    }
    require(firsts == nodes); /* each host has one first rank */
    members_encode(members, ranks, &bytes);
    require(bytes.size == size);
    require(members_decode(bytes.data, bytes.size, ranks, members));
    bytes_free(&bytes);
}

/* As many heartbeats as there are, each of a rank, and the verdict from them and from some
 * causes. */
static void try_readings(struct reader *input, int ranks)
{
    struct standing standings[RANKS_FEW] = {0};
    struct member members[RANKS_FEW] = {0};
    struct cause causes[RANKS_FEW];
    int cause_count = 0;
    static const char *const algorithms[] = {"alltoall pairwise", NULL};
    for (int r = 0; r < ranks; r++) {
        unsigned state = input_u8(input);
        size_t size = input_u8(input);
        unsigned char *message = input_copy(input, &size);
        snprintf(members[r].host, sizeof members[r].host, "host%d", r);
        if (!snapshot_decode(message, size, &standings[r].snapshot))
            standings[r].snapshot = (struct progress_snapshot){.operation = -1, .peer = -1};
        standings[r].finished = state & 1;
        standings[r].exchange = state & 2 ? "a gather of the control plane" : NULL;
        standings[r].silent = state & 4 ? 9 : 0;
        if (state & 8) {
            struct cause *cause = &causes[cause_count++];
            *cause = (struct cause){.kind = CAUSE_FAILED, .rank = r};
            failure_set_peer(&cause->failure, REASON_PEER_LOST + (state >> 4 & 1),
                             (int)(state >> 5) % ranks, "rank %d has lost it", r);
        }
        free(message);
    }
    struct situation situation = {.ranks = ranks,
                                  .members = members,
                                  .standings = standings,
                                  .causes = causes,
                                  .stalled = 1,
                                  .heartbeat = 0.5,
                                  .algorithms = algorithms,
                                  .algorithm_count = 2};
    static struct verdict verdict;
    verdict_reach(&situation, &verdict);
    require(verdict.headline[0] && verdict.status == STATUS_TIMEOUT);
    situation.cause_count = cause_count;
    verdict_reach(&situation, &verdict);
    require(verdict.headline[0] && verdict.status == STATUS_TIMEOUT && verdict.error_count > 0);
    causes[0] = (struct cause){.kind = CAUSE_LOST, .rank = 0, .failure.status = STATUS_TIMEOUT};
    situation.cause_count = 1;
    verdict_reach(&situation, &verdict);
    require(verdict.headline[0] && verdict.error_count == 1);
}

static void try_share(const unsigned char *data, size_t size)
{
    struct share share;
    if (share_decode(data, size, &share))
        require(share.data + share.size == data + size);
}

static void try_blobs(const unsigned char *data, size_t size, int ranks)
{
    struct blobs blobs;
    struct bytes bytes = {0};
    if (blobs_decode(data, size, ranks, &blobs)) {
        bytes_put_u32(&bytes, (uint32_t)blobs.count);
        for (int r = 0; r < blobs.count; r++)
            blobs_encode_next(blobs.data[r], blobs.size[r], &bytes);
        require(bytes.size == size && memcmp(bytes.data, data, size) == 0);
    }
    bytes_free(&bytes);
    blobs_free(&blobs);
}

static void try_delivery(const unsigned char *data, size_t size, int ranks)
{
    struct share result;
    struct bytes bytes = {0};
    int to;
    if (delivery_decode(data, size, ranks, &to, &result)) {
        require(to > 0 && to < ranks);
        delivery_encode(to, &result, &bytes);
        require(bytes.size == size && memcmp(bytes.data, data, size) == 0);
    }
    bytes_free(&bytes);
}

/* Parcels that are read, and written again, are not longer, and read the same. */
static void try_parcels(const unsigned char *data, size_t size, int ranks)
{
    struct parcels parcels, again;
    struct parcel list[RANKS_FEW], one;
    struct bytes bytes = {0};
    int count = 0;
    if (!parcels_decode(data, size, 0, ranks, &parcels))
        return;
    require(parcels.count < ranks && (parcels.count > 0) == (size > 0));
    for (int last = 0; parcels_take(&parcels, &one); last = one.peer) {
        require(one.peer > last && one.peer < ranks && count < parcels.count);
        list[count++] = one;
    }
    require(count == parcels.count);
    parcels_encode(list, count, parcels.each, &bytes);
    require(parcels_decode(bytes.data, bytes.size, 0, ranks, &again));
    require(again.count == count && again.each == parcels.each);
    for (int i = 0; parcels_take(&again, &one); i++)
        require(one.peer == list[i].peer && memcmp(one.data, list[i].data, again.each) == 0);
    bytes_free(&bytes);
}

static void try_redirect(const unsigned char *data, size_t size, int ranks)
{
    struct redirect redirect;
    struct bytes bytes = {0};
    if (redirect_decode(data, size, ranks, &redirect)) {
        require(redirect.parent >= 0 && redirect.parent < ranks);
        redirect_encode(&redirect, &bytes);
        require(bytes.size == size && memcmp(bytes.data, data, size) == 0);
    }
    bytes_free(&bytes);
}

static void hello_make(struct join_request *request, int rank, int ranks)
{
    const struct membership membership = {.rank = rank, .ranks = ranks};
    join_request_fill(request, &membership, "allreduce -a ring --np 4 -b 8 -e 64M");
}

static void try_hello(const unsigned char *data, size_t size, int ranks)
{
    struct join_request root, pending;
    unsigned char bytes[HANDSHAKE_HELLO_MOST];
    char refusal[1024];
    if (!join_request_decode(data, size, &pending))
        return;
    hello_make(&root, 0, ranks);
    if (join_request_check(&root, &pending, refusal, sizeof refusal) == STATUS_OK) {
        require(pending.rank >= 0 && pending.rank < ranks);
        require(join_request_encode(&pending, bytes) <= sizeof bytes);
    } else {
        require(refusal[0]);
    }
}

/* Control characters of a text are replaced, so it may differ from what was read. */
static void try_order(const unsigned char *data, size_t size)
{
    struct order order, again;
    struct bytes bytes = {0};
    uint32_t number;
    if (message_agent(data, size) < 0)
        require(!order_decode(data, size, &order) || order.agent < 0);
    cancel_decode(data, size, &number);
    if (!order_decode(data, size, &order))
        return;
    require(order.rank >= 0 && order.rank < order.ranks && order.root.count > 0);
    require(strlen(order.command) < sizeof order.command && order.seconds >= 0);
    order_encode(&order, &bytes);
    require(order_decode(bytes.data, bytes.size, &again));
    require(again.rank == order.rank && again.job == order.job && again.number == order.number);
    require(strcmp(again.command, order.command) == 0);
    bytes_free(&bytes);
}

static void try_loss(const unsigned char *data, size_t size)
{
    struct loss_message loss, again;
    struct bytes bytes = {0};
    if (!loss_decode(data, size, &loss))
        return;
    require(strlen(loss.why) < sizeof loss.why);
    loss_encode(&loss, &bytes);
    require(loss_decode(bytes.data, bytes.size, &again));
    require(again.ended == loss.ended && strcmp(again.why, loss.why) == 0);
    bytes_free(&bytes);
}

/* Heartbeats, in both directions. */
static void try_beat(const unsigned char *data, size_t size)
{
    double seconds = 0, again = 0;
    struct host_gaps gaps, gaps_again;
    struct bytes bytes = {0};
    if (beat_decode(data, size, &seconds)) {
        require(seconds > 0 && seconds < 60);
        beat_encode(seconds, &bytes);
        require(beat_decode(bytes.data, bytes.size, &again) && again == seconds);
    }
    bytes_free(&bytes);
    if (gaps_decode(data, size, &gaps)) {
        gaps_encode(&gaps, &bytes);
        require(gaps_decode(bytes.data, bytes.size, &gaps_again));
        require(memcmp(&gaps, &gaps_again, sizeof gaps) == 0);
    }
    bytes_free(&bytes);
}

static void try_report(const unsigned char *data, size_t size)
{
    struct report_message report, again;
    struct bytes bytes = {0};
    if (!report_message_decode(data, size, &report))
        return;
    require(report.end.fate < WORKER_FATES && report.end.fate != WORKER_LOST);
    require(report.result + report.size == data + size);
    require(strlen(report.end.tail) < sizeof report.end.tail);
    report_message_encode(&report, &bytes);
    require(report_message_decode(bytes.data, bytes.size, &again));
    require(again.size == report.size && again.end.code == report.end.code);
    bytes_free(&bytes);
}

enum {
    NOTICE,
    MEMBERS,
    READINGS,
    SHARE,
    BLOBS,
    HELLO,
    REDIRECT,
    FAILURE,
    DELIVERY,
    PARCELS,
    ORDER,
    REPORT,
    BEAT,
    MESSAGES
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader input = {.at = data, .left = size};
    unsigned message = input_u8(&input) % MESSAGES;
    int ranks = 1 + (int)(input_u8(&input) % RANKS_FEW);
    switch (message) {
    case NOTICE:
        try_notice(input.at, input.left);
        break;
    case MEMBERS:
        try_members(input.at, input.left, ranks);
        break;
    case READINGS:
        try_readings(&input, ranks);
        break;
    case SHARE:
        try_share(input.at, input.left);
        break;
    case BLOBS:
        try_blobs(input.at, input.left, ranks);
        break;
    case HELLO:
        try_hello(input.at, input.left, ranks);
        break;
    case REDIRECT:
        try_redirect(input.at, input.left, ranks);
        break;
    case DELIVERY:
        try_delivery(input.at, input.left, ranks);
        break;
    case PARCELS:
        try_parcels(input.at, input.left, ranks);
        break;
    case ORDER:
        try_order(input.at, input.left);
        break;
    case REPORT:
        try_report(input.at, input.left);
        break;
    case BEAT:
        try_beat(input.at, input.left);
        try_loss(input.at, input.left);
        break;
    case FAILURE:
        try_failure(input.at, input.left, ranks);
        break;
    }
    return 0;
}

static void seed_begin(struct bytes *bytes, int message, int ranks)
{
    const unsigned char head[] = {(unsigned char)message, (unsigned char)(ranks - 1)};
    bytes->size = 0;
    bytes_put(bytes, head, sizeof head);
}

static void seed_readings(struct bytes *bytes)
{
    seed_begin(bytes, READINGS, 3);
    for (int r = 0; r < 3; r++) {
        const struct progress_snapshot snapshot = {.phase = PHASE_TIME,
                                                   .operation = r,
                                                   .kind = 2 + r % 2,
                                                   .peer = (r + 1) % 3,
                                                   .length = 8,
                                                   .progress = 7};
        struct bytes progress = {0};
        snapshot_encode(&snapshot, &progress);
        const unsigned char head[] = {(unsigned char)(r == 2 ? 2 : 0),
                                      (unsigned char)progress.size};
        bytes_put(bytes, head, sizeof head);
        bytes_put(bytes, progress.data, progress.size);
        bytes_free(&progress);
    }
    fuzz_seed("readings", bytes->data, bytes->size);
}

/* The messages that rank 0 of a fleet and its agents send each other. */
static void seed_fleet(struct bytes *bytes)
{
    const struct order order = {.agent = 1,
                                .stage = "pairs",
                                .number = 3,
                                .rank = 1,
                                .ranks = 2,
                                .root_host = "n1",
                                .root = {.count = 1, .list = {{.family = AF_INET, .port = 7}}},
                                .seconds = 12,
                                .command = "sendrecv -a uni -b 64K"};
    seed_begin(bytes, ORDER, 2);
    order_encode(&order, bytes);
    fuzz_seed("order", bytes->data, bytes->size);
    const struct report_message report = {.number = 3,
                                          .end = {.fate = WORKER_EXITED, .tail = "rank 0: no\n"},
                                          .result = (const unsigned char *)"{}",
                                          .size = 2};
    seed_begin(bytes, REPORT, 2);
    report_message_encode(&report, bytes);
    fuzz_seed("report", bytes->data, bytes->size);
    seed_begin(bytes, BEAT, 2);
    beat_encode(0.05, bytes);
    fuzz_seed("beat", bytes->data, bytes->size);
    seed_begin(bytes, BEAT, 2);
    gaps_encode(&(struct host_gaps){.stops = 1, .stopped_us = 200000}, bytes);
    fuzz_seed("gaps", bytes->data, bytes->size);
}

void fuzz_seeds(void)
{
    struct bytes bytes = {0};
    const struct notice notice = {.status = STATUS_TIMEOUT, .text = "rank 3 is gone"};
    struct failure failure;
    failure_set_peer(&failure, REASON_PEER_LOST, 3, "rank 3 is gone");
    seed_begin(&bytes, FAILURE, 4);
    failure_encode(&failure, &bytes);
    fuzz_seed("failure", bytes.data, bytes.size);
    seed_begin(&bytes, NOTICE, 1);
    notice_encode(&notice, &bytes);
    fuzz_seed("notice", bytes.data, bytes.size);
    for (size_t length = sizeof notice.text - 1; length < sizeof notice.text + 200; length += 100) {
        char text[2 * sizeof notice.text] = "";
        memset(text, 'x', length);
        seed_begin(&bytes, NOTICE, 1);
        notice_encode(&notice, &bytes);
        bytes.size -= 4 + strlen(notice.text);
        bytes_put_text(&bytes, text);
        snprintf(text, sizeof text, "notice-%zu", length);
        fuzz_seed(text, bytes.data, bytes.size);
    }

    seed_fleet(&bytes);

    const struct member members[] = {{.host = "n1", .pid = 7},
                                     {.host = "n2", .pid = 8, .node = 1},
                                     {.host = "n1", .pid = 9, .local_rank = 1}};
    seed_begin(&bytes, MEMBERS, 3);
    members_encode(members, 3, &bytes);
    fuzz_seed("members", bytes.data, bytes.size);

    seed_readings(&bytes);

    const struct share share = {.kind = 1, .number = 2, .data = bytes.data, .size = 2};
    struct bytes other = {0};
    seed_begin(&other, SHARE, 1);
    share_encode(&share, &other);
    fuzz_seed("share", other.data, other.size);

    seed_begin(&other, DELIVERY, 4);
    delivery_encode(3, &share, &other);
    fuzz_seed("delivery", other.data, other.size);

    for (int alike = 0; alike < 2; alike++) {
        static const unsigned char data[3][60] = {"abc", "def", "abc"};
        struct parcel list[3];
        for (int i = 0; i < 3; i++)
            list[i] = (struct parcel){1 + i, data[alike ? 0 : i]};
        seed_begin(&bytes, PARCELS, 4);
        parcels_encode(list, 3, sizeof data[0], &bytes);
        fuzz_seed(alike ? "parcels-alike" : "parcels", bytes.data, bytes.size);
    }

    seed_begin(&bytes, BLOBS, 3);
    bytes_put_u32(&bytes, 3);
    for (size_t r = 0; r < 3; r++)
        blobs_encode_next("abcdef", 3 * r, &bytes);
    fuzz_seed("blobs", bytes.data, bytes.size);

    struct join_request request;
    unsigned char encoded[HANDSHAKE_HELLO_MOST];
    hello_make(&request, 3, 4);
    seed_begin(&bytes, HELLO, 4);
    bytes_put(&bytes, encoded, join_request_encode(&request, encoded));
    fuzz_seed("hello", bytes.data, bytes.size);
    snprintf(request.version, sizeof request.version, "0.0.9");
    seed_begin(&bytes, HELLO, 4);
    bytes_put(&bytes, encoded, join_request_encode(&request, encoded));
    fuzz_seed("hello-old", bytes.data, bytes.size);

    const struct redirect redirect = {
        .parent = 2, .home = {.count = 1, .list = {{.family = AF_INET, .port = 7, .prefix = 8}}}};
    seed_begin(&bytes, REDIRECT, 4);
    redirect_encode(&redirect, &bytes);
    fuzz_seed("redirect", bytes.data, bytes.size);
    bytes_free(&bytes);
    bytes_free(&other);
}
