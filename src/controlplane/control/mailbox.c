/*
 * mailbox.c - what the helper threads of all ranks have in common: time, signals, and the frames to
 * and from the main thread.
 */
#include "controlplane/control/internal.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * Does a thread wait for a core?
 */
void starvation_look(struct starvation *starvation, const struct thread_sight *sight,
                     double deadline)
{
    if (sight->progress != starvation->progress) {
        starvation->progress = sight->progress;
        starvation->progressed = sight->now;
    }
    if (!sight->ready || sight->cpu_ns != starvation->cpu_ns) {
        starvation->cpu_ns = sight->cpu_ns;
        starvation->ready_since = sight->now;
    }
    bool starves = sight->now - starvation->ready_since > deadline / 2;
    bool counts = sight->now - starvation->progressed < STARVATION_DEADLINES * deadline;
    starvation->count += starves && counts;
}

/*
 * Functions that the helper threads of all ranks share.
 */
#define REPORT_SECONDS 3.0 /* for rank 0 to report before another rank ends their process */

const char *control_signal_name(const struct control *control)
{
    switch (control->helper.signal) {
    case SIGINT:
        return "interrupted by SIGINT";
    case SIGHUP:
        return "interrupted by SIGHUP (its terminal was closed?)";
    case SIGQUIT:
        return "interrupted by SIGQUIT";
    case SIGNAL_ORPHANED:
        return "interrupted by the end of the process that started it";
    default:
        return "interrupted by SIGTERM";
    }
}

/* A rank that was stopped for a minute and goes on must not conclude that all others were silent
 * for a minute. */
void control_advance_clock(struct control *control)
{
    double clock = clock_seconds();
    double gap = clock - control->helper.last_clock;
    control->helper.now += gap < control->gap ? gap : control->gap;
    if (gap > control->config.timeout / 2)
        control->helper.woken = control->helper.now;
    control->helper.last_clock = clock;
}

/* Empties `wake` and `signals`. */
static void control_read_events(struct control *control)
{
    eventfd_t count;
    eventfd_read(control->wake, &count);
    int lost, signal = signals_read(control->signals, &lost);
    if (signal == SIGNAL_LOST) {
        control->helper.lost = lost;
        control_set_lost(control, lost);
    } else if (signal)
        control->helper.signal = signal;
    else if (control->membership.supervisor && getppid() != control->membership.supervisor)
        control->helper.signal = SIGNAL_ORPHANED;
    control_advance_clock(control);
}

static void control_count_sockets(struct control *control, int children, int pending)
{
    if (children > atomic_load(&control->helper.child_links_most))
        atomic_store(&control->helper.child_links_most, children);
    if (children + pending > atomic_load(&control->helper.sockets_most))
        atomic_store(&control->helper.sockets_most, children + pending);
}

void control_poll(struct control *control, struct child_links *children,
                  const struct acceptor *acceptor, struct pollfd *own, int count, int milliseconds)
{
    own[0] = (struct pollfd){.fd = control->wake, .events = POLLIN};
    own[1] = (struct pollfd){.fd = control->signals, .events = POLLIN};
    child_links_poll(children, acceptor, own, count, milliseconds, control->helper.now);
    control_count_sockets(control, children->watched, acceptor->count);
    control_read_events(control);
}

void control_accept(struct control *control, struct rank_acceptor *rank_acceptor,
                    rank_acceptor_admit *admit, void *argument)
{
    struct join_request request;
    join_request_fill(&request, &control->membership, control->options);
    request.home = control->helper.home;
    *rank_acceptor = (struct rank_acceptor){
        .acceptor = {.listeners = &control->helper.listeners,
                     .secret = control->membership.secret,
                     .purpose = CONTROL_PURPOSE,
                     .rejected = &control->rejected},
        .admit = admit,
        .argument = argument,
    };
    rank_acceptor_open(rank_acceptor, &request, control->helper.now);
}

struct queued_frame *control_take_outbox(struct control *control)
{
    pthread_mutex_lock(&control->mailbox.lock);
    struct queued_frame *queue = control->mailbox.outbox;
    control->mailbox.outbox = NULL;
    control->mailbox.outbox_end = &control->mailbox.outbox;
    pthread_mutex_unlock(&control->mailbox.lock);
    return queue;
}

struct queued_frame *queued_frame_create(int type, const void *data, size_t size)
{
    struct queued_frame *queued = malloc(sizeof *queued + size);
    if (!queued)
        memory_end();
    queued->next = NULL;
    queued->type = type;
    queued->size = size;
    if (size > 0)
        memcpy(queued->data, data, size);
    return queued;
}

void queued_frames_free(struct queued_frame *queued)
{
    while (queued) {
        struct queued_frame *next = queued->next;
        free(queued);
        queued = next;
    }
}

void control_deliver(struct control *control, const struct share *result)
{
    struct queued_frame *queued = queued_frame_create(FRAME_RESULT, result->data, result->size);
    pthread_mutex_lock(&control->mailbox.lock);
    /* With two connections towards rank 0, a result may come twice. */
    bool wanted = control->mailbox.awaited == result->number;
    if (wanted) {
        control->mailbox.answer = queued;
        control->mailbox.awaited = -1;
        pthread_cond_broadcast(&control->mailbox.changed);
    }
    pthread_mutex_unlock(&control->mailbox.lock);
    if (!wanted)
        free(queued);
}

void control_advance(struct control *control, enum job_state from, enum job_state to)
{
    pthread_mutex_lock(&control->mailbox.lock);
    if (atomic_load(&control->state) == from) {
        atomic_store(&control->state, to);
        pthread_cond_broadcast(&control->mailbox.changed);
    }
    pthread_mutex_unlock(&control->mailbox.lock);
}

static void postmortems_make(struct control *control)
{
    struct blobs *blobs = &control->mailbox.postmortems;
    size_t ranks = (size_t)control->membership.ranks;
    if (!blobs->data)
        *blobs = (struct blobs){.count = (int)ranks,
                                .data = new_array(ranks, sizeof *blobs->data),
                                .size = new_array(ranks, sizeof *blobs->size)};
}

void control_keep_postmortem(struct control *control, int rank, const void *data, size_t size)
{
    pthread_mutex_lock(&control->mailbox.lock);
    struct blobs *blobs = &control->mailbox.postmortems;
    postmortems_make(control);
    if (!blobs->data[rank]) {
        blobs->data[rank] = memcpy(new_array(size, 1), data, size);
        blobs->size[rank] = size;
    }
    pthread_cond_broadcast(&control->mailbox.changed);
    pthread_mutex_unlock(&control->mailbox.lock);
}

void control_set_lost(struct control *control, int rank)
{
    if (rank >= 0 && rank < control->membership.ranks && !job_ended(control))
        atomic_store_explicit(&control->lost[rank], true, memory_order_relaxed);
}

void control_conclude(struct control *control, enum status status)
{
    pthread_mutex_lock(&control->mailbox.lock);
    if (!job_ended(control)) {
        control->mailbox.status = status;
        atomic_store(&control->state, job_begun(control) ? JOB_ENDED : JOB_REFUSED);
        pthread_cond_broadcast(&control->mailbox.changed);
    }
    pthread_mutex_unlock(&control->mailbox.lock);
}

/* A main thread that runs the helper's loop closes at the end of the job. */
static bool main_is_closing(const struct control *control)
{
    return control->mailbox.main == MAIN_CLOSING ||
           (control->helper_place == HELPER_IN_MAIN && job_ended(control));
}

bool control_is_closing(struct control *control)
{
    pthread_mutex_lock(&control->mailbox.lock);
    bool closing = main_is_closing(control);
    pthread_mutex_unlock(&control->mailbox.lock);
    return closing;
}

/* When the main thread last showed that it reacts: at the end of the job, or at a tick since. It
 * may free memory and connections, which takes long where there are many. */
static double main_reacted_at(struct control *control)
{
    struct helper *helper = &control->helper;
    uint64_t ticks = atomic_load_explicit(&control->progress.ticks, memory_order_relaxed);
    if (helper->ended_at == 0)
        helper->ended_at = helper->now;
    if (helper->reacted_at == 0 || ticks != helper->reacted) {
        helper->reacted_at = helper->now;
        helper->reacted = ticks;
    }
    return helper->reacted_at;
}

/* The status with which the process ends is the one in the table and in JSON. False: rank 0 has a
 * moment to write it there. */
static bool main_concluded(struct control *control, enum status *status)
{
    struct helper *helper = &control->helper;
    if (!control->config.conclude)
        return true;
    if (helper->ending_at == 0) {
        struct failure failure; /* the reason, which no report may give any more */
        helper->ending_at = helper->now;
        if (control->error_count > 0) {
            failure_set(&failure, *status, "%s", control->errors[0].message);
            failure.peer = control->errors[0].rank;
            fail_again(&failure);
        } else if (*status == STATUS_INTERRUPTED) {
            fail(*status, "%s", control_signal_name(control));
        }
    }
    if (control->membership.rank > 0 && helper->now - helper->ending_at < REPORT_SECONDS)
        return false;
    *status = control->config.conclude(control->config.conclude_argument, *status);
    return true;
}

void control_watch_main(struct control *control)
{
    if (!job_ended(control))
        return;
    double reacted_at = main_reacted_at(control), now = control->helper.now;
    pthread_mutex_lock(&control->mailbox.lock);
    bool root = control->membership.rank == 0;
    bool informed = control->mailbox.main == MAIN_INFORMED; /* it reports or frees */
    bool supervised = control->membership.supervisor != 0;  /* which kills it, and says so */
    bool done = main_is_closing(control) || (informed && !root && supervised);
    enum status status = control->mailbox.status;
    pthread_mutex_unlock(&control->mailbox.lock);
    bool whole = status_is_whole(status), signaled = control->helper.signal != 0;
    bool may_be_busy = whole || (informed && !signaled);
    if (done || now - reacted_at < (may_be_busy ? FREE_SECONDS : STUCK_SECONDS))
        return;
    if (root && whole && (signaled || !control->config.conclude))
        status = signaled ? STATUS_INTERRUPTED : STATUS_ERROR;
    if (!main_concluded(control, &status))
        return;
    say_verbose(root ? 0 : 1,
                "ending this process: the job ended %.1f s ago and this rank does not react",
                now - control->helper.ended_at);
    _exit((int)status);
}

void progress_read(struct progress *progress, struct progress_snapshot *snapshot)
{
#define READ(field) .field = atomic_load_explicit(&progress->field, memory_order_relaxed)
    *snapshot = (struct progress_snapshot){
        READ(progress), READ(phase),     READ(collective), READ(algorithm), READ(stage),
        READ(bytes),    READ(iteration), READ(operation),  READ(kind),      READ(peer),
        READ(lane),     READ(step),      READ(done),       READ(length),
    };
#undef READ
}

/* Does the main thread starve? Each look may read a file. */
static void control_look_at_main(struct control *control, uint64_t progress)
{
    struct helper *helper = &control->helper;
    struct timespec cpu;
    if (helper->now - helper->looked_at < control->look ||
        clock_gettime(control->main_clock, &cpu) != 0)
        return;
    struct thread_sight sight = {.now = helper->now,
                                 .cpu_ns =
                                     (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec,
                                 .progress = progress};
    sight.ready =
        sight.cpu_ns == helper->starvation.cpu_ns && host_thread_is_ready(control->main_thread);
    starvation_look(&helper->starvation, &sight, control->config.timeout);
    helper->looked_at = helper->now;
}

void control_snapshot(struct control *control, struct progress_snapshot *snapshot)
{
    progress_read(&control->progress, snapshot);
    if (control->has_main_clock)
        control_look_at_main(control, snapshot->progress);
    snapshot->progress += control->helper.starvation.count;
}

/* ---- the main thread ---- */

void control_post(struct control *control, struct queued_frame *queued)
{
    pthread_mutex_lock(&control->mailbox.lock);
    *control->mailbox.outbox_end = queued;
    control->mailbox.outbox_end = &queued->next;
    pthread_mutex_unlock(&control->mailbox.lock);
    eventfd_write(control->wake, 1);
}

struct queued_frame *queued_frame_take(int type, struct bytes *bytes)
{
    struct queued_frame *queued = queued_frame_create(type, bytes->data, bytes->size);
    bytes_free(bytes);
    return queued;
}

enum status control_notice_end(struct control *control)
{
    if (control->mailbox.main == MAIN_ACTIVE)
        control->mailbox.main = MAIN_INFORMED;
    return control->mailbox.status;
}
