/*
 * control_root_join.c - rank 0 gathers the ranks of the job, or says why there is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control_root.h"
#include "ranks_text.h"

static void refusal_encode(struct bytes *bytes, enum status status, bool personal,
                           const char *sentence)
{
    struct notice notice = {.status = status, .personal = personal};
    snprintf(notice.text, sizeof notice.text, "%s", sentence);
    notice_encode(&notice, bytes);
}

/* Tells one process why it cannot join, and closes its socket. */
static void guest_refuse(int fd, enum status status, bool personal, const char *sentence)
{
    struct wire wire = {.fd = fd};
    struct bytes bytes = {0};
    refusal_encode(&bytes, status, personal, sentence);
    if (!bytes.failed && wire_put(&wire, FRAME_REFUSED, bytes.data, bytes.size))
        wire_flush(&wire);
    bytes_free(&bytes);
    wire_close(&wire);
}

/* There will be no job. */
static void root_give_up(struct root *root, enum status status, const char *sentence)
{
    fail(status, "%s", sentence);
    root->refusal = status;
    snprintf(root->refusal_text, sizeof root->refusal_text, "%s", sentence);
    struct bytes bytes = {0};
    refusal_encode(&bytes, status, false, sentence);
    if (!bytes.failed)
        root_send_all(root, FRAME_REFUSED, bytes.data, bytes.size);
    bytes_free(&bytes);
    root_flush(root);
    control_conclude(root->control, status);
}

void root_begin(struct root *root)
{
    struct control *control = root->control;
    struct peer *self = &root->peers[0];
    hello_fill(&self->hello, &control->membership, control->options);
    self->state = PEER_JOINED;
    root->joined = 1;
    root->progressed = control->now;
}

/* Numbers hosts in the order of the first rank on each, and the ranks of each host. */
static void members_fill(struct root *root)
{
    struct member *members = root->control->members;
    int nodes = 0;
    for (int rank = 0; rank < root->ranks; rank++) {
        const struct hello *hello = &root->peers[rank].hello;
        struct member *member = &members[rank];
        *member = (struct member){.rank = rank, .pid = hello->pid, .node = -1};
        memcpy(member->host, hello->host, sizeof member->host);
        for (int other = rank - 1; other >= 0 && member->node < 0; other--) {
            const struct hello *theirs = &root->peers[other].hello;
            if (strcmp(hello->host, theirs->host) == 0 && strcmp(hello->boot, theirs->boot) == 0) {
                member->node = members[other].node;
                member->local_rank = members[other].local_rank + 1;
            }
        }
        if (member->node < 0)
            member->node = nodes++;
    }
}

/* All are here: everybody learns who they are. */
static void root_welcome(struct root *root)
{
    members_fill(root);
    struct bytes bytes = {0};
    members_encode(root->control->members, root->ranks, &bytes);
    for (int rank = 0; rank < root->ranks; rank++)
        root->peers[rank].heard = root->control->now;
    if (bytes.failed) {
        root_give_up(root, STATUS_ERROR, "rank 0 has no memory for the list of all ranks");
    } else {
        root_send_all(root, FRAME_WELCOME, bytes.data, bytes.size);
        root->progressed = root->control->now;
        control_set_joined(root->control);
    }
    bytes_free(&bytes);
}

/* Why the process that says `hello` cannot join; STATUS_OK: it can. */
static enum status guest_check(struct root *root, const struct hello *hello, char *why, size_t size)
{
    enum status status = hello_check(&root->peers[0].hello, hello, why, size);
    if (status != STATUS_OK || root->peers[hello->rank].state == PEER_ABSENT)
        return status;
    const struct hello *first = &root->peers[hello->rank].hello;
    snprintf(why, size, "two processes claim rank %d: pid %ld on host %s and pid %ld on host %s",
             hello->rank, first->pid, first->host, hello->pid, hello->host);
    return STATUS_USAGE;
}

void root_admit(void *argument, int fd, const struct hello *hello)
{
    struct root *root = argument;
    struct control *control = root->control;
    char why[sizeof root->refusal_text];
    enum status status = guest_check(root, hello, why, sizeof why);
    root->joined += !control->joined;
    if (status != STATUS_OK) {
        guest_refuse(fd, status, true, why);
        if (!control->joined && root->refusal == STATUS_OK)
            root_give_up(root, status, why);
        else
            say_verbose(1, "refused a process that came too late: %s", why);
        return;
    }
    struct peer *peer = &root->peers[hello->rank];
    peer->hello = *hello;
    if (root->refusal != STATUS_OK) {
        guest_refuse(fd, root->refusal, false, root->refusal_text);
        peer->state = PEER_LEFT;
        return;
    }
    peer->state = PEER_JOINED;
    peer->wire.fd = fd;
    peer->heard = root->progressed = control->now;
    say_verbose(2, "rank %d has joined from host %s", hello->rank, hello->host);
}

/* Names the ranks that are not here at the deadline. */
static void tell_missing(struct root *root, char *text, size_t size)
{
    char list[RANKS_TEXT_MOST] = "ranks";
    bool *missing = calloc((size_t)root->ranks, sizeof *missing);
    for (int rank = 0; missing && rank < root->ranks; rank++)
        missing[rank] = root->peers[rank].state == PEER_ABSENT;
    if (missing)
        ranks_text(missing, root->ranks, list, sizeof list);
    free(missing);
    snprintf(text, size,
             "%d of %d ranks did not join within %.3g s: %s; were they started, and can they reach "
             "this host?",
             root->ranks - root->joined, root->ranks, root->control->config.timeout, list);
    uint64_t strangers = control_strangers(root->control);
    size_t end = strlen(text);
    if (strangers > 0)
        snprintf(text + end, size - end, " (%llu connections were dropped, the last from %s)",
                 (unsigned long long)strangers, lobby_last_stranger(root->lobby));
}

void root_check_joining(struct root *root)
{
    struct control *control = root->control;
    char text[sizeof root->refusal_text];
    if (root->cause_count > 0) {
        const struct cause *cause = &root->causes[0];
        const struct peer *peer = &root->peers[cause->rank];
        char who[100] = "";
        if (peer->state != PEER_ABSENT)
            snprintf(who, sizeof who, " (host %s, pid %ld)", peer->hello.host, peer->hello.pid);
        snprintf(text, sizeof text, "rank %d%s %s%.600s when %d of %d ranks had joined",
                 cause->rank, who, cause->kind == CAUSE_FAILED ? "failed: " : "was ",
                 cause->kind == CAUSE_LOST ? "lost" : cause->message, root->joined, root->ranks);
        root_give_up(root, cause->status, text);
    } else if (root->joined == root->ranks) {
        root_welcome(root);
    } else if (lobby_exhausted(root->lobby) && root->refusal == STATUS_OK) {
        snprintf(
            text, sizeof text,
            "out of file descriptors when %d of %d ranks had joined: rank 0 needs one for each "
            "rank; raise the limit of open files (ulimit -n)",
            root->joined, root->ranks);
        root_give_up(root, STATUS_ERROR, text);
    } else if (control->now - root->progressed > control->config.timeout) {
        tell_missing(root, text, sizeof text);
        root_give_up(root, STATUS_TIMEOUT, text);
    }
}
