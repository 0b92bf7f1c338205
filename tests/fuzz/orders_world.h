/*
 * orders_world.h - the outside of the helper of orders.c: connections, and a rank acceptor and a
 * connector that let through what the input says.
 */
#ifndef CCTEST_FUZZ_ORDERS_WORLD_H
#define CCTEST_FUZZ_ORDERS_WORLD_H

#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/control/internal.h"
#include "fuzz.h"

enum step {
    CALL,   /* who calls (signed), how (enum call_flags): the next line */
    SAY,    /* line, whose words (signed), type, length (16 bits), content: a frame comes over it */
    BABBLE, /* line, length, content: no frame */
    HANG_UP, /* line */
    WAIT,    /* so many times WAIT_SECONDS */
    QUEUED,  /* which of queued_types, length (16 bits), content: from this rank's main thread */
    INTERRUPT,
    DIED,     /* a rank: the supervisor says so */
    ANSWERED, /* enum connector_state: what becomes of this rank's own call; if DONE: a line */
    STEPS,
    AT_ONCE = 0x80 /* nothing is served between this step and the next */
};
enum call_flags { ARRIVAL = 3, OTHER_OPTIONS = 4, OTHER_PROCESS = 8, LISTENS = 16, FLAGS = 31 };

#define RANKS_FEW    7
#define LINES_MOST   24
#define TIMEOUT      2.0
#define WAIT_SECONDS 0.1
#define WAITS_MOST   64
#define HEAR_EACH    8    /* polls: what lies in a socket meanwhile is no harm */
#define END_SECONDS  15.0 /* in which the helper ends when nothing comes any more */

static const int queued_types[] = {FRAME_SHARE, FRAME_FAILED, FRAME_FINISHED, FRAME_MAXIMA};

/* The other end of a connection with the helper. */
struct line {
    struct wire wire;
    struct join_request request;
    int pending; /* the helper's end, until it is accepted; -1: it was, or there is none */
};

/* All there is beside the helper; made anew for each input. */
static struct world {
    struct reader input;
    struct control *control;
    struct log log;
    struct join_request request;
    struct line lines[LINES_MOST];
    int count;
    unsigned polls, waits;
    struct rank_acceptor *rank_acceptor; /* NULL: it is closed */
    void *side;                          /* struct root or struct relay */
    enum connector_state answer;
    double quiet, ended; /* since when there are no steps, and the job has ended */
} world;

/* ---- lines ---- */

static const struct aead_keys no_keys;

/* With room for what comes at once: growing costs most of an input's time. */
static void wire_begin(struct wire *wire, int fd)
{
    bytes_reserve(&wire->in, (size_t)3 << 15);
    wire_connect(wire, fd, &no_keys);
}

/* Returns the helper's end; -1: there are enough. */
static int test_case_open(const struct join_request *request)
{
    int pair[2];
    if (world.count == LINES_MOST)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
        abort();
    struct line *line = &world.lines[world.count++];
    *line = (struct line){.request = *request, .pending = -1};
    wire_begin(&line->wire, pair[0]);
    return pair[1];
}

/* NULL: there is none. */
static struct line *line_choose(struct reader *input)
{
    unsigned number = input_u8(input);
    return world.count ? &world.lines[number % (unsigned)world.count] : NULL;
}

/* Every frame that the helper sends is valid. */
static void frame_judge(const struct frame *frame)
{
    const struct control *control = world.control;
    struct member members[RANKS_FEW];
    struct notice notice;
    struct redirect redirect;
    struct share share;
    int to;
    require(frame->rank >= 0 && frame->rank < control->membership.ranks);
    if (control->membership.rank > 0)
        return; /* it passes on the words of others */
    switch (frame->type) {
    case FRAME_HEARTBEAT:
    case FRAME_LATE:
        require(frame->size == 0);
        break;
    case FRAME_WELCOME:
        require(members_decode(frame->data, frame->size, control->membership.ranks, members));
        break;
    case FRAME_REFUSED:
    case FRAME_VERDICT:
        require(notice_decode(frame->data, frame->size, &notice));
        require(notice.status == STATUS_OK || notice.text[0] ||
                world.control->mailbox.status != STATUS_OK);
        break;
    case FRAME_REDIRECT:
        require(redirect_decode(frame->data, frame->size, control->membership.ranks, &redirect));
        break;
    case FRAME_DELIVERY:
        require(delivery_decode(frame->data, frame->size, control->membership.ranks, &to, &share));
        break;
    case FRAME_RESULT:
        require(share_decode(frame->data, frame->size, &share));
        break;
    default:
        require(!"rank 0 says this");
    }
}

static void line_hear(struct line *line)
{
    if (line->wire.fd < 0)
        return;
    struct frame frame;
    enum frame_state state;
    wire_fill(&line->wire);
    while ((state = wire_take(&line->wire, &frame)) == FRAME_WHOLE)
        frame_judge(&frame);
    require(state == FRAME_PART);
}

/* ---- in place of the rank acceptor and the connector ---- */

/* There are no listeners, so no connection comes by itself. */
void rank_acceptor_open(struct rank_acceptor *rank_acceptor, const struct join_request *request,
                        double now)
{
    (void)request;
    (void)now;
    rank_acceptor->acceptor.spare = -1;
    world.rank_acceptor = rank_acceptor;
    world.side = rank_acceptor->argument;
}

void rank_acceptor_close(struct rank_acceptor *rank_acceptor)
{
    (void)rank_acceptor;
    world.rank_acceptor = NULL;
}

/* Accepts the pending connections. */
static void rank_acceptor_let_in(void)
{
    for (int i = 0; i < world.count && world.rank_acceptor; i++) {
        struct line *line = &world.lines[i];
        struct wire wire = {0};
        if (line->pending < 0)
            continue;
        wire_begin(&wire, line->pending);
        line->pending = -1;
        world.rank_acceptor->admit(world.side, &wire, &line->request);
    }
}

void connector_begin(struct connector *call, const struct address *routes, const char **outcomes,
                     int count, double seconds, double now)
{
    (void)routes;
    (void)outcomes;
    require(call->hello_size > 0);
    call->state = count > 0 ? CALL_PENDING : CALL_FAILED;
    call->count = count;
    call->until = now + seconds;
    call->fd = -1;
}

struct pollfd connector_watch(const struct connector *call)
{
    (void)call;
    return (struct pollfd){.fd = -1};
}

enum connector_state connector_step(struct connector *call, short events, double now)
{
    (void)events;
    if (call->state != CALL_PENDING)
        return call->state;
    call->keys = no_keys;
    if (world.answer == CALL_DONE && (call->fd = test_case_open(&world.request)) >= 0)
        call->state = CALL_DONE;
    else if (world.answer == CALL_FAILED || world.answer == CALL_HOPELESS)
        call->state = world.answer;
    else if (now >= call->until)
        call->state = CALL_FAILED;
    call->refused = world.answer == CALL_FAILED ? call->count : 0;
    world.answer = CALL_NONE;
    return call->state;
}

void connector_taken(struct connector *call)
{
    call->fd = -1;
    connector_drop(call);
}

void connector_drop(struct connector *call)
{
    if (call->state != CALL_NONE && call->fd >= 0)
        close(call->fd);
    call->state = CALL_NONE;
}

#endif
