/*
 * json_plan.c - schedules in cctest's own JSON (cli/schema.json, "planned"): written and read.
 *
 * What follows from other fields is not read: "index", "waits", "lanes", "steps", "sent". So a
 * program that makes schedules need not know the conflict rule.
 */
#include "collective/formats/internal.h"

#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "base/io/io.h"
#include "base/log.h"

/*
 * Writing.
 */
struct sent schedule_sent(const struct schedule *schedule)
{
    struct sent sent = {0};
    for (size_t i = 0; i < schedule->count; i++) {
        if (schedule->operations[i].kind != OPERATION_SEND)
            continue;
        sent.messages++;
        sent.elements += schedule->operations[i].length;
    }
    return sent;
}

const struct json_field span_fields[] = {
    {"buffer", "source|destination|scratch", "buffer that has the elements",
     JSON_WORDS(struct span, buffer, buffer_names)},
    {"offset", "count", "of the first run, in elements", JSON_MEMBER(struct span, offset)},
    {"run", "count", "elements of a run", JSON_MEMBER(struct span, run)},
    {"stride", "count", "elements from the start of one run to that of the next",
     JSON_MEMBER(struct span, stride)},
    {"times", "count", "number of runs", JSON_MEMBER(struct span, times)},
    {0},
};

const struct json_field wait_fields[] = {
    {"operation", "count", "index of the other", JSON_MEMBER(struct wait, operation)},
    {"at", "count", "first element of this operation that waits", JSON_MEMBER(struct wait, at)},
    {"past", "count", "element of the other operation that it waits for",
     JSON_MEMBER(struct wait, past)},
    {"length", "count", "number of elements that wait, each for the next of the other",
     JSON_MEMBER(struct wait, length)},
    {0},
};

static json_t *operation_index(const void *object, const void *context)
{
    const struct schedule *schedule = context;
    return json_integer((const struct operation *)object - schedule->operations);
}

static json_t *operation_waits(const void *object, const void *context)
{
    const struct operation *operation = object;
    return json_list_of(wait_fields, operation->waits, sizeof *operation->waits,
                        operation->wait_count, context);
}

/* NULL: operations of this kind have none. */
static json_t *operation_peer(const void *object, const void *context)
{
    const struct operation *operation = object;
    (void)context;
    return operation_travels(operation->kind) ? json_integer(operation->peer) : NULL;
}

static json_t *operation_lane(const void *object, const void *context)
{
    const struct operation *operation = object;
    (void)context;
    return operation_travels(operation->kind) ? json_integer(operation->lane) : NULL;
}

static json_t *message_json(const void *member, const void *context)
{
    const struct message *message = member;
    return message->count == 0 ? NULL
                               : json_list_of(span_fields, message->spans, sizeof *message->spans,
                                              message->count, context);
}

const struct json_field operation_fields[] = {
    {"index", "count", "from 0", JSON_MADE(operation_index)},
    {"kind", "copy|reduce|send|recv|recv_reduce|finish",
     "reduce: combine two; recv_reduce: receive and combine; finish: last step of the operator, as "
     "the division of avg",
     JSON_WORDS(struct operation, kind, operation_names)},
    {"step", "count", "its round", JSON_MEMBER(struct operation, step)},
    {"epoch", "count", "fences separate these", JSON_MEMBER(struct operation, epoch)},
    {"length", "count", "elements", JSON_MEMBER(struct operation, length)},
    {"waits", "[wait]", "for earlier operations of this rank", JSON_MADE(operation_waits)},
    {"peer", "rank", "of a message", true, JSON_MADE(operation_peer)},
    {"lane", "count", "of a message", true, JSON_MADE(operation_lane)},
    {"to", "[span]", "where it writes", true, JSON_MADE_OF(struct operation, to, message_json)},
    {"from", "[span]", "what it reads", true, JSON_MADE_OF(struct operation, from, message_json)},
    {"with", "[span]", "what that is combined with", true,
     JSON_MADE_OF(struct operation, with, message_json)},
    {0},
};

const struct json_field extents_fields[] = {
    {"source", "count", "elements of the source",
     JSON_MEMBER(struct schedule, extent[BUFFER_SOURCE])},
    {"destination", "count", "elements of the destination",
     JSON_MEMBER(struct schedule, extent[BUFFER_DESTINATION])},
    {"scratch", "count", "elements of the scratch memory",
     JSON_MEMBER(struct schedule, extent[BUFFER_SCRATCH])},
    {0},
};

const struct json_field sent_fields[] = {
    {"messages", "count", "number of messages", JSON_MEMBER(struct sent, messages)},
    {"elements", "count", "elements of these messages", JSON_MEMBER(struct sent, elements)},
    {0},
};

static json_t *sent_json(const void *object, const void *context)
{
    struct sent sent = schedule_sent(object);
    return json_object_of(sent_fields, &sent, context);
}

static json_t *epochs_json(const void *object, const void *context)
{
    const struct schedule *schedule = object;
    json_t *epochs = json_array();
    (void)context;
    for (size_t e = 0; e < schedule->epoch_count; e++)
        json_array_append_new(epochs, json_integer(schedule->epochs[e].previous));
    return epochs;
}

static json_t *operations_json(const void *object, const void *context)
{
    const struct schedule *schedule = object;
    (void)context;
    return json_list_of(operation_fields, schedule->operations, sizeof *schedule->operations,
                        schedule->count, schedule);
}

const struct json_field schedule_fields[] = {
    {"rank", "rank", NULL, JSON_MEMBER(struct schedule, rank)},
    {"extents", "extents", "elements of its buffers", .member = JSON_IS_OBJECT,
     .fields = extents_fields},
    {"lanes", "count", "that any rank uses", JSON_MEMBER(struct schedule, lanes)},
    {"steps", "count", "rounds", JSON_MEMBER(struct schedule, steps)},
    {"sent", "sent", "all messages that the rank sends", JSON_MADE(sent_json)},
    {"epochs", "[index_or_none]", "for each the one before it in its sequence of fences; -1: none",
     JSON_MADE(epochs_json)},
    {"operations", "[operation]", "in program order", JSON_MADE(operations_json)},
    {0},
};

static json_t *choice_options(const void *choice, const void *context)
{
    (void)context;
    return choice_json(choice);
}

/* Elements of the blocks, for forms with counts: a list, or one for each sender. */
static json_t *counts_json(const void *member, const void *context)
{
    const struct problem *problem = member;
    const struct collective *collective = problem->collective;
    bool matrix = collective->source.blocks && collective->destination.blocks;
    enum buffer side = collective->source.blocks ? BUFFER_SOURCE : BUFFER_DESTINATION;
    (void)context;
    if (!collective->counted)
        return NULL;
    json_t *rows = json_array(), *row = rows;
    for (int from = 0; from < (matrix ? problem->ranks : 1); from++) {
        size_t offset;
        if (matrix)
            json_array_append_new(rows, row = json_array());
        for (int to = 0; to < problem->ranks; to++)
            json_array_append_new(
                row, json_integer((json_int_t)collective_block(problem, from, side, to, &offset)));
    }
    return rows;
}

static json_t *partners_json(const void *member, const void *context)
{
    const struct problem *problem = member;
    (void)context;
    if (!problem->counts || problem->collective->counted)
        return NULL;
    json_t *partners = json_array();
    for (int r = 0; r < problem->ranks; r++)
        json_array_append_new(partners, json_integer(problem->counts->to[r]));
    return partners;
}

/* The caller adds them. */
static json_t *no_schedules(const void *object, const void *context)
{
    (void)object, (void)context;
    return json_array();
}

const struct json_field planned_fields[] = {
    {"collective", "name", "name of the collective", JSON_NAME(struct planned, problem.collective)},
    {"algorithm", "name", "name of the algorithm, without its options",
     JSON_NAME(struct planned, choice.algorithm)},
    {"algorithm_options", "algorithm_options", NULL,
     JSON_MADE_OF(struct planned, choice, choice_options)},
    {"ranks", "positive", "their number", JSON_MEMBER(struct planned, problem.ranks)},
    {"count", "count", "elements, as in a result", JSON_MEMBER(struct planned, problem.count)},
    {"bytes", "count", "of the larger buffer of a rank", JSON_MEMBER(struct planned, bytes)},
    {"datatype", "name", "type of the elements", JSON_MEMBER(struct planned, datatype)},
    {"root", "rank", NULL, JSON_MEMBER(struct planned, problem.root)},
    {"in_place", "boolean", "do source and destination share memory?",
     JSON_MEMBER(struct planned, problem.in_place)},
    {"channels", "positive", "slices of every block, each with operations and lanes of its own",
     JSON_MEMBER(struct planned, channels)},
    {"counts", "[block_counts]{1,0}",
     "elements of the blocks, of forms with counts: of each, or for each sender a list of them",
     true, JSON_MADE_OF(struct planned, problem, counts_json)},
    {"partners", "[index_or_none]{1,0}", "of sendrecv: the rank that each rank sends to; -1: none",
     true, JSON_MADE_OF(struct planned, problem, partners_json)},
    {"schedules", "[schedule]{1,0}", "one for each rank, or that of --rank",
     JSON_MADE(no_schedules)},
    {0},
};

/*
 * Reading.
 */
#define STEP_MOST  (1 << 20)
#define LANE_MOST  4095
#define COUNT_MOST (1 << 22) /* of elements; FILE_PARTS_MOST limits the sum */
#define REMEDY     "correct it, or write the file again with `cctest plan --json`"

struct plan_reader {
    struct json_reader json;
    struct arena *arena;
    struct file_plan *plan; /* that is being read, */
    int rank;               /* and of this rank */
};

static bool failed(const struct plan_reader *reader)
{
    return reader->json.status != STATUS_OK;
}

static void *take(struct plan_reader *reader, size_t count, size_t size)
{
    return json_reader_take(&reader->json, reader->arena, count, size);
}

/* Messages. */

static void span_read(struct json_reader *json, const json_t *object, const size_t extent[BUFFERS],
                      struct span *span)
{
    int buffer = json_reader_word(json, object, "buffer", buffer_names);
    int offset = json_reader_whole(json, object, "offset", 0, COUNT_MOST);
    int run = json_reader_whole(json, object, "run", 1, COUNT_MOST);
    int times = json_reader_whole_or(json, object, "times", 1, 1, COUNT_MOST);
    int stride = json_reader_whole_or(json, object, "stride", run, times > 1 ? run : 0, COUNT_MOST);
    int64_t end = (int64_t)offset + (int64_t)(times - 1) * stride + run;
    if (end > (int64_t)extent[buffer])
        json_reader_fail(json, "", "touches %s element %lld, which is outside: there are %zu",
                         buffer_names[buffer], (long long)end - 1, extent[buffer]);
    *span = (struct span){.buffer = (enum buffer)buffer,
                          .offset = (size_t)offset,
                          .run = (size_t)run,
                          .stride = (size_t)stride,
                          .times = (size_t)times};
}

/* `wanted`: operations of this kind have it. */
static void message_read(struct plan_reader *reader, const json_t *object, const char *side,
                         bool wanted, const size_t extent[BUFFERS], struct message *message)
{
    struct json_reader *json = &reader->json;
    if (!wanted && json_object_get(object, side))
        json_reader_fail(json, side, "is there, and operations of this kind have none");
    if (!wanted)
        return;
    const json_t *list = json_reader_array(json, object, side, COUNT_MOST);
    size_t count = json_array_size(list);
    if (count == 0)
        json_reader_fail(json, side, "has no span");
    struct span *spans = take(reader, count, sizeof *spans);
    for (size_t i = 0; i < count && !failed(reader); i++) {
        size_t before = json_reader_enter(json, side, i);
        span_read(json, json_array_get(list, i), extent, &spans[i]);
        json_reader_leave(json, before);
    }
    *message = (struct message){.spans = spans, .count = failed(reader) ? 0 : count};
}

/* Operations. */

static void peer_read(struct plan_reader *reader, const json_t *object, struct operation *operation)
{
    struct json_reader *json = &reader->json;
    struct file_plan *plan = reader->plan;
    operation->peer = json_reader_whole(json, object, "peer", 0, plan->problem.ranks - 1);
    operation->lane = json_reader_whole_or(json, object, "lane", 0, 0, LANE_MOST);
    if (operation->peer == reader->rank)
        json_reader_fail(json, "peer", "is the rank itself");
    if (plan->lanes <= operation->lane)
        plan->lanes = operation->lane + 1;
}

static void messages_read(struct plan_reader *reader, const json_t *object,
                          const size_t extent[BUFFERS], struct operation *operation)
{
    enum operation_kind kind = operation->kind;
    bool receives = kind == OPERATION_RECV || kind == OPERATION_RECV_REDUCE;
    bool combines = kind == OPERATION_REDUCE || kind == OPERATION_RECV_REDUCE;
    message_read(reader, object, "to", kind != OPERATION_SEND, extent, &operation->to);
    message_read(reader, object, "from", !receives, extent, &operation->from);
    message_read(reader, object, "with", combines, extent, &operation->with);
    const struct message *all[] = {&operation->to, &operation->from, &operation->with};
    for (int i = 0; i < 3; i++) {
        size_t length = message_length(*all[i]);
        if (all[i]->count == 0)
            continue;
        if (length > FILE_MOVED_MOST || (operation->length && length != operation->length))
            json_reader_fail(&reader->json, "",
                             "has messages of different lengths, or of more than %d elements",
                             FILE_MOVED_MOST);
        operation->length = length;
    }
    int length = (int)operation->length;
    if (json_reader_whole_or(&reader->json, object, "length", length, 0, FILE_MOVED_MOST) != length)
        json_reader_fail(&reader->json, "length", "is not the %zu elements of its messages",
                         operation->length);
}

static void operation_read(struct plan_reader *reader, const json_t *object, int index,
                           const size_t extent[BUFFERS], struct operation *operation)
{
    struct json_reader *json = &reader->json;
    int kind = json_reader_word(json, object, "kind", operation_names);
    *operation = (struct operation){
        .kind = (enum operation_kind)kind,
        .peer = -1,
        .step = json_reader_whole_or(json, object, "step", 0, 0, STEP_MOST),
        .epoch = (uint32_t)json_reader_whole_or(json, object, "epoch", 0, 0, FILE_OPERATIONS_MOST)};
    if (json_reader_whole_or(json, object, "index", index, 0, INT_MAX) != index)
        json_reader_fail(json, "index", "is not its place among the operations, %d", index);
    if (operation_travels(operation->kind))
        peer_read(reader, object, operation);
    messages_read(reader, object, extent, operation);
}

/* Ranks. */

/* An epoch follows the one before it, if the file does not say otherwise. */
static void epochs_read(struct plan_reader *reader, const json_t *list, size_t count,
                        struct file_rank *rank)
{
    struct json_reader *json = &reader->json;
    if (list && json_array_size(list) != count)
        json_reader_fail(json, "epochs", "does not name the one before each of its %zu epochs",
                         count);
    rank->epochs = take(reader, count, sizeof *rank->epochs);
    rank->epoch_count = rank->epochs ? count : 0;
    for (int e = 0; e < (int)rank->epoch_count && !failed(reader); e++) {
        int previous =
            list ? json_reader_whole_at(json, list, "epochs", (size_t)e, -1, INT_MAX) : e - 1;
        if (previous >= e)
            json_reader_fail(json, "epochs", "lets epoch %d follow %d, which is not before it", e,
                             previous);
        rank->epochs[e] = (struct epoch){.previous = previous, .next = -1};
        if (previous < 0 || failed(reader))
            continue;
        if (rank->epochs[previous].next >= 0)
            json_reader_fail(json, "epochs", "has two epochs that follow epoch %d", previous);
        rank->epochs[previous].next = e;
    }
}

/* An epoch begins where the one before it has ended, in program order, and steps go forward. */
static void epochs_check(struct plan_reader *reader, const struct file_rank *rank)
{
    struct {
        bool open, left;
        int step;
    } *state = take(reader, rank->epoch_count, sizeof *state);
    for (size_t i = 0; i < rank->count && !failed(reader); i++) {
        const struct operation *operation = &rank->operations[i];
        int epoch = (int)operation->epoch, before = rank->epochs[epoch].previous;
        size_t outside = json_reader_enter(&reader->json, "operations", i);
        if (state[epoch].left || (before >= 0 && !state[before].open))
            json_reader_fail(&reader->json, "epoch",
                             "is %d, which is over, or the one before it has not begun", epoch);
        if (!state[epoch].open && before >= 0) {
            state[before].left = true;
            state[epoch].step = state[before].step;
        }
        state[epoch].open = true;
        if (operation->step < state[epoch].step)
            json_reader_fail(&reader->json, "step", "is %d, after a step %d", operation->step,
                             state[epoch].step);
        state[epoch].step = operation->step;
        json_reader_leave(&reader->json, outside);
    }
}

/* Returns the number of epochs. */
static size_t operations_read(struct plan_reader *reader, const json_t *object,
                              const size_t extent[BUFFERS], struct file_rank *rank)
{
    const json_t *list =
        json_reader_array(&reader->json, object, "operations", FILE_OPERATIONS_MOST);
    size_t count = json_array_size(list), epochs = 0;
    rank->operations = take(reader, count, sizeof *rank->operations);
    while (rank->count < count && !failed(reader)) {
        struct operation *operation = &rank->operations[rank->count];
        size_t before = json_reader_enter(&reader->json, "operations", rank->count);
        operation_read(reader, json_array_get(list, rank->count), (int)rank->count, extent,
                       operation);
        json_reader_leave(&reader->json, before);
        /* A run adds the last step of its own operator. */
        if (operation->kind == OPERATION_FINISH)
            operation->kind = OPERATION_COPY;
        if (operation->epoch >= epochs)
            epochs = operation->epoch + 1;
        rank->count++;
    }
    return epochs;
}

static void extents_read(struct plan_reader *reader, const json_t *object, size_t extent[BUFFERS])
{
    struct json_reader *json = &reader->json;
    const json_t *extents = json_object_get(object, "extents");
    size_t outside = json_reader_enter_object(json, "extents");
    for (enum buffer b = 0; b < BUFFERS; b++) {
        const struct problem *problem = &reader->plan->problem;
        size_t needed = b == BUFFER_SCRATCH ? 0 : collective_extent(problem, reader->rank, b);
        extent[b] = needed;
        if (json_object_get(extents, buffer_names[b]))
            extent[b] = (size_t)json_reader_whole(json, extents, buffer_names[b], 0, COUNT_MOST);
        if (b != BUFFER_SCRATCH && extent[b] != needed)
            json_reader_fail(json, buffer_names[b], "is %zu elements, where the contract has %zu",
                             extent[b], needed);
    }
    json_reader_leave(json, outside);
}

static void rank_read(struct plan_reader *reader, const json_t *object, struct file_rank *rank)
{
    size_t extent[BUFFERS];
    int number = json_reader_whole_or(&reader->json, object, "rank", reader->rank, 0, INT_MAX);
    if (number != reader->rank)
        json_reader_fail(&reader->json, "rank", "is %d in the place of rank %d: write all ranks",
                         number, reader->rank);
    extents_read(reader, object, extent);
    rank->scratch = extent[BUFFER_SCRATCH];
    size_t epochs = operations_read(reader, object, extent, rank);
    epochs_read(reader, json_object_get(object, "epochs"), epochs, rank);
    epochs_check(reader, rank);
}

/* Plans. */

/* "counts": a number for each block, or a list of them for each sender. */
static void counts_of_json(struct plan_reader *reader, const json_t *list)
{
    struct problem *problem = &reader->plan->problem;
    size_t ranks = (size_t)problem->ranks;
    bool matrix = problem->collective->source.blocks && problem->collective->destination.blocks;
    size_t rows = matrix ? ranks : 1;
    size_t *numbers = take(reader, rows * ranks, sizeof *numbers), *next = numbers;
    for (size_t r = 0; r < rows && !failed(reader); r++) {
        const json_t *row = matrix ? json_array_get(list, r) : list;
        char key[40] = "counts";
        if (matrix)
            snprintf(key, sizeof key, "counts[%zu]", r);
        if (json_array_size(list) != ranks || json_array_size(row) != ranks)
            json_reader_fail(&reader->json, key, "has no entry for each of %zu ranks", ranks);
        for (size_t c = 0; c < ranks && !failed(reader); c++)
            *next++ = (size_t)json_reader_whole_at(&reader->json, row, key, c, 0, COUNT_MOST);
    }
    const struct counts_spec spec = {.distribution = DISTRIBUTION_FILE,
                                     .path = reader->json.path,
                                     .numbers = numbers,
                                     .rows = rows,
                                     .columns = ranks};
    if (!failed(reader))
        reader->json.status = counts_create(&spec, matrix ? COUNTS_MATRIX : COUNTS_VECTOR,
                                            (int)ranks, 0, 0, &reader->plan->counts);
    problem->counts = reader->plan->counts;
    if (!failed(reader))
        problem->count = counts_mean(problem->counts);
}

static int partner_of(const void *context, int rank, int ranks)
{
    const int *partners = context;
    (void)ranks;
    return partners[rank];
}

/* "partners": the rank that each rank sends to, -1: none. */
static void partners_read(struct plan_reader *reader, const json_t *list)
{
    struct problem *problem = &reader->plan->problem;
    int ranks = problem->ranks;
    int *partners = take(reader, (size_t)ranks, sizeof *partners);
    bool *taken = take(reader, (size_t)ranks, sizeof *taken);
    if (json_array_size(list) != (size_t)ranks)
        json_reader_fail(&reader->json, "partners", "has no entry for each of %d ranks", ranks);
    for (int r = 0; r < ranks && !failed(reader); r++) {
        int partner =
            json_reader_whole_at(&reader->json, list, "partners", (size_t)r, -1, ranks - 1);
        if (partner == r || (partner >= 0 && taken[partner]))
            json_reader_fail(&reader->json, "partners",
                             "gives rank %d itself, or a rank that another one has", r);
        partners[r] = partner;
        if (partner >= 0)
            taken[partner] = true;
    }
    reader->plan->partners = partners;
    if (!failed(reader))
        reader->json.status =
            counts_of_partners(ranks, partner_of, partners, &reader->plan->counts);
    problem->counts = reader->plan->counts;
}

static void problem_read(struct plan_reader *reader, const json_t *object)
{
    struct json_reader *json = &reader->json;
    struct problem *problem = &reader->plan->problem;
    char name[40];
    json_reader_text(json, object, "collective", name, sizeof name);
    problem->collective = collective_find(name);
    if (!problem->collective)
        json_reader_fail(json, "collective", "is none that cctest knows");
    problem->ranks = json_reader_whole(json, object, "ranks", 1, FILE_RANKS_MOST);
    problem->count = (size_t)json_reader_whole(json, object, "count", 1, COUNT_MOST);
    int root = json_reader_whole_or(json, object, "root", 0, 0, problem->ranks - 1);
    if (failed(reader))
        return;
    problem->root = problem->collective->rooted ? root : 0;
    reader->plan->in_place = json_is_true(json_object_get(object, "in_place"));
    if (problem->collective->counted)
        counts_of_json(reader, json_object_get(object, "counts"));
    else if (problem->collective->id == COLLECTIVE_SENDRECV)
        partners_read(reader, json_object_get(object, "partners"));
}

static void plan_read(struct plan_reader *reader, const json_t *object)
{
    struct json_reader *json = &reader->json;
    struct file_plan *plan = reader->plan;
    *plan = (struct file_plan){.path = json->path, .lanes = 1};
    problem_read(reader, object);
    const json_t *list = json_reader_array(json, object, "schedules", FILE_RANKS_MOST);
    size_t ranks = (size_t)plan->problem.ranks;
    if (json_array_size(list) != ranks)
        json_reader_fail(json, "schedules", "has %zu of %zu ranks, as with --rank",
                         json_array_size(list), ranks);
    plan->ranks = take(reader, ranks, sizeof *plan->ranks);
    for (size_t r = 0; r < ranks && !failed(reader); r++) {
        size_t before = json_reader_enter(json, "schedules", r);
        reader->rank = (int)r;
        rank_read(reader, json_array_get(list, r), &plan->ranks[r]);
        json_reader_leave(json, before);
    }
}

enum status json_plans_read(const char *path, const char *text, struct arena *arena,
                            struct file_plan **plans, size_t *count)
{
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    struct plan_reader reader = {.json = {.path = path, .remedy = REMEDY}, .arena = arena};
    *plans = NULL;
    *count = 0;
    if (!document)
        return fail_at(STATUS_USAGE, &(struct failure_place){.file = path, .line = error.line},
                       "this is no JSON: %s", error.text);
    const json_t *list = json_object_get(document, "plans");
    size_t all = json_array_size(list);
    if (all == 0)
        reader.json.status = fail(
            STATUS_USAGE,
            "%.200s has no schedules: give what `cctest plan --json` writes, or MSCCL's XML", path);
    *plans = take(&reader, all, sizeof **plans);
    for (; *count < all && !failed(&reader); ++*count) {
        size_t before = json_reader_enter(&reader.json, "plans", *count);
        reader.plan = &(*plans)[*count];
        plan_read(&reader, json_array_get(list, *count));
        json_reader_leave(&reader.json, before);
    }
    json_decref(document);
    return reader.json.status;
}
