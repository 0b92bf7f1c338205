/*
 * orders.c - the helper of rank 0, or of another rank, receives frames in any order, of any rank
 * and with any content. Its whole loop runs as it is, in this thread.
 *
 * This file stands in for the outside: which connections are accepted, whether a call is answered,
 * and, since the loop waits in poll() only, when time passes and what has come meanwhile. No clock
 * and no other process has a part in it, so an input always does the same.
 *
 * Input: how many ranks there are, how many may be connected to one, and whose helper it is; then
 * steps (enum step). When they are over, nothing comes any more, and the helper has to find its end
 * in the time that it promises.
 */
#include <signal.h>
#include <sys/eventfd.h>

#include "orders_seeds.h"
#include "orders_world.h"

/* ---- steps ---- */

static void step_call(struct reader *input)
{
    struct join_request request = world.request;
    request.rank = (signed char)input_u8(input);
    unsigned flags = input_u8(input);
    request.reason = (flags & ARRIVAL) % JOIN_REASONS;
    request.pid = 100 + request.rank + (flags & OTHER_PROCESS);
    request.digest[0] ^= flags & OTHER_OPTIONS;
    if (flags & LISTENS)
        request.home = (struct address_list){.count = 1, .list = {{.family = AF_INET, .port = 7}}};
    int pending = test_case_open(&request);
    if (pending >= 0)
        world.lines[world.count - 1].pending = pending;
}

static void step_say(struct reader *input)
{
    struct line *line = line_choose(input);
    int rank = (signed char)input_u8(input), type = (int)input_u8(input);
    size_t size = input_u16(input);
    unsigned char *content = input_copy(input, &size);
    if (line && line->wire.fd >= 0) {
        require(wire_put(&line->wire, rank, type, content, size));
        wire_flush(&line->wire);
    }
    free(content);
}

static void step_babble(struct reader *input)
{
    struct line *line = line_choose(input);
    size_t size = input_u8(input);
    unsigned char *content = input_copy(input, &size);
    if (line && line->wire.fd >= 0)
        (void)!send(line->wire.fd, content, size, MSG_NOSIGNAL);
    free(content);
}

/* A main thread that queues a share waits for its result. */
static void step_queued(struct reader *input)
{
    struct control *control = world.control;
    struct share share;
    int type = queued_types[input_u8(input) % (sizeof queued_types / sizeof queued_types[0])];
    size_t size = input_u16(input);
    unsigned char *content = input_copy(input, &size);
    struct queued_frame *queued = queued_frame_create(type, content, size);
    free(content);
    require(queued);
    *control->mailbox.outbox_end = queued;
    control->mailbox.outbox_end = &queued->next;
    if (type != FRAME_SHARE || !share_decode(queued->data, queued->size, &share))
        return;
    control->mailbox.awaited = share.number;
}

/* Takes the next step; false: others are to come before anything is served. */
static bool step_take(void)
{
    struct reader *input = &world.input;
    struct control *control = world.control;
    struct line *line;
    unsigned step = input_u8(input);
    switch (step % AT_ONCE % STEPS) {
    case CALL:
        step_call(input);
        break;
    case SAY:
        step_say(input);
        break;
    case BABBLE:
        step_babble(input);
        break;
    case HANG_UP:
        if ((line = line_choose(input)))
            wire_close(&line->wire);
        break;
    case WAIT:
        world.waits = input_u8(input) % WAITS_MOST;
        break;
    case QUEUED:
        step_queued(input);
        break;
    case INTERRUPT:
        control->helper.signal = SIGTERM;
        break;
    case DIED:
        control->helper.lost = (signed char)input_u8(input);
        break;
    case ANSWERED:
        world.answer = input_u8(input) % (CALL_HOPELESS + 1);
        break;
    }
    return !(step & AT_ONCE) || input->left == 0;
}

/* ---- what holds at any time ---- */

static bool rank_is_placed(const struct root *root, int rank)
{
    int steps = 0;
    for (; rank != 0 && steps < root->ranks; steps++)
        rank = root->peers[rank].parent;
    return rank == 0;
}

static void root_judge_end(const struct root *root)
{
    const struct control *control = root->control;
    require(root->end_type == FRAME_VERDICT || root->end_type == FRAME_REFUSED);
    require(root->end_notice.status == control->mailbox.status);
    if (root->finished == root->ranks && root->end_type == FRAME_VERDICT && !control->errors)
        return;
    require(control->mailbox.status != STATUS_OK && root->end_notice.text[0]);
    require(control->error_count > 0);
    for (int i = 0; i < control->error_count; i++)
        require(control->errors[i].message[0]);
}

static void root_judge_counts(const struct root *root)
{
    int joined = 0, shares = 0, finished = 0, placed = 0, children = 0;
    for (int rank = 0; rank < root->ranks; rank++) {
        const struct peer *peer = &root->peers[rank];
        require(rank_is_placed(root, rank));
        require(peer->children >= 0);
        require(rank == 0 || peer->children <= root->control->config.fan_out);
        joined += peer_is_joined(peer) || peer->state == PEER_LEFT;
        placed += rank > 0 && peer->state != PEER_ABSENT;
        children += peer->children;
        shares += peer->standing.exchange != NULL;
        finished += peer->standing.finished;
    }
    require(root->shares == shares && shares < root->ranks);
    require(root->finished == finished);
    for (int i = 0; i < root->cause_count; i++)
        for (int other = 0; other < i; other++)
            require(root->causes[i].rank != root->causes[other].rank);
    require(root->ordered <= root->ranks - 1);
    if (job_ended(root->control)) {
        root_judge_end(root); /* `joined` counts also those that were told why they cannot */
        return;
    }
    require(root->joined == joined && joined <= root->ranks && children == placed);
}

static void relay_judge(const struct relay *relay)
{
    const struct control *control = relay->control;
    require(relay->children.count <= control->config.fan_out);
    for (int i = 0; i < relay->children.count; i++) {
        const struct child_link *child = &relay->children.list[i];
        require(child->rank > 0 && child->rank < control->membership.ranks);
        require(child->rank != control->membership.rank);
        for (int other = 0; other < i; other++)
            require(relay->children.list[other].rank != child->rank || child->wire.fd < 0 ||
                    relay->children.list[other].wire.fd < 0);
    }
    require(relay->uplink <= UPLINK_ISOLATED);
    if (relay->uplink == UPLINK_ISOLATED)
        require(relay->leave != LEAVE_NONE && job_ended(control));
}

/* ---- the main thread, and time ---- */

static void main_thread_live(void)
{
    struct control *control = world.control;
    struct blobs blobs;
    if (control->mailbox.answer && control->membership.rank == 0) {
        require(blobs_decode(control->mailbox.answer->data, control->mailbox.answer->size,
                             control->membership.ranks, &blobs));
        blobs_free(&blobs);
    }
    free(control->mailbox.answer);
    control->mailbox.answer = NULL;
    if (!job_ended(control))
        return;
    if (world.ended == 0)
        world.ended = control->helper.now;
    /* It closes when the input is over, and before the helper ends the process. */
    bool closes = world.input.left == 0 || control->helper.now - world.ended > 1;
    control->mailbox.main = closes ? MAIN_CLOSING : MAIN_INFORMED;
}

static void world_go_on(void)
{
    struct control *control = world.control;
    for (int i = 0; i < world.count && world.polls % HEAR_EACH == 0; i++)
        line_hear(&world.lines[i]);
    world.polls++;
    if (control->membership.rank == 0)
        root_judge_counts(world.side);
    else
        relay_judge(world.side);
    control->helper.now += 0.001;
    if (world.waits > 0) {
        world.waits--;
        control->helper.now += WAIT_SECONDS;
    } else if (world.input.left > 0) {
        while (!step_take())
            ;
    } else {
        world.quiet = world.quiet > 0 ? world.quiet : control->helper.now;
        control->helper.now += 2 * WAIT_SECONDS;
        require(control->helper.now - world.quiet < END_SECONDS);
    }
    main_thread_live();
    rank_acceptor_let_in();
}

/* In place of the system's. The log calls it too, for one descriptor. */
int poll(struct pollfd *set, nfds_t count, int timeout)
{
    struct timespec time = {timeout / 1000, timeout % 1000 * 1000000L};
    if (world.control && count > 1) {
        world_go_on();
        time = (struct timespec){0};
    }
    return ppoll(set, count, timeout < 0 ? NULL : &time, NULL);
}

/* ---- one input ---- */

static struct control *control_make(int ranks, int fan_out, int rank)
{
    static int wake = -1;
    struct control *control = calloc(1, sizeof *control);
    require(control);
    if (wake < 0)
        wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    control->membership =
        (struct membership){.rank = rank, .ranks = ranks, .root_host = "fuzz", .bootstrap = "fuzz"};
    control->config = (struct control_config){.timeout = TIMEOUT, .fan_out = fan_out};
    control->options = strdup("allreduce");
    control->members = calloc((size_t)ranks, sizeof *control->members);
    control->lost = calloc((size_t)ranks, sizeof *control->lost);
    require(control->options && control->members && control->lost);
    control->log = &world.log;
    control->wake = wake;
    control->signals = control->helper.lost = -1;
    control->mailbox.outbox_end = &control->mailbox.outbox;
    control->mailbox.awaited = -1;
    pthread_mutex_init(&control->mailbox.lock, NULL);
    pthread_cond_init(&control->mailbox.changed, NULL);
    atomic_store(&control->progress.operation, -1);
    atomic_store(&control->progress.peer, -1);
    control->look = TIMEOUT / 20;
    control->heartbeat = TIMEOUT / 5;
    control->gap = 0; /* the clock stands still but for what poll() makes of it */
    control->helper.now = 1;
    control->helper.home =
        (struct address_list){.count = 1, .list = {{.family = AF_INET, .port = 7}}};
    control->helper.root.routes[0] = control->helper.home.list[0];
    control->helper.root.count = 1;
    control->helper.root.membership = &control->membership;
    return control;
}

static void control_free(struct control *control)
{
    for (struct queued_frame *queued = control->mailbox.outbox, *next; queued; queued = next) {
        next = queued->next;
        free(queued);
    }
    free(control->mailbox.answer);
    blobs_free(&control->mailbox.postmortems);
    free(control->lost);
    free(control->members);
    free(control->errors);
    free(control->options);
    free(control);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    world = (struct world){.input = {.at = data, .left = size}};
    int ranks = 2 + (int)(input_u8(&world.input) % (RANKS_FEW - 1));
    int fan_out = 1 + (int)(input_u8(&world.input) % 3);
    int rank = (int)(input_u8(&world.input) % (unsigned)ranks);
    struct control *control = world.control = control_make(ranks, fan_out, rank);
    log_init(&world.log, rank, 2);
    log_attach(&world.log);
    join_request_fill(&world.request, &control->membership, control->options);
    if (rank == 0)
        root_run(control);
    else
        relay_run(control);
    log_attach(NULL);
    require(job_ended(control));
    for (int i = 0; i < world.count; i++) {
        struct line *line = &world.lines[i];
        if (line->pending >= 0)
            close(line->pending);
        line_hear(line);
        require(line->wire.fd < 0 || !wire_fill(&line->wire)); /* the helper has closed its end */
        wire_close(&line->wire);
    }
    world.control = NULL;
    control_free(control);
    return 0;
}

void fuzz_seeds(void)
{
    struct bytes out = {0};
    seed_whole_job(&out);
    seed_failures(&out);
    seed_orphans(&out);
    seed_relays(&out);
    bytes_free(&out);
}
