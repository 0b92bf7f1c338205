/*
 * root_state.c - rank 0's table of ranks, and how a job ends: for its loop (root.c), joining
 * (root_join.c) and exchanges (root_exchange.c) alike.
 */
#include "controlplane/control/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void root_add_cause(struct root *root, int rank, enum cause_kind kind,
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
    if (!bytes.failed)
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

/* A script may run one job after the other in the same place: a rank that knows the verdict may be
 * back for the next one before rank 0 is gone. */
void root_tend_rank_acceptor(struct root *root)
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
    control->errors = malloc(size ? size : 1);
    if (control->errors) {
        memcpy(control->errors, verdict->errors, size);
        control->error_count = verdict->error_count;
    }
    root_end(root, type, verdict->status, verdict->headline);
}
