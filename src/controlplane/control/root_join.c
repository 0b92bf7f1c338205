/*
 * root_join.c - which ranks may join at rank 0, where they get a place, and why a job does not
 * begin.
 */
#include "controlplane/control/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"

#define STRAYED_MOST 3 /* ranks whose parents are named in a message */

/* Tells a process why it cannot join. */
static void pending_refuse(struct wire *wire, int type, const struct notice *notice)
{
    struct bytes bytes = {0};
    notice_encode(notice, &bytes);
    wire_dismiss(wire, type, &bytes);
    bytes_free(&bytes);
}

/* There will be no job, because of a rank on `host` ("": unknown). */
static void root_give_up(struct root *root, int rank, const char *host, enum status status,
                         const char *sentence)
{
    struct verdict *verdict = &root->verdict;
    *verdict = (struct verdict){.status = status, .error_count = 1};
    verdict->errors[0] = job_error_make(rank, host, phase_names[PHASE_JOIN], sentence);
    snprintf(verdict->headline, sizeof verdict->headline, "%s", sentence);
    root->refusal = status;
    root_pronounce(root, FRAME_REFUSED);
}

/* ... because of rank 0 itself. */
static void root_fail(struct root *root, enum status status, const char *sentence)
{
    root_give_up(root, 0, root->peers[0].request.host.name, status, sentence);
}

void root_begin(struct root *root)
{
    struct control *control = root->control;
    struct peer *self = &root->peers[0];
    join_request_fill(&self->request, &control->membership, control->options);
    self->request.home = control->helper.home;
    self->state = PEER_JOINED;
    root->joined = 1;
    root->progressed = control->helper.now;
    const struct failure *refusal = control->config.refusal;
    if (refusal) {
        root->refusal = refusal->status;
        root_end(root, FRAME_REFUSED, refusal->status, refusal->text);
    }
}

/* By host, then by rank. */
static int ranks_compare(const void *a, const void *b, void *argument)
{
    const struct root *root = argument;
    int one = *(const int *)a, other = *(const int *)b;
    int order = host_compare(&root->peers[one].request.host, &root->peers[other].request.host);
    return order ? order : one - other;
}

/* Numbers hosts in the order of the first rank on each, and the ranks of each host.
 * Sorted, since there may be as many hosts as ranks. */
static void members_fill(struct root *root)
{
    struct member *members = root->control->members;
    int *sorted = new_array((size_t)root->ranks, sizeof *sorted), nodes = 0;
    for (int rank = 0; rank < root->ranks; rank++) {
        const struct join_request *request = &root->peers[rank].request;
        members[rank] = (struct member){.rank = rank, .pid = request->pid};
        memcpy(members[rank].host, request->host.name, sizeof members[rank].host);
        sorted[rank] = rank;
    }
    qsort_r(sorted, (size_t)root->ranks, sizeof *sorted, ranks_compare, root);
    for (int i = 0, first = 0; i < root->ranks; i++) {
        if (host_compare(&root->peers[sorted[i]].request.host,
                         &root->peers[sorted[first]].request.host) != 0)
            first = i;
        members[sorted[i]].local_rank = i - first;
        members[sorted[i]].node = sorted[first]; /* for now: the rank that gives it its number */
    }
    free(sorted);
    for (int rank = 0; rank < root->ranks; rank++)
        members[rank].node =
            members[rank].local_rank == 0 ? nodes++ : members[members[rank].node].node;
}

/* Sends the list of all ranks to all, or to `child` if there is one; false: it is too long. */
static bool root_introduce(struct root *root, struct child_link *child)
{
    struct bytes bytes = {0};
    members_encode(root->control->members, root->ranks, &bytes);
    bool good = true;
    if (child)
        good = wire_put(&child->wire, 0, FRAME_WELCOME, bytes.data, bytes.size);
    else
        root_send_all(root, FRAME_WELCOME, bytes.data, bytes.size);
    bytes_free(&bytes);
    return good;
}

/* All ranks have joined. */
static void root_welcome(struct root *root)
{
    for (int rank = 0; rank < root->ranks; rank++)
        root->peers[rank].heard = root->control->helper.now;
    members_fill(root);
    root_introduce(root, NULL);
    root->progressed = root->control->helper.now;
    control_advance(root->control, JOB_JOINING, JOB_RUNNING);
}

/* Why the process with this request cannot join; STATUS_OK: it can. */
static enum status pending_check(struct root *root, const struct join_request *request, char *why,
                                 size_t size)
{
    TRY(join_request_check(&root->peers[0].request, request, why, size));
    const struct peer *peer = &root->peers[request->rank];
    if (peer->state == PEER_ABSENT || join_request_same(&peer->request, request))
        return STATUS_OK; /* one process may call more than once */
    const struct join_request *first = &peer->request;
    snprintf(why, size, "two processes claim rank %d: pid %ld on host %s and pid %ld on host %s",
             request->rank, first->pid, first->host.name, request->pid, request->host.name);
    return STATUS_USAGE;
}

/* Is it counted among the ranks that have joined? */
static bool peer_is_counted(const struct peer *peer)
{
    return peer_is_joined(peer) || peer->state == PEER_LEFT;
}

/* It has arrived where it was sent, and so has seen the proof of its parent. */
static void peer_set_joined(struct root *root, struct peer *peer, int rank)
{
    peer->state = PEER_JOINED;
    peer->gone = 0;
    peer->heard = root->progressed = root->control->helper.now;
    root->joined++;
    say_verbose(2, "rank %d has joined from host %s", rank, peer->request.host.name);
}

void root_attach(struct root *root, int rank)
{
    struct peer *peer = &root->peers[rank];
    if (peer->state == PEER_SENT)
        peer_set_joined(root, peer, rank);
}

static bool peer_is_below(const struct root *root, int rank, int above)
{
    while (rank != above && rank != 0)
        rank = root->peers[rank].parent;
    return rank == above;
}

/* The parent of a rank: 0, or the first rank that called and has a free place. The parent may still
 * be joining; it accepts children already. A rank that failed to reach two parents stays with
 * rank 0. */
static int root_find_parent(struct root *root, int rank)
{
    int most = root->control->config.fan_out;
    if (root->peers[0].children < most || root->peers[rank].misses > 1)
        return 0;
    for (int i = root->parents; i < root->ordered; i++) {
        int found = root->order[i];
        const struct peer *parent = &root->peers[found];
        bool open =
            parent->request.home.count > 0 && parent->children < most && !parent->unreachable;
        if (open && !peer_is_below(root, found, rank))
            return found;
        root->parents += !open && root->parents == i;
    }
    return 0;
}

/* The rank stays at rank 0, or is sent to a parent. */
static void pending_place(struct root *root, struct wire *wire, const struct join_request *request)
{
    int rank = request->rank;
    struct peer *peer = &root->peers[rank];
    if (peer->state == PEER_ABSENT) {
        root->order[root->ordered++] = rank;
    } else {
        root->peers[peer->parent].children--;
        root->parents = 0; /* that place is free again */
        child_links_drop(&root->children,
                         rank); /* which rank 0 was slow to accept, or which broke */
    }
    root->joined -= peer_is_counted(peer);
    if (peer->state == PEER_SENT && request->reason == JOIN_AGAIN) {
        root->peers[peer->parent].unreachable = true;
        peer->misses++;
        say_verbose(2, "rank %d could not reach rank %d", rank, peer->parent);
    }
    peer->request = *request;
    peer->parent = root_find_parent(root, rank);
    root->peers[peer->parent].children++;
    struct redirect redirect = {.parent = peer->parent};
    struct bytes bytes = {0};
    if (peer->parent > 0)
        redirect.home = root->peers[peer->parent].request.home;
    redirect_encode(&redirect, &bytes);
    peer->state = PEER_SENT;
    peer->heard = root->control->helper.now;
    peer->gone = 0;
    if (peer->parent > 0) {
        wire_dismiss(wire, FRAME_REDIRECT, &bytes);
    } else {
        const struct child_link new = {
            .wire = *wire, .rank = rank, .heard = root->control->helper.now};
        struct child_link *child = child_links_add(&root->children, &new);
        wire_put(&child->wire, 0, FRAME_REDIRECT, bytes.data, bytes.size);
        if (job_begun(root->control) && !root_introduce(root, child))
            root_fail(root, STATUS_ERROR,
                      "the list of all ranks is longer than the control plane carries");
    }
    bytes_free(&bytes);
}

/* Its parent is silent or gone: from now on the rank is connected here. */
static void pending_take_direct(struct root *root, struct wire *wire,
                                const struct join_request *request)
{
    int rank = request->rank;
    struct peer *peer = &root->peers[rank];
    const struct child_link child = {
        .wire = *wire, .rank = rank, .direct = true, .heard = root->control->helper.now};
    say_verbose(1, "rank %d hears nothing from rank %d, and connects to rank 0", rank,
                peer->parent);
    if (peer->state == PEER_SENT)
        peer_set_joined(root, peer, rank);
    peer->state = PEER_DIRECT;
    for (int other = 1; other < root->ranks; other++)
        root->peers[other].catches_up |= peer_is_below(root, other, rank);
    peer->heard = root->control->helper.now;
    child_links_drop(&root->children, rank);
    child_links_add(&root->children, &child);
    if (job_ended(root->control))
        root_repeat(root);
}

/* The process does not join. If all have not joined yet, there is no job. */
static void pending_reject(struct root *root, struct wire *wire, const struct join_request *request,
                           const struct notice *why)
{
    root->joined += !job_begun(root->control);
    pending_refuse(wire, FRAME_REFUSED, why);
    if (!job_begun(root->control) && root->refusal == STATUS_OK)
        root_give_up(root, request->rank, request->host.name, why->status, why->text);
    else
        say_verbose(1, "refused a process that called too late: %s", why->text);
}

void root_admit(void *argument, struct wire *wire, const struct join_request *request)
{
    struct root *root = argument;
    struct control *control = root->control;
    struct notice notice = {.personal = true};
    if (root->end_type == FRAME_VERDICT && request->reason != JOIN_ORPHANED) {
        wire_close(wire); /* it calls for the next job */
        return;
    }
    notice.status = pending_check(root, request, notice.text, sizeof notice.text);
    if (notice.status != STATUS_OK) {
        pending_reject(root, wire, request, &notice);
        return;
    }
    struct peer *peer = &root->peers[request->rank];
    bool orphan = request->reason == JOIN_ORPHANED;
    if (orphan && peer->state != PEER_ABSENT) {
        pending_take_direct(root, wire, request);
    } else if (job_ended(control)) {
        root->joined += !peer_is_counted(peer);
        peer->request = *request;
        peer->state = PEER_LEFT;
        pending_refuse(wire, root->end_type, &root->end_notice);
    } else if (orphan) { /* of another job, so this one goes on */
        notice.status = STATUS_TIMEOUT;
        snprintf(
            notice.text, sizeof notice.text,
            "the rank 0 that it was connected to is gone; the one there now is of another job");
        pending_refuse(wire, FRAME_REFUSED, &notice);
    } else {
        pending_place(root, wire, request);
    }
}

/* Names the ranks that called, and did not arrive at the parent that they were sent to. */
static void text_add_strayed(struct text *text, const struct root *root)
{
    const char *separator = "; sent to another rank, and not arrived there:";
    int strayed = 0;
    for (int rank = 0; rank < root->ranks; rank++) {
        const struct peer *peer = &root->peers[rank];
        const struct join_request *parent = &root->peers[peer->parent].request;
        if (peer->state != PEER_SENT || ++strayed > STRAYED_MOST)
            continue;
        text_add(text, "%s rank %d (host %s, pid %ld) to rank %d (host %s, pid %ld)", separator,
                 rank, peer->request.host.name, peer->request.pid, peer->parent, parent->host.name,
                 parent->pid);
        separator = ",";
    }
    if (strayed > STRAYED_MOST)
        text_add(text, " and %d more", strayed - STRAYED_MOST);
}

/* Names the ranks that are not here at the deadline; returns the first. */
static int text_add_missing(struct text *text, const struct root *root)
{
    char list[RANK_LIST_MOST] = "ranks";
    bool *missing = new_array((size_t)root->ranks, sizeof *missing), absent = false;
    int first = 0;
    for (int rank = root->ranks - 1; rank >= 0; rank--) {
        if (!peer_is_joined(&root->peers[rank]))
            first = rank;
        missing[rank] = !peer_is_joined(&root->peers[rank]);
        absent |= root->peers[rank].state == PEER_ABSENT;
    }
    rank_list_text(missing, root->ranks, list, sizeof list);
    free(missing);
    text_add(text, "%d of %d ranks did not join within %.3g s: %s%s", root->ranks - root->joined,
             root->ranks, root->control->config.timeout, list,
             absent ? "; were they started, and can they reach this host?" : "");
    text_add_strayed(text, root);
    uint64_t rejected = atomic_load(&root->control->rejected);
    if (rejected > 0)
        text_add(text, " (%llu connection%s dropped, the last from %s)",
                 (unsigned long long)rejected, rejected == 1 ? " was" : "s were",
                 root->rank_acceptor.acceptor.last_rejected);
    return first;
}

void root_check_joining(struct root *root)
{
    struct control *control = root->control;
    char text[sizeof root->end_notice.text];
    if (root->cause_count > 0) {
        const struct cause *cause = &root->causes[0];
        const struct peer *peer = &root->peers[cause->rank];
        char place[100] = "";
        if (peer->state != PEER_ABSENT)
            snprintf(place, sizeof place, " (host %s, pid %ld)", peer->request.host.name,
                     peer->request.pid);
        snprintf(text, sizeof text, "rank %d%s %s%.600s when %d of %d ranks had joined",
                 cause->rank, place, cause->kind == CAUSE_FAILED ? "failed: " : "was ",
                 cause->kind == CAUSE_LOST ? "lost" : cause->failure.text, root->joined,
                 root->ranks);
        root_give_up(root, cause->rank, peer->request.host.name, cause->failure.status, text);
    } else if (root->joined == root->ranks) {
        root_welcome(root);
    } else if (root->rank_acceptor.acceptor.exhausted && root->refusal == STATUS_OK) {
        snprintf(
            text, sizeof text,
            "out of file descriptors when %d of %d ranks had joined; raise the limit of open files "
            "(ulimit -n)",
            root->joined, root->ranks);
        root_fail(root, STATUS_ERROR, text);
    } else if (control->helper.now - root->progressed > control->config.timeout) {
        struct text message = text_in(text, sizeof text);
        int missing = text_add_missing(&message, root);
        root_give_up(root, missing, root->peers[missing].request.host.name, STATUS_TIMEOUT, text);
    }
}
