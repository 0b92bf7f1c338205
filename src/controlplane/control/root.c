/*
 * root.c - the helper thread of rank 0: it hears all ranks, and decides how the job ends.
 */
#include "controlplane/control/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"

/*
 * Rank 0's table of ranks, and how a job ends: for its loop (root.c), joining
 * (root_join.c) and exchanges (root_exchange.c) alike.
 */
void root_send_all(struct root *root, int type, const void *data, size_t size)
{
    child_links_send(&root->children, 0, type, data, size);
}

/* A rank whose parent is silent has a connection of its own; what came to the parent before is
 * still in it. */
void root_send_to(struct root *root, int rank, int type, const void *data, size_t size)
{
    for (int on_way = rank; on_way > 0; on_way = root->peers[on_way].parent) {
        struct child_link *child = child_links_find(&root->children, on_way);
        if (child)
            child_link_send(child, 0, type, data, size);
    }
}

/* Remembers what is wrong with a rank; the verdict follows after a moment. The first cause of each
 * rank counts. */
static void root_add_cause(struct root *root, int rank, enum cause_kind kind,
                           const struct failure *failure)
{
    struct control *control = root->control;
    if (job_ended(control) || root->peers[rank].has_cause)
        return;
    if (root->verdict_at == 0)
        root->verdict_at = control->helper.now + GRACE_SECONDS;
    if (kind == CAUSE_INTERRUPTED) {
        root->verdict_at = control->helper.now;
        if (root->cause_count > 0)
            return; /* a launcher sends signals because of that cause */
    }
    root->peers[rank].has_cause = true;
    struct cause *cause = &root->causes[root->cause_count++];
    *cause = (struct cause){.kind = kind, .rank = rank, .failure = *failure};
}

void root_blame(struct root *root, int rank, enum cause_kind kind, enum status status,
                const char *message)
{
    struct failure failure;
    failure_set(&failure, status, "%s", message);
    root_add_cause(root, rank, kind, &failure);
}

void root_repeat(struct root *root)
{
    struct bytes bytes = {0};
    notice_encode(&root->end_notice, &bytes);
    root_send_all(root, root->end_type, bytes.data, bytes.size);
    bytes_free(&bytes);
    child_links_flush(&root->children);
}

/* Is there a rank whose parent is dead? It calls rank 0 to learn how the job ended. */
static bool root_expects_orphans(const struct root *root)
{
    for (int rank = 1; rank < root->ranks; rank++) {
        const struct peer *peer = &root->peers[rank];
        if (peer->state == PEER_JOINED && peer->parent > 0 &&
            root->peers[peer->parent].state == PEER_LEFT)
            return true;
    }
    return false;
}

/* Closes the listeners once no rank may turn to rank 0 any more. A script may run one job after the
 * other in the same place: a rank that knows the verdict may be back for the next one before rank 0
 * is gone. Allowed more than once. */
static void root_tend_rank_acceptor(struct root *root)
{
    if (root->end_type == FRAME_VERDICT && !root_expects_orphans(root))
        rank_acceptor_close(&root->rank_acceptor);
}

void root_end(struct root *root, int type, enum status status, const char *text)
{
    root->end_type = type;
    root->end_notice.status = status;
    snprintf(root->end_notice.text, sizeof root->end_notice.text, "%s", text);
    root_repeat(root);
    control_conclude(root->control, status);
    root_tend_rank_acceptor(root);
}

void root_pronounce(struct root *root, int type)
{
    struct control *control = root->control;
    const struct verdict *verdict = &root->verdict;
    log_attach(NULL); /* the sentence is about the job, not about rank 0 */
    say("%s", verdict->headline);
    for (int i = 0; i < verdict->line_count; i++)
        say("  %s", verdict->lines[i]);
    log_attach(control->log);

    size_t size = (size_t)verdict->error_count * sizeof *verdict->errors;
    control->errors = new_array(size, 1);
    memcpy(control->errors, verdict->errors, size);
    control->error_count = verdict->error_count;
    root_end(root, type, verdict->status, verdict->headline);
}

/*
 * The helper thread of rank 0.
 */
#define RETURN_SECONDS 6.0 /* for a rank to call again. Its last call may take it 5 to give up */

/* ---- the ranks, one by one ---- */

static void peer_heard(struct root *root, struct peer *peer,
                       const struct progress_snapshot *snapshot)
{
    if (snapshot->progress < peer->standing.snapshot.progress)
        return; /* an old one, from a parent that was stopped */
    if (snapshot->progress > peer->standing.snapshot.progress && !peer->catches_up)
        root->progressed = root->control->helper.now;
    peer->catches_up = false;
    peer->standing.snapshot = *snapshot;
}

static void peer_failed(struct root *root, int rank, const struct failure *failure)
{
    bool interrupted = failure->status == STATUS_INTERRUPTED;
    root_add_cause(root, rank, interrupted ? CAUSE_INTERRUPTED : CAUSE_FAILED, failure);
}

static void peer_finished(struct root *root, struct peer *peer, const struct notice *notice)
{
    if (peer->standing.finished)
        return; /* it came through the parent, too */
    peer->standing.finished = true;
    root->progressed = root->control->helper.now;
    root->status = status_worse(root->status, notice->status);
    if (++root->finished == root->ranks)
        root_end(root, FRAME_VERDICT, root->status, "");
}

/* One that is not joined has called again since: what is lost is its old connection. */
static void peer_lost(struct root *root, int rank, bool forged)
{
    struct peer *peer = &root->peers[rank];
    if (!peer_is_joined(peer))
        return;
    control_set_lost(root->control, rank);
    root_blame(root, rank, CAUSE_LOST, STATUS_TIMEOUT,
               forged ? "its control connection carried data that " FORGED : "");
    peer->state = PEER_LEFT;
}

/* A frame of any rank, rank 0's own queue included; false: it is invalid. */
static bool root_handle(struct root *root, int rank, int type, const unsigned char *data,
                        size_t size)
{
    struct peer *peer = &root->peers[rank];
    struct notice notice;
    struct failure failure;
    struct progress_snapshot snapshot;
    if (type == FRAME_LOST) {
        peer_lost(root, rank, size > 0);
        return size <= 1;
    }
    if (job_ended(root->control)) {
        if (type == FRAME_GOODBYE)
            peer->state = PEER_LEFT;
        return true;
    }
    switch (type) {
    case FRAME_HEARTBEAT:
        if (!snapshot_decode(data, size, &snapshot))
            return false;
        peer_heard(root, peer, &snapshot);
        return true;
    case FRAME_FAILED:
        if (!failure_decode(data, size, rank, root->ranks, &failure))
            return false;
        peer_failed(root, rank, &failure);
        return true;
    case FRAME_GOODBYE: /* it has ended by itself while rank 0 was stopped */
        peer_lost(root, rank, false);
        return true;
    case FRAME_SHARE:
        root->progressed = root->control->helper.now;
        return job_begun(root->control) && root_take_share(root, rank, data, size);
    case FRAME_MAXIMA:
        root->progressed = root->control->helper.now;
        return job_begun(root->control) && root_take_maxima(root, rank, data, size);
    case FRAME_FINISHED:
        if (!job_begun(root->control) || !notice_decode(data, size, &notice))
            return false;
        peer_finished(root, peer, &notice);
        return true;
    default:
        return false;
    }
}

static void peer_return(struct peer *peer)
{
    if (peer->state == PEER_DIRECT)
        peer->state = PEER_JOINED;
}

/* A frame of the child, or of a rank behind it. */
static bool root_received(void *argument, struct child_link *child, const struct frame *frame)
{
    struct root *root = argument;
    int rank = frame->rank;
    if (rank <= 0 || rank >= root->ranks)
        return false;
    struct peer *peer = &root->peers[rank];
    if (frame->type == FRAME_POSTMORTEM) { /* also behind its GOODBYE */
        if (frame->size <= POSTMORTEM_MOST)
            control_keep_postmortem(root->control, rank, frame->data, frame->size);
        return frame->size <= POSTMORTEM_MOST;
    }
    if (frame->type == FRAME_ATTACHED) {
        root_attach(root, rank);
        return true;
    }
    if (frame->type == FRAME_RETURNED && child->rank == rank && child->direct) {
        child_links_drop(&root->children, rank);
        peer_return(peer);
        return true;
    }
    if (frame->type == FRAME_LOST && child_links_find(&root->children, rank))
        return true; /* lost to its parent only: it is connected here itself */
    if (!peer_is_joined(peer))
        return peer->state != PEER_ABSENT; /* a late frame, of a rank that was sent away or lost */
    peer->heard = root->control->helper.now;
    if (root_handle(root, rank, frame->type, frame->data, frame->size))
        return true;
    root_blame(root, rank, CAUSE_FAILED, STATUS_ERROR,
               "it sent an invalid control message to rank 0");
    return child->rank != rank;
}

static void root_lost(void *argument, struct child_link *child, enum link_end end)
{
    struct root *root = argument;
    if (end == LINK_INVALID) {
        root_blame(root, child->rank, CAUSE_FAILED, STATUS_ERROR,
                   "it sent an invalid control message to rank 0");
    } else if (child->direct && child->state == LINK_NEW) {
        /* It closed the connection before it knew that it was accepted, and calls again. */
        peer_return(&root->peers[child->rank]);
        return;
    } else if (root->peers[child->rank].state == PEER_SENT) {
        /* It may not have got rank 0's proof as it was sent, and calls again. */
        root->peers[child->rank].gone = root->control->helper.now;
        return;
    }
    peer_lost(root, child->rank, end == LINK_FORGED);
}

/* A rank that has not called again is dead: there may be no supervisor that says so. */
static void root_check_returns(struct root *root)
{
    for (int rank = 1; rank < root->ranks; rank++) {
        struct peer *peer = &root->peers[rank];
        if (peer->state != PEER_SENT || peer->gone == 0 ||
            root->control->helper.now - peer->gone < RETURN_SECONDS)
            continue;
        control_set_lost(root->control, rank);
        root_blame(root, rank, CAUSE_LOST, STATUS_TIMEOUT, "");
        peer->state = PEER_LEFT;
    }
}

static const struct child_link_ops root_link_ops = {.received = root_received, .lost = root_lost};

/* ---- the end ---- */

/* A rank 0 that was stopped finds that other ranks are gone. The reasons that they give come
 * first. */
static void root_drop_own_timeout(struct root *root)
{
    const struct control *control = root->control;
    if (control->helper.woken == 0 ||
        control->helper.now - control->helper.woken > control->config.timeout)
        return;
    for (int i = 0; i < root->cause_count && root->cause_count > 1; i++) {
        struct cause *cause = &root->causes[i];
        if (cause->rank != 0 || !cause_is_consequence(cause))
            continue;
        memmove(cause, cause + 1, (size_t)(--root->cause_count - i) * sizeof *cause);
        return;
    }
}

/* Finds the cause, and ends the job. */
static void root_judge(struct root *root)
{
    struct control *control = root->control;
    root_drop_own_timeout(root);
    for (int rank = 0; rank < root->ranks; rank++) {
        root->standings[rank] = root->peers[rank].standing;
        root->standings[rank].silent =
            rank == 0 ? 0 : control->helper.now - root->peers[rank].heard;
        root->standings[rank].parent =
            root->peers[rank].state == PEER_DIRECT ? 0 : root->peers[rank].parent;
    }
    struct situation situation = {.ranks = root->ranks,
                                  .members = control->members,
                                  .standings = root->standings,
                                  .causes = root->causes,
                                  .cause_count = root->cause_count,
                                  .late = root->late,
                                  .stalled = root->late ? root->stalled
                                                        : control->helper.now - root->progressed,
                                  .heartbeat = control->heartbeat};
    pthread_mutex_lock(&control->mailbox.lock);
    situation.algorithms = (const char *const *)control->mailbox.algorithms;
    situation.algorithm_count = control->mailbox.algorithm_count;
    verdict_reach(&situation, &root->verdict);
    pthread_mutex_unlock(&control->mailbox.lock);
    root_pronounce(root, FRAME_VERDICT);
}

/* Has a rank sent nothing for the deadline? Then it has given up rank 0 as well, and the job cannot
 * end well, though others may still progress. */
static bool root_has_silent(const struct root *root)
{
    const struct control *control = root->control;
    double patience = fmax(control->config.timeout, SILENT_SECONDS);
    for (int rank = 1; rank < root->ranks; rank++) {
        const struct peer *peer = &root->peers[rank];
        bool expected = peer_is_joined(peer) || peer->state == PEER_SENT; /* it called again */
        if (expected && !peer->standing.finished && control->helper.now - peer->heard > patience)
            return true;
    }
    return false;
}

/* No rank has progressed for `stalled` seconds, or a rank is silent (0). A rank may know more of
 * what it waits for than its heartbeats say, so it has a moment to report it. Where none
 * progressed, the host may be busy, and the moment is longer. */
static void root_declare_late(struct root *root, double stalled)
{
    struct control *control = root->control;
    root->late = true;
    root->stalled = stalled;
    root->verdict_at =
        control->helper.now + fmin(fmax(LATE_SHARE * stalled, GRACE_SECONDS), LATE_GRACE_MOST);
    control_advance(control, JOB_RUNNING, JOB_LATE);
    root_send_all(root, FRAME_LATE, NULL, 0);
}

static bool root_heartbeat_due(const struct root *root)
{
    return root->control->helper.now - root->heartbeat_at >= root->control->heartbeat;
}

static void root_check_progress(struct root *root)
{
    struct control *control = root->control;
    struct progress_snapshot snapshot;
    control_snapshot(control, &snapshot);
    peer_heard(root, &root->peers[0], &snapshot);
    if (control->config.running)
        control->config.running(control->config.running_argument, &snapshot);
    double stalled = control->helper.now - root->progressed;
    if (root->verdict_at > 0 && control->helper.now >= root->verdict_at)
        root_judge(root);
    else if (root->verdict_at == 0 && stalled > control->config.timeout)
        root_declare_late(root, stalled);
    else if (root->verdict_at == 0 && root_heartbeat_due(root) && root_has_silent(root))
        root_declare_late(root, 0);
}

/* ---- the loop ---- */

static void root_heartbeat(struct root *root)
{
    if (!root_heartbeat_due(root))
        return;
    root->heartbeat_at = root->control->helper.now;
    root_send_all(root, FRAME_HEARTBEAT, NULL, 0);
}

/* Waits for events, and serves all connections. */
static void root_poll(struct root *root)
{
    struct control *control = root->control;
    struct acceptor *acceptor = &root->rank_acceptor.acceptor;
    struct pollfd own[CONTROL_POLLS];
    double wait = root->verdict_at > 0 ? root->verdict_at - control->helper.now : control->look;
    wait = wait > control->look ? control->look : wait;
    int milliseconds = job_ended(control) ? 20 : wait > 0 ? (int)(wait * 1000) + 1 : 0;
    control_poll(control, &root->children, acceptor, own, CONTROL_POLLS, milliseconds);
    acceptor_serve(acceptor, root->children.pending, control->helper.now);
    child_links_serve(&root->children, control->helper.now, &root_link_ops, root);
}

static void root_tend(struct root *root)
{
    struct control *control = root->control;
    for (struct queued_frame *queued = control_take_outbox(control), *next; queued; queued = next) {
        next = queued->next;
        if (!root_handle(root, 0, queued->type, queued->data, queued->size))
            root_blame(root, 0, CAUSE_FAILED, STATUS_ERROR,
                       "it sent an invalid control message to rank 0");
        free(queued);
    }
    if (control->helper.signal && !root->interrupted) {
        root->interrupted = true;
        root_blame(root, 0, CAUSE_INTERRUPTED, STATUS_INTERRUPTED, control_signal_name(control));
    }
    if (control->helper.lost > 0 && control->helper.lost < root->ranks)
        root_blame(root, control->helper.lost, CAUSE_LOST, STATUS_TIMEOUT, "");
    if (!job_ended(control)) {
        root_check_returns(root);
        if (job_begun(control))
            root_check_progress(root);
        else
            root_check_joining(root);
    } else {
        root_tend_rank_acceptor(root);
    }
    root_heartbeat(root);
    child_links_flush(&root->children);
}

/* May rank 0 close? Not before the living ranks know how the job ended. */
static bool root_may_close(struct root *root)
{
    struct control *control = root->control;
    if (!control_is_closing(control))
        return false;
    if (root->closing_at == 0)
        root->closing_at = control->helper.now;
    double closing = control->helper.now - root->closing_at;
    /* Where there is no job, ranks that start a little later are to hear it, too. After the
     * deadline there are none. */
    bool hopeful = root->refusal != STATUS_TIMEOUT || root->cause_count > 0;
    bool awaits = root->refusal != STATUS_OK && hopeful && root->joined < root->ranks;
    double patience = control->config.refusal ? REFUSER_SECONDS : REFUSAL_SECONDS;
    if (root->interrupted && closing > REFUSAL_SECONDS)
        return true;
    if (awaits && closing < patience)
        return false;
    if (closing > LINGER_SECONDS)
        return true;
    for (int rank = 1; rank < root->ranks; rank++) {
        struct peer *peer = &root->peers[rank];
        if (peer_is_joined(peer) && control->helper.now - peer->heard < DEAF_SECONDS)
            return false;
    }
    return true;
}

static struct root *root_create(struct control *control)
{
    struct root *root = new_array(1, sizeof *root);
    size_t ranks = (size_t)control->membership.ranks;
    *root = (struct root){.control = control, .ranks = control->membership.ranks};
    root->peers = new_array(ranks, sizeof *root->peers);
    root->standings = new_array(ranks, sizeof *root->standings);
    root->causes = new_array(ranks, sizeof *root->causes);
    root->order = new_array(ranks, sizeof *root->order);
    control_accept(control, &root->rank_acceptor, root_admit, root);
    maxima_open(&root->maxima, root->ranks);
    for (size_t rank = 0; rank < ranks; rank++)
        progress_read(&control->progress, &root->peers[rank].standing.snapshot); /* as all begin */
    return root;
}

static void root_destroy(struct root *root)
{
    for (int rank = 0; rank < root->ranks; rank++)
        free(root->peers[rank].share);
    maxima_close(&root->maxima);
    child_links_close(&root->children);
    rank_acceptor_close(&root->rank_acceptor);
    free(root->peers);
    free(root->standings);
    free(root->causes);
    free(root->order);
    free(root);
}

void root_run(struct control *control)
{
    struct root *root = root_create(control);
    control_advance_clock(control);
    root_begin(root);
    while (!root_may_close(root)) {
        root_poll(root);
        root_tend(root);
        control_watch_main(control);
    }
    root_destroy(root);
}
