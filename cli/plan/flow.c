/*
 * flow.c - the contents of messages: runs all ranks' schedules once, with names for elements, so
 * that a picture can label a message with its blocks, wherever they are stored on their way.
 */
#include "cli/plan/internal.h"

#include "base/log.h"
#include "base/numbers.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MOST ((size_t)4 << 20) /* of all messages together */

struct tracer {
    struct flow *flow;
    struct cell *memory; /* the flat memory of the joint schedule */
    uint32_t *flight_of; /* by operation */
    bool *done;          /* by operation */
    bool *sent;          /* by flight */
};

static enum status memory_ran_out(void)
{
    return fail(STATUS_ERROR, "not enough memory for the picture: free some");
}

/* An element is named by its index in the vector of the collective. */
static void name_sources(struct tracer *t)
{
    const struct flow *flow = t->flow;
    const struct collective *collective = flow->problem->collective;
    bool gathers = collective->destination.blocks && !collective->source.blocks;
    for (int r = 0; r < flow->ranks; r++) {
        size_t extent = flow->joint->schedules[r]->extent[BUFFER_SOURCE];
        struct cell *cells = &t->memory[flow->joint->start[r * BUFFERS + BUFFER_SOURCE]];
        size_t first = 0;
        if (gathers)
            collective_block(flow->problem, r, BUFFER_DESTINATION, r, &first);
        for (size_t i = 0; i < extent; i++)
            cells[i] = (struct cell){.number = (uint32_t)(first + i),
                                     .origin = (uint32_t)r,
                                     .contributors = (uint64_t)1 << r};
    }
}

static void cells_read(const struct tracer *t, uint32_t operation, const struct message *message,
                       struct cell *to)
{
    const struct joint_schedule *joint = t->flow->joint;
    struct walk walk = joint_walk(joint, joint->rank[operation], message);
    for (size_t i = 0; i < joint_operation(joint, operation)->length; i++)
        to[i] = t->memory[walk_next(&walk)];
}

/* Writes the target of an operation; `in`: the cells that it read or received. */
static void cells_write(struct tracer *t, uint32_t index, const struct cell *in)
{
    const struct joint_schedule *joint = t->flow->joint;
    const struct operation *operation = joint_operation(joint, index);
    bool combines = operation->kind == OPERATION_REDUCE || operation->kind == OPERATION_RECV_REDUCE;
    struct walk to = joint_walk(joint, joint->rank[index], &operation->to);
    struct walk with = joint_walk(joint, joint->rank[index], &operation->with);
    for (size_t i = 0; i < operation->length; i++) {
        struct cell cell = in[i];
        if (combines)
            cell.contributors |= t->memory[walk_next(&with)].contributors;
        t->memory[walk_next(&to)] = cell;
    }
}

/* False: its message has not been sent yet. */
static bool operation_trace(struct tracer *t, uint32_t number)
{
    const struct operation *operation = joint_operation(t->flow->joint, number);
    if (!operation_travels(operation->kind)) {
        cells_read(t, number, &operation->from, t->flow->spare_cells);
        cells_write(t, number, t->flow->spare_cells);
        return true;
    }
    uint32_t index = t->flight_of[number];
    struct flight *flight = &t->flow->flights[index];
    if (operation->kind == OPERATION_SEND) {
        cells_read(t, number, &operation->from, flight->cells);
        t->sent[index] = true;
    } else if (t->sent[index]) {
        cells_write(t, number, flight->cells);
    }
    return t->sent[index];
}

/* Are all operations complete that this one waits for? */
static bool operation_ready(const struct tracer *t, uint32_t index)
{
    const struct joint_schedule *joint = t->flow->joint;
    const struct operation *operation = joint_operation(joint, index);
    uint32_t first = joint->first[joint->rank[index]];
    for (size_t w = 0; w < operation->wait_count; w++)
        if (!t->done[first + operation->waits[w].operation])
            return false;
    return true;
}

/* Runs operations as soon as they can run, not in the order of the list: a rank may list receives
 * before sends. */
static enum status trace_all(struct tracer *t)
{
    const struct joint_schedule *joint = t->flow->joint;
    uint32_t left = joint->count, before = 0, stuck = 0;
    while (left && left != before) {
        before = left;
        for (uint32_t g = 0; g < joint->count; g++) {
            if (t->done[g])
                continue;
            t->done[g] = operation_ready(t, g) && operation_trace(t, g);
            left -= t->done[g];
        }
    }
    while (left && t->done[stuck])
        stuck++;
    if (left)
        return fail(STATUS_ERROR,
                    "%s waits for ever, so the plan cannot be drawn: the text of the plan, without "
                    "--svg, shows why",
                    joint_title(joint, stuck).text);
    return STATUS_OK;
}

/* Names every element and follows it. */
static enum status contents_trace(struct flow *flow, uint32_t *flight_of)
{
    const struct joint_schedule *joint = flow->joint;
    size_t longest = 0;
    for (uint32_t g = 0; g < joint->count; g++)
        if (joint_operation(joint, g)->length > longest)
            longest = joint_operation(joint, g)->length;
    flow->spare_cells = arena_take(joint->memory, (longest + 1) * sizeof *flow->spare_cells);
    flow->spare_numbers = arena_take(joint->memory, (longest + 1) * sizeof *flow->spare_numbers);
    struct tracer t = {
        .flow = flow,
        .memory = arena_take(joint->memory, (joint->elements + 1) * sizeof *t.memory),
        .flight_of = flight_of,
        .done = arena_new(joint->memory, (size_t)joint->count + 1, sizeof *t.done),
        .sent = arena_new(joint->memory, flow->count + 1, sizeof *t.sent),
    };
    if (!t.memory || !flow->spare_cells || !flow->spare_numbers)
        return memory_ran_out();
    memset(t.memory, 0, joint->elements * sizeof *t.memory);
    name_sources(&t);
    return trace_all(&t);
}

/* The messages, in the order of their senders. */
static enum status flights_find(struct flow *flow, uint32_t *flight_of)
{
    const struct joint_schedule *joint = flow->joint;
    flow->flights = arena_new(joint->memory, (size_t)joint->count + 1, sizeof *flow->flights);
    for (uint32_t g = 0; g < joint->count; g++) {
        const struct operation *send = joint_operation(joint, g);
        if (send->step >= flow->rounds)
            flow->rounds = send->step + 1;
        if (send->kind != OPERATION_SEND)
            continue;
        uint32_t recv = joint->partner[g];
        struct cell *cells = arena_take(joint->memory, send->length * sizeof *cells);
        if (!cells)
            return memory_ran_out();
        flight_of[g] = flight_of[recv] = (uint32_t)flow->count;
        flow->flights[flow->count++] = (struct flight){
            .send = g,
            .recv = recv,
            .from = joint->rank[g],
            .to = send->peer,
            .lane = send->lane,
            .leaves = send->step,
            .arrives = joint_operation(joint, recv)->step,
            .length = send->length,
            .cells = cells,
        };
    }
    return STATUS_OK;
}

static void fences_find(struct flow *flow)
{
    const struct joint_schedule *joint = flow->joint;
    flow->fences = arena_new(joint->memory, (size_t)flow->rounds + 1, sizeof *flow->fences);
    for (int r = 0; r < flow->ranks; r++) {
        const struct schedule *schedule = joint->schedules[r];
        for (size_t i = 0; i < schedule->epoch_count; i++)
            if (schedule->epochs[i].previous >= 0)
                flow->fences[schedule->operations[schedule->epochs[i].members[0]].step] |=
                    (uint64_t)1 << r;
    }
}

static enum status size_check(const struct schedule *const *schedules, int ranks)
{
    size_t messages = 0, elements = 0;
    for (int r = 0; r < ranks; r++) {
        for (size_t i = 0; i < schedules[r]->count; i++) {
            messages += schedules[r]->operations[i].kind == OPERATION_SEND;
            elements += schedules[r]->operations[i].length;
        }
        for (int b = 0; b < BUFFERS; b++)
            elements += schedules[r]->extent[b];
    }
    if (messages > PICTURE_MESSAGES_MOST)
        return fail_option(
            STATUS_USAGE, "np channels",
            "a picture of %zu messages is unreadable, %d is the most: give fewer --np or "
            "--channels",
            messages, PICTURE_MESSAGES_MOST);
    if (elements > ELEMENTS_MOST)
        return fail_option(
            STATUS_USAGE, "svg",
            "--svg follows every element, and these are too many: leave out -b, or give a "
            "smaller size");
    return STATUS_OK;
}

enum status flow_trace(const struct schedule *const *schedules, const struct problem *problem,
                       struct flow *flow)
{
    const struct collective *collective = problem->collective;
    *flow = (struct flow){
        .problem = problem,
        .ranks = problem->ranks,
        .lanes = schedules[0]->lanes,
        /* Alltoall, sendrecv. In others one rank has all elements, or an index belongs to a
         * rank. */
        .origins = !collective->reduces && !collective->source.root_only &&
                   (collective->source.blocks || !collective->destination.blocks),
    };
    char error[512];
    TRY(size_check(schedules, problem->ranks));
    flow->joint = joint_create(schedules, problem->ranks, error, sizeof error);
    if (!flow->joint)
        return fail(STATUS_ERROR, "%s: the algorithm is wrong and cannot be drawn", error);
    size_t count = flow->joint->count + (size_t)1;
    uint32_t *flight_of = arena_new(flow->joint->memory, count, sizeof *flight_of);
    enum status status = flights_find(flow, flight_of);
    if (status == STATUS_OK) {
        fences_find(flow);
        status = contents_trace(flow, flight_of);
    }
    if (status != STATUS_OK)
        flow_free(flow);
    return status;
}

void flow_keep(struct flow *flow, int rank)
{
    size_t kept = 0;
    for (size_t i = 0; i < flow->count; i++)
        if (flow->flights[i].from == rank || flow->flights[i].to == rank)
            flow->flights[kept++] = flow->flights[i];
    flow->count = kept;
}

void flow_free(struct flow *flow)
{
    joint_free(flow->joint);
    flow->joint = NULL;
}

/*
 * The contents of a message, in a few characters.
 */
#define SHORT_MOST 18 /* characters of a label in a picture */

struct words {
    char *text;
    size_t length;
    bool full;
};

static void words_put(struct words *words, const char *text)
{
    if (words->full)
        return;
    words->full = words->length + strlen(text) >= LABEL_SIZE - sizeof "…";
    strcpy(words->text + words->length, words->full ? "…" : text);
    words->length += strlen(words->text + words->length);
}

static void words_number(struct words *words, const char *before, uint32_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%s%u", before, number);
    words_put(words, text);
}

/* How many of the ascending numbers from `first` on have equal distances. */
static size_t progression(const uint32_t *numbers, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && (end == first + 1 ||
                           numbers[end] - numbers[end - 1] == numbers[first + 1] - numbers[first]))
        end++;
    return end - first;
}

/* "0-3,8,10,…,20" */
static void words_list(struct words *words, const uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t length = progression(numbers, i, count);
        bool dense = length > 1 && numbers[i + 1] - numbers[i] == 1;
        words_number(words, i ? "," : "", numbers[i]);
        if (dense && length > 2) {
            words_number(words, "-", numbers[i + length - 1]);
            i += length;
        } else if (!dense && length > 3) {
            words_number(words, ",", numbers[i + 1]);
            words_number(words, ",…,", numbers[i + length - 1]);
            i += length;
        } else {
            i++;
        }
    }
}

/* The ranks whose bits are set: "0-3,7". */
static void words_ranks(struct words *words, uint64_t ranks)
{
    uint32_t numbers[64];
    size_t count = 0;
    for (uint32_t r = 0; r < 64; r++)
        if (ranks >> r & 1)
            numbers[count++] = r;
    words_list(words, numbers, count);
}

static int cell_compare(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    return COMPARE(a->origin, b->origin) ?: COMPARE(a->number, b->number);
}

/* The numbers of one origin, ascending, and all origins with the same numbers. */
struct number_list {
    const uint32_t *numbers;
    size_t count;
    uint64_t origins;
};

/* `cells` are in order; fills `numbers` and `lists`. Returns how many lists there are. */
static size_t number_lists_find(const struct cell *cells, size_t count, uint32_t *numbers,
                                struct number_list lists[PICTURE_RANKS_MOST])
{
    size_t found = 0;
    for (size_t i = 0; i < count;) {
        struct number_list list = {.numbers = &numbers[i],
                                   .origins = (uint64_t)1 << cells[i].origin};
        size_t end = i;
        for (; end < count && cells[end].origin == cells[i].origin; end++)
            if (end == i || cells[end].number != cells[end - 1].number)
                numbers[i + list.count++] = cells[end].number;
        i = end;
        size_t same = 0;
        while (same < found &&
               (lists[same].count != list.count ||
                memcmp(lists[same].numbers, list.numbers, list.count * sizeof *numbers) != 0))
            same++;
        if (same < found)
            lists[same].origins |= list.origins;
        else
            lists[found++] = list;
    }
    return found;
}

void flight_label(const struct flow *flow, const struct flight *flight, char text[LABEL_SIZE])
{
    struct words words = {.text = text};
    struct number_list lists[PICTURE_RANKS_MOST];
    for (size_t i = 0; i < flight->length; i++) {
        flow->spare_cells[i] = flight->cells[i];
        if (!flow->origins)
            flow->spare_cells[i].origin = (uint32_t)flight->from;
    }
    qsort(flow->spare_cells, flight->length, sizeof *flow->spare_cells, cell_compare);
    size_t count = number_lists_find(flow->spare_cells, flight->length, flow->spare_numbers, lists);
    for (size_t i = 0; i < count; i++) {
        words_put(&words, i ? " " : "");
        if (lists[i].origins != (uint64_t)1 << flight->from) {
            words_ranks(&words, lists[i].origins);
            words_put(&words, "→");
        }
        words_list(&words, lists[i].numbers, lists[i].count);
    }
}

void flight_contributions(const struct flow *flow, const struct flight *flight,
                          char text[LABEL_SIZE])
{
    struct words words = {.text = text};
    uint64_t contributors = flight->cells[0].contributors;
    bool alike = true;
    for (size_t i = 1; i < flight->length; i++)
        alike = alike && flight->cells[i].contributors == contributors;
    text[0] = '\0';
    if (!flow->problem->collective->reduces ||
        (alike && contributors == (uint64_t)1 << flight->from))
        return;
    words_put(&words, "of ");
    if (!alike)
        words_put(&words, "…");
    else if (contributors == ~(uint64_t)0 >> (64 - flow->ranks))
        words_put(&words, "all");
    else
        words_ranks(&words, contributors);
}

static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t label_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += starts_character(*text);
    return width;
}

void label_shorten(char text[LABEL_SIZE])
{
    if (label_width(text) <= SHORT_MOST)
        return;
    /* Cut between numbers: a part of a number would be another number. */
    size_t width = 0, end = 0;
    for (size_t i = 0; width < SHORT_MOST; i++) {
        width += starts_character(text[i]);
        if (text[i] == ',' || text[i] == ' ')
            end = i + 1;
    }
    strcpy(text + end, "…");
}
