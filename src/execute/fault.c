/*
 * fault.c - corrupts or drops one incoming message.
 */
#include "execute/fault.h"

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

/* Ends a dropped contribution: to = with, as if no message had arrived. */
static void drop_finish(const struct transfer *original)
{
    struct cursor to, with;
    cursor_start(&to, original->to);
    cursor_start(&with, original->with);
    for (size_t left = original->length; left;) {
        size_t run;
        const char *from = cursor_peek(&with, left, &run);
        cursor_scatter(&to, from, run);
        cursor_advance(&with, run);
        left -= run;
    }
}

void fault_finish(struct fault *fault, struct transfer *transfer)
{
    if (fault->kind == FAULT_CORRUPT) {
        /* A high bit of the first element: a low bit of a float could be rounded away later. */
        size_t run, high = transfer->element > 1 ? transfer->element - 2 : 0;
        struct cursor to;
        cursor_start(&to, transfer->to);
        cursor_peek(&to, transfer->element, &run)[high] ^= 4;
    } else {
        transfer->kind = fault->original.kind;
        transfer->to = fault->original.to;
        if (fault->original.kind == TRANSFER_RECV_REDUCE)
            drop_finish(&fault->original);
    }
    *fault = (struct fault){.kind = FAULT_NONE};
}
