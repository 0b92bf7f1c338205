/*
 * json_plan.c - schedules in cctest's own JSON (cli/schema.json, "planned"): written and read.
 *
 * What follows from other fields is not read: "index", "waits", "lanes", "steps", "sent". So a
 * program that makes schedules need not know the conflict rule.
 */
#include "collective/formats/internal.h"

#include <jansson.h>
#include <stdarg.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

/*
 * Writing.
 */
void schedule_totals(const struct schedule *schedule, size_t *messages, size_t *elements)
{
    *messages = *elements = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        if (schedule->operations[i].kind != OPERATION_SEND)
            continue;
        *messages += 1;
        *elements += schedule->operations[i].length;
    }
}

static json_t *message_json(struct message message)
{
    json_t *spans = json_array();
    for (size_t i = 0; i < message.count; i++) {
        const struct span *span = &message.spans[i];
        json_array_append_new(
            spans, json_pack("{s:s, s:I, s:I, s:I, s:I}", "buffer", buffer_names[span->buffer],
                             "offset", (json_int_t)span->offset, "run", (json_int_t)span->run,
                             "stride", (json_int_t)span->stride, "times", (json_int_t)span->times));
    }
    return spans;
}

static json_t *operation_json(const struct operation *operation, size_t index)
{
    json_t *waits = json_array();
    for (size_t w = 0; w < operation->wait_count; w++) {
        const struct wait *wait = &operation->waits[w];
        json_array_append_new(waits, json_pack("{s:I, s:I, s:I, s:I}", "operation",
                                               (json_int_t)wait->operation, "at",
                                               (json_int_t)wait->at, "past", (json_int_t)wait->past,
                                               "length", (json_int_t)wait->length));
    }
    json_t *line = json_pack("{s:I, s:s, s:i, s:I, s:I, s:o}", "index", (json_int_t)index, "kind",
                             operation_name(operation->kind), "step", operation->step, "epoch",
                             (json_int_t)operation->epoch, "length", (json_int_t)operation->length,
                             "waits", waits);
    if (operation_travels(operation->kind)) {
        json_object_set_new(line, "peer", json_integer(operation->peer));
        json_object_set_new(line, "lane", json_integer(operation->lane));
    }
    if (operation->kind != OPERATION_SEND)
        json_object_set_new(line, "to", message_json(operation->to));
    if (operation->kind != OPERATION_RECV && operation->kind != OPERATION_RECV_REDUCE)
        json_object_set_new(line, "from", message_json(operation->from));
    if (operation->kind == OPERATION_REDUCE || operation->kind == OPERATION_RECV_REDUCE)
        json_object_set_new(line, "with", message_json(operation->with));
    return line;
}

/* For each epoch the one before it in its scope; -1: none. */
static json_t *epochs_json(const struct schedule *schedule)
{
    json_t *epochs = json_array();
    for (size_t e = 0; e < schedule->epoch_count; e++)
        json_array_append_new(epochs, json_integer(schedule->epochs[e].previous));
    return epochs;
}

json_t *plan_json(const struct schedule *schedule)
{
    size_t messages, elements;
    schedule_totals(schedule, &messages, &elements);
    json_t *operations = json_array(), *extents = json_object();
    for (int b = 0; b < BUFFERS; b++)
        json_object_set_new(extents, buffer_names[b],
                            json_integer((json_int_t)schedule->extent[b]));
    for (size_t i = 0; i < schedule->count; i++)
        json_array_append_new(operations, operation_json(&schedule->operations[i], i));
    return json_pack("{s:i, s:o, s:i, s:i, s:{s:I, s:I}, s:o, s:o}", "rank", schedule->rank,
                     "extents", extents, "lanes", schedule->lanes, "steps", schedule->steps, "sent",
                     "messages", (json_int_t)messages, "elements", (json_int_t)elements, "epochs",
                     epochs_json(schedule), "operations", operations);
}

/* Elements of the blocks, for forms with counts: a list, or one for each sender. */
static json_t *counts_json(const struct problem *problem)
{
    const struct collective *collective = problem->collective;
    bool matrix = collective->source.blocks && collective->destination.blocks;
    enum buffer side = collective->source.blocks ? BUFFER_SOURCE : BUFFER_DESTINATION;
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

static json_t *partners_json(const struct problem *problem)
{
    json_t *partners = json_array();
    for (int r = 0; r < problem->ranks; r++)
        json_array_append_new(partners, json_integer(problem->counts->to[r]));
    return partners;
}

json_t *plan_head_json(const struct choice *choice, const struct problem *problem,
                       const char *datatype, size_t element, int channels)
{
    json_t *plan = json_pack(
        "{s:s, s:s, s:o, s:i, s:I, s:I, s:s, s:i, s:b, s:i, s:[]}", "collective",
        problem->collective->name, "algorithm", choice->algorithm->name, "algorithm_options",
        choice_json(choice), "ranks", problem->ranks, "count", (json_int_t)problem->count, "bytes",
        (json_int_t)collective_bytes(problem, element), "datatype", datatype, "root", problem->root,
        "in_place", problem->in_place, "channels", channels, "schedules");
    if (problem->collective->counted)
        json_object_set_new(plan, "counts", counts_json(problem));
    else if (problem->counts)
        json_object_set_new(plan, "partners", partners_json(problem));
    return plan;
}

/*
 * Reading.
 */
#define STEP_MOST  (1 << 20)
#define LANE_MOST  4095
#define COUNT_MOST (1 << 22) /* of elements; FILE_PARTS_MOST limits the sum */

/* What is being read, for sentences. */
struct place {
    const char *path;
    struct arena *arena;
    struct file_plan *plan;
    size_t index;   /* of the plan */
    int rank;       /* -1: none yet */
    long operation; /* likewise */
};

__attribute__((format(printf, 2, 3))) static enum status refuse(const struct place *place,
                                                                const char *format, ...)
{
    char what[300], part[100];
    struct text words = text_in(part, sizeof part);
    const struct failure_place where = {.file = place->path, .part = part};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    text_add(&words, "plan %zu", place->index);
    if (place->operation >= 0)
        text_add(&words, ": rank %d's operation %ld", place->rank, place->operation);
    else if (place->rank >= 0)
        text_add(&words, ": rank %d", place->rank);
    return fail_at(STATUS_USAGE, &where, "%s", what);
}

static enum status no_memory(const struct place *place)
{
    return fail(STATUS_ERROR, "out of memory for %.200s", place->path);
}

/* `count` things of `size` bytes, all zero; NULL: out of memory. */
static void *take(const struct place *place, size_t count, size_t size)
{
    void *taken = arena_take(place->arena, (count + 1) * size);
    return taken ? memset(taken, 0, (count + 1) * size) : NULL;
}

#define REQUIRED (-2) /* there is no default */

/* A whole number of an object. */
static enum status number_read(const struct place *place, const json_t *object, const char *key,
                               int64_t standard, int64_t most, int64_t *value)
{
    const json_t *found = json_object_get(object, key);
    *value = standard;
    if (!found && standard != REQUIRED)
        return STATUS_OK;
    if (!found)
        return refuse(place, "it has no \"%s\"", key);
    *value = json_integer_value(found);
    if (!json_is_integer(found) || *value < 0 || *value > most)
        return refuse(place, "\"%s\" is no whole number from 0 to %lld", key, (long long)most);
    return STATUS_OK;
}

/* Index of a text in a list; -1: it is not there, or no text. */
static int word_of(const json_t *text, const char *(*name)(int index), int count)
{
    for (int i = 0; i < count; i++)
        if (json_is_string(text) && strcmp(json_string_value(text), name(i)) == 0)
            return i;
    return -1;
}

static const char *buffer_word(int index)
{
    return buffer_names[index];
}

static const char *kind_word(int index)
{
    return operation_name((enum operation_kind)index);
}

/* Messages. */

static enum status span_read(const struct place *place, const char *side, const json_t *object,
                             const size_t extent[BUFFERS], struct span *span)
{
    int64_t offset, run, stride, times;
    int buffer = word_of(json_object_get(object, "buffer"), buffer_word, BUFFERS);
    if (buffer < 0)
        return refuse(place,
                      "a span of \"%s\" has no \"buffer\" that is source, destination or scratch",
                      side);
    enum status status = number_read(place, object, "offset", REQUIRED, COUNT_MOST, &offset);
    if (status == STATUS_OK)
        status = number_read(place, object, "run", REQUIRED, COUNT_MOST, &run);
    if (status == STATUS_OK)
        status = number_read(place, object, "times", 1, COUNT_MOST, &times);
    if (status == STATUS_OK)
        status = number_read(place, object, "stride", run, COUNT_MOST, &stride);
    if (status != STATUS_OK)
        return status;
    if (run == 0 || times == 0 || (times > 1 && stride < run))
        return refuse(place, "a span of \"%s\" is empty, or its runs overlap", side);
    if (offset + (times - 1) * stride + run > (int64_t)extent[buffer])
        return refuse(place, "\"%s\" touches %s element %lld, which is outside: there are %zu",
                      side, buffer_names[buffer],
                      (long long)(offset + (times - 1) * stride + run - 1), extent[buffer]);
    *span = (struct span){.buffer = (enum buffer)buffer,
                          .offset = (size_t)offset,
                          .run = (size_t)run,
                          .stride = (size_t)stride,
                          .times = (size_t)times};
    return STATUS_OK;
}

/* `wanted`: operations of this kind have it. */
static enum status message_read(const struct place *place, const json_t *object, const char *side,
                                bool wanted, const size_t extent[BUFFERS], struct message *message)
{
    const json_t *list = json_object_get(object, side);
    size_t count = json_array_size(list);
    if (!wanted)
        return list ? refuse(place, "it has a \"%s\", which its kind does not", side) : STATUS_OK;
    if (count == 0)
        return refuse(place, "it has no \"%s\" of one span at least", side);
    struct span *spans = take(place, count, sizeof *spans);
    enum status status = spans ? STATUS_OK : no_memory(place);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = span_read(place, side, json_array_get(list, i), extent, &spans[i]);
    *message = (struct message){.spans = spans, .count = count};
    return status;
}

/* Operations. */

static enum status peer_read(const struct place *place, const json_t *object,
                             struct operation *operation)
{
    const struct problem *problem = &place->plan->problem;
    int64_t peer, lane;
    enum status status = number_read(place, object, "peer", REQUIRED, problem->ranks - 1, &peer);
    if (status == STATUS_OK)
        status = number_read(place, object, "lane", 0, LANE_MOST, &lane);
    if (status != STATUS_OK)
        return status;
    if (peer == place->rank)
        return refuse(place, "its peer is its own rank");
    operation->peer = (int)peer;
    operation->lane = (int)lane;
    if (place->plan->lanes <= (int)lane)
        place->plan->lanes = (int)lane + 1;
    return STATUS_OK;
}

static enum status messages_read(const struct place *place, const json_t *object,
                                 const size_t extent[BUFFERS], struct operation *operation)
{
    enum operation_kind kind = operation->kind;
    bool receives = kind == OPERATION_RECV || kind == OPERATION_RECV_REDUCE;
    bool combines = kind == OPERATION_REDUCE || kind == OPERATION_RECV_REDUCE;
    enum status status =
        message_read(place, object, "to", kind != OPERATION_SEND, extent, &operation->to);
    if (status == STATUS_OK)
        status = message_read(place, object, "from", !receives, extent, &operation->from);
    if (status == STATUS_OK)
        status = message_read(place, object, "with", combines, extent, &operation->with);
    if (status != STATUS_OK)
        return status;
    const struct message *all[] = {&operation->to, &operation->from, &operation->with};
    for (int i = 0; i < 3; i++) {
        size_t length = message_length(*all[i]);
        if (all[i]->count == 0)
            continue;
        if (length > FILE_MOVED_MOST || (operation->length && length != operation->length))
            return refuse(place, "its messages have different lengths, or are too long");
        operation->length = length;
    }
    const json_t *length = json_object_get(object, "length");
    return !length || json_integer_value(length) == (json_int_t)operation->length
               ? STATUS_OK
               : refuse(place, "its \"length\" is not the %zu elements of its messages",
                        operation->length);
}

static enum status operation_read(const struct place *place, const json_t *object,
                                  const size_t extent[BUFFERS], struct operation *operation)
{
    int64_t step, epoch, index;
    int kind = word_of(json_object_get(object, "kind"), kind_word, OPERATION_FINISH + 1);
    if (kind < 0)
        return refuse(place,
                      "it has no \"kind\" that is copy, reduce, send, recv, recv_reduce or finish");
    *operation = (struct operation){.kind = (enum operation_kind)kind, .peer = -1};
    enum status status = number_read(place, object, "step", 0, STEP_MOST, &step);
    if (status == STATUS_OK)
        status = number_read(place, object, "epoch", 0, FILE_OPERATIONS_MOST, &epoch);
    if (status == STATUS_OK)
        status = number_read(place, object, "index", place->operation, INT64_MAX, &index);
    if (status == STATUS_OK && index != place->operation)
        return refuse(place, "its \"index\" is %lld", (long long)index);
    if (status == STATUS_OK && operation_travels(operation->kind))
        status = peer_read(place, object, operation);
    if (status != STATUS_OK)
        return status;
    operation->step = (int)step;
    operation->epoch = (uint32_t)epoch;
    return messages_read(place, object, extent, operation);
}

/* Ranks. */

/* An epoch follows the one before it, if the file does not say otherwise. */
static enum status epochs_read(const struct place *place, const json_t *list, size_t count,
                               struct file_rank *rank)
{
    if (list && json_array_size(list) != count)
        return refuse(place, "\"epochs\" does not name the one before each of its %zu epochs",
                      count);
    rank->epochs = take(place, count, sizeof *rank->epochs);
    if (!rank->epochs)
        return no_memory(place);
    rank->epoch_count = count;
    for (size_t e = 0; e < count; e++) {
        const json_t *before = json_array_get(list, e);
        json_int_t previous = list ? json_integer_value(before) : (json_int_t)e - 1;
        if ((list && !json_is_integer(before)) || previous < -1 || previous >= (json_int_t)e)
            return refuse(place, "epoch %zu follows none of the epochs before it", e);
        rank->epochs[e].previous = (int)previous;
        rank->epochs[e].next = -1;
        if (previous >= 0 && rank->epochs[previous].next >= 0)
            return refuse(place, "two epochs follow epoch %lld", (long long)previous);
        if (previous >= 0)
            rank->epochs[previous].next = (int)e;
    }
    return STATUS_OK;
}

/* An epoch begins where the one before it has ended, in program order, and steps go forward. */
static enum status epochs_check(struct place *place, const struct file_rank *rank)
{
    struct {
        bool open, left;
        int step;
    } *state = take(place, rank->epoch_count, sizeof *state);
    if (!state)
        return no_memory(place);
    for (size_t i = 0; i < rank->count; i++) {
        const struct operation *operation = &rank->operations[i];
        int epoch = (int)operation->epoch, before = rank->epochs[epoch].previous;
        place->operation = (long)i;
        if (state[epoch].left || (before >= 0 && !state[before].open))
            return refuse(place, "its epoch %d is over, or the one before it has not begun", epoch);
        if (!state[epoch].open && before >= 0) {
            state[before].left = true;
            state[epoch].step = state[before].step;
        }
        state[epoch].open = true;
        if (operation->step < state[epoch].step)
            return refuse(place, "its step %d comes after step %d", operation->step,
                          state[epoch].step);
        state[epoch].step = operation->step;
    }
    place->operation = -1;
    return STATUS_OK;
}

static enum status operations_read(struct place *place, const json_t *list,
                                   const size_t extent[BUFFERS], struct file_rank *rank,
                                   size_t *epochs)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list))
        return refuse(place, "it has no \"operations\"");
    if (count > FILE_OPERATIONS_MOST)
        return refuse(place, "it has more than %d operations", FILE_OPERATIONS_MOST);
    rank->operations = take(place, count, sizeof *rank->operations);
    if (!rank->operations)
        return no_memory(place);
    for (size_t i = 0; i < count; i++) {
        struct operation *operation = &rank->operations[rank->count];
        place->operation = (long)i;
        enum status status = operation_read(place, json_array_get(list, i), extent, operation);
        if (status != STATUS_OK)
            return status;
        /* A run adds the last step of its own operator. */
        if (operation->kind == OPERATION_FINISH)
            operation->kind = OPERATION_COPY;
        if (operation->epoch >= *epochs)
            *epochs = operation->epoch + 1;
        rank->count++;
    }
    place->operation = -1;
    return STATUS_OK;
}

static enum status extents_read(const struct place *place, const json_t *object,
                                size_t extent[BUFFERS])
{
    const json_t *extents = json_object_get(object, "extents");
    for (int b = 0; b < BUFFERS; b++) {
        int64_t count;
        size_t wanted = b == BUFFER_SCRATCH
                            ? 0
                            : collective_extent(&place->plan->problem, place->rank, (enum buffer)b);
        enum status status =
            number_read(place, extents, buffer_names[b], (int64_t)wanted, COUNT_MOST, &count);
        if (status != STATUS_OK)
            return status;
        if (b != BUFFER_SCRATCH && (size_t)count != wanted)
            return refuse(place, "its %s has %lld elements, where the contract has %zu",
                          buffer_names[b], (long long)count, wanted);
        extent[b] = (size_t)count;
    }
    return STATUS_OK;
}

static enum status rank_read(struct place *place, const json_t *object, struct file_rank *rank)
{
    size_t extent[BUFFERS], epochs = 0;
    int64_t number;
    enum status status = number_read(place, object, "rank", place->rank, FILE_RANKS_MOST, &number);
    if (status == STATUS_OK && number != place->rank)
        return refuse(place,
                      "its schedule stands where that of rank %lld is: write all ranks in order",
                      (long long)number);
    if (status == STATUS_OK)
        status = extents_read(place, object, extent);
    if (status != STATUS_OK)
        return status;
    rank->scratch = extent[BUFFER_SCRATCH];
    status = operations_read(place, json_object_get(object, "operations"), extent, rank, &epochs);
    if (status == STATUS_OK)
        status = epochs_read(place, json_object_get(object, "epochs"), epochs, rank);
    return status == STATUS_OK ? epochs_check(place, rank) : status;
}

/* Plans. */

/* "counts": a number for each block, or a list of them for each sender. */
static enum status counts_of_json(struct place *place, const json_t *list)
{
    struct problem *problem = &place->plan->problem;
    size_t ranks = (size_t)problem->ranks, rows = 1;
    bool matrix = problem->collective->source.blocks && problem->collective->destination.blocks;
    rows = matrix ? ranks : 1;
    size_t *numbers = take(place, rows * ranks, sizeof *numbers);
    if (!numbers)
        return no_memory(place);
    if (json_array_size(list) != ranks)
        return refuse(place, "it has no \"counts\" of %zu ranks", ranks);
    for (size_t i = 0; i < rows * ranks; i++) {
        const json_t *row = matrix ? json_array_get(list, i / ranks) : list;
        const json_t *number = json_array_get(row, i % ranks);
        json_int_t value = json_integer_value(number);
        if (!json_is_integer(number) || json_array_size(row) != ranks || value < 0 ||
            value > COUNT_MOST)
            return refuse(place, "\"counts\" has no number of elements for each pair of ranks");
        numbers[i] = (size_t)value;
    }
    const struct counts_spec spec = {.distribution = DISTRIBUTION_FILE,
                                     .path = place->path,
                                     .numbers = numbers,
                                     .rows = rows,
                                     .columns = ranks};
    enum status status = counts_create(&spec, matrix ? COUNTS_MATRIX : COUNTS_VECTOR, (int)ranks, 0,
                                       0, &place->plan->counts);
    problem->counts = place->plan->counts;
    if (status == STATUS_OK)
        problem->count = counts_mean(problem->counts);
    return status;
}

static int partner_of(const void *context, int rank, int ranks)
{
    const int *partners = context;
    (void)ranks;
    return partners[rank];
}

/* "partners": the rank that each rank sends to, -1: none. */
static enum status partners_read(struct place *place, const json_t *list)
{
    struct problem *problem = &place->plan->problem;
    size_t ranks = (size_t)problem->ranks;
    int *partners = take(place, ranks, sizeof *partners);
    bool *taken = take(place, ranks, sizeof *taken);
    if (!partners || !taken)
        return no_memory(place);
    if (json_array_size(list) != ranks)
        return refuse(place, "it has no \"partners\" of %zu ranks", ranks);
    for (size_t r = 0; r < ranks; r++) {
        const json_t *number = json_array_get(list, r);
        json_int_t partner = json_integer_value(number);
        if (!json_is_integer(number) || partner < -1 || partner >= (json_int_t)ranks ||
            partner == (json_int_t)r || (partner >= 0 && taken[partner]))
            return refuse(place, "the partner of rank %zu is no other rank, or that of two", r);
        partners[r] = (int)partner;
        if (partner >= 0)
            taken[partner] = true;
    }
    place->plan->partners = partners;
    enum status status = counts_of_partners((int)ranks, partner_of, partners, &place->plan->counts);
    problem->counts = place->plan->counts;
    return status;
}

static enum status problem_read(struct place *place, const json_t *object)
{
    struct problem *problem = &place->plan->problem;
    const char *name = json_string_value(json_object_get(object, "collective"));
    int64_t ranks, count, root;
    problem->collective = name ? collective_find(name) : NULL;
    if (!problem->collective)
        return refuse(place, "it has no \"collective\" that cctest knows");
    enum status status = number_read(place, object, "ranks", REQUIRED, FILE_RANKS_MOST, &ranks);
    if (status == STATUS_OK)
        status = number_read(place, object, "count", REQUIRED, COUNT_MOST, &count);
    if (status == STATUS_OK && (ranks == 0 || count == 0))
        return refuse(place, "it is for no ranks, or no elements");
    if (status == STATUS_OK)
        status = number_read(place, object, "root", 0, ranks - 1, &root);
    if (status != STATUS_OK)
        return status;
    problem->ranks = (int)ranks;
    problem->count = (size_t)count;
    problem->root = problem->collective->rooted ? (int)root : 0;
    place->plan->in_place = json_is_true(json_object_get(object, "in_place"));
    if (problem->collective->counted)
        return counts_of_json(place, json_object_get(object, "counts"));
    return problem->collective->id == COLLECTIVE_SENDRECV
               ? partners_read(place, json_object_get(object, "partners"))
               : STATUS_OK;
}

static enum status plan_read(struct place *place, const json_t *object)
{
    const json_t *list = json_object_get(object, "schedules");
    struct file_plan *plan = place->plan;
    *plan = (struct file_plan){.path = place->path, .lanes = 1};
    enum status status = problem_read(place, object);
    if (status != STATUS_OK)
        return status;
    size_t ranks = (size_t)plan->problem.ranks;
    if (json_array_size(list) != ranks)
        return refuse(place,
                      "it has %zu schedules, and %zu ranks need one each (write it without --rank)",
                      json_array_size(list), ranks);
    plan->ranks = take(place, ranks, sizeof *plan->ranks);
    if (!plan->ranks)
        return no_memory(place);
    for (place->rank = 0; place->rank < (int)ranks && status == STATUS_OK; place->rank++)
        status =
            rank_read(place, json_array_get(list, (size_t)place->rank), &plan->ranks[place->rank]);
    return status;
}

enum status json_plans_read(const char *path, const char *text, struct arena *arena,
                            struct file_plan **plans, size_t *count)
{
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    struct place place = {.path = path, .arena = arena};
    *plans = NULL;
    *count = 0;
    if (!document)
        return fail_at(STATUS_USAGE, &(struct failure_place){.file = path, .line = error.line},
                       "this is no JSON: %s", error.text);
    const json_t *list = json_object_get(document, "plans");
    size_t all = json_array_size(list);
    enum status status = STATUS_OK;
    if (all == 0)
        status = fail(
            STATUS_USAGE,
            "%.200s has no schedules: give what `cctest plan --json` writes, or MSCCL's XML", path);
    else if (!(*plans = take(&place, all, sizeof **plans)))
        status = no_memory(&place);
    for (; *count < all && status == STATUS_OK; ++*count) {
        place.index = *count;
        place.plan = &(*plans)[*count];
        place.rank = -1;
        place.operation = -1;
        status = plan_read(&place, json_array_get(list, *count));
    }
    json_decref(document);
    return status;
}
