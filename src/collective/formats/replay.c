/*
 * replay.c - writes the operations of a schedule once more, through a builder, which finds their
 * conflicts anew.
 *
 * Epochs that follow each other are one scope of the builder, with fences between them.
 */
#include "collective/formats/internal.h"

#include "collective/schedule/schedule.h"

struct replay_scope {
    struct group group;
    int step;  /* of its last operation */
    int epoch; /* likewise; -1: none yet */
};

struct replayer {
    struct builder *builder;
    const struct replay *replay;
    int *scope_of, *lanes; /* of each epoch; the builder's, of each lane */
    struct replay_scope *scopes;
};

static bool replayer_open(struct replayer *r, const struct group *group)
{
    const struct replay *replay = r->replay;
    size_t epochs = replay->epoch_count + 1;
    int count = 0;
    r->scope_of = builder_draft(r->builder, epochs * sizeof *r->scope_of);
    r->lanes = builder_draft(r->builder, (size_t)replay->lanes * sizeof *r->lanes);
    r->scopes = builder_draft(r->builder, epochs * sizeof *r->scopes);
    if (!r->scope_of || !r->lanes || !r->scopes)
        return false;
    for (int l = 0; l < replay->lanes; l++)
        r->lanes[l] = l == 0 ? group->lane : group_on_lane(r->builder, group).lane;
    for (size_t e = 0; e < replay->epoch_count; e++) {
        int previous = replay->epochs[e].previous;
        if (previous >= 0) {
            r->scope_of[e] = r->scope_of[previous];
            continue;
        }
        r->scopes[count] = (struct replay_scope){
            .group = count ? group_beside(r->builder, group) : *group, .step = -1, .epoch = -1};
        r->scope_of[e] = count++;
    }
    return true;
}

static void put_again(struct builder *b, const struct group *g, const struct operation *operation,
                      struct message to, struct message from, struct message with)
{
    switch (operation->kind) {
    case OPERATION_COPY:
        put_copy(b, g, to, from);
        break;
    case OPERATION_REDUCE:
        put_reduce(b, g, to, from, with);
        break;
    case OPERATION_SEND:
        put_send(b, g, operation->peer, from);
        break;
    case OPERATION_RECV:
        put_recv(b, g, operation->peer, to);
        break;
    case OPERATION_RECV_REDUCE:
        put_recv_reduce(b, g, operation->peer, to, with);
        break;
    case OPERATION_FINISH:
        put_finish(b, g, to, from);
        break;
    }
}

static struct message message_at(const struct replay *replay, size_t index, enum operand operand,
                                 struct message message)
{
    return replay->map && message.count > 0 ? replay->map(replay->context, index, operand, message)
                                            : message;
}

void replay_put(struct builder *b, const struct group *group, const struct replay *replay)
{
    struct replayer r = {.builder = b, .replay = replay};
    if (!replayer_open(&r, group))
        return;
    for (size_t i = 0; i < replay->count; i++) {
        const struct operation *operation = &replay->operations[i];
        struct replay_scope *scope = &r.scopes[r.scope_of[operation->epoch]];
        if (scope->epoch >= 0 && scope->epoch != (int)operation->epoch)
            put_fence(b, &scope->group);
        scope->epoch = (int)operation->epoch;
        for (; scope->step < operation->step; scope->step++)
            put_step(b, &scope->group);
        struct group g = scope->group;
        g.lane = r.lanes[operation->lane];
        put_again(b, &g, operation, message_at(replay, i, OPERAND_TO, operation->to),
                  message_at(replay, i, OPERAND_FROM, operation->from),
                  message_at(replay, i, OPERAND_WITH, operation->with));
    }
}
