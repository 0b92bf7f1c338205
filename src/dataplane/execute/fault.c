/*
 * fault.c - corrupts or drops one incoming message.
 */
#include "dataplane/execute/execute.h"

bool fault_strikes(struct fault *fault, enum operation_kind kind)
{
    bool incoming = kind == OPERATION_RECV || kind == OPERATION_RECV_REDUCE;
    return incoming && fault->countdown >= 0 && fault->countdown-- == 0;
}

void fault_begin(struct fault *fault, struct transfer *transfer, char *spare)
{
    fault->original = *transfer;
    if (fault->kind != FAULT_DROP)
        return;
    fault->landing = (struct piece){
        .base = spare, .run = transfer->length, .stride = transfer->length, .times = 1};
    transfer->kind = TRANSFER_RECV;
    transfer->to = (struct layout){.pieces = &fault->landing, .count = 1};
}

/* A high bit of the first element flips: a low bit of a float could be rounded away later. */
static enum status corrupt_finish(const struct transfer *transfer, const struct memory *memory)
{
    size_t run, high = transfer->element > 1 ? transfer->element - 2 : 0;
    unsigned char byte;
    struct cursor to;
    cursor_start(&to, transfer->to);
    char *at = cursor_peek(&to, transfer->element, &run) + high;
    enum status status = memory->kind->read(memory, at, 1, &byte);
    byte ^= 4;
    return status == STATUS_OK ? memory->kind->write(memory, &byte, 1, at) : status;
}

/* Ends a dropped contribution: to = with, as if no message had arrived. */
static enum status drop_finish(const struct transfer *original, const struct memory *memory)
{
    struct moved_list moved = {.first = NULL};
    struct transfer copy = {.kind = TRANSFER_COPY,
                            .to = original->to,
                            .from = original->with,
                            .element = original->element,
                            .length = original->length,
                            .grain = original->length,
                            .limit = original->length,
                            .moved = &moved};
    enum status status = STATUS_OK;
    memory->kind->engine_post(memory->engine, &copy);
    while (status == STATUS_OK && copy.done < copy.length) /* it takes no longer than any copy */
        status = memory->kind->engine_progress(memory->engine);
    return status;
}

enum status fault_finish(struct fault *fault, struct transfer *transfer,
                         const struct memory *memory)
{
    enum status status = STATUS_OK;
    if (fault->kind == FAULT_CORRUPT) {
        status = corrupt_finish(transfer, memory);
    } else {
        transfer->kind = fault->original.kind;
        transfer->to = fault->original.to;
        if (fault->original.kind == TRANSFER_RECV_REDUCE)
            status = drop_finish(&fault->original, memory);
    }
    *fault = (struct fault){.kind = FAULT_NONE};
    return status;
}
