/*
 * fault.c - corrupting and dropping one incoming message.
 */
#include "execute/fault.h"

#include <stdlib.h>

bool fault_strikes(struct fault *fault, enum operation_kind kind)
{
    bool incoming = kind == OPERATION_RECV || kind == OPERATION_RECV_REDUCE;
    return incoming && fault->countdown >= 0 && fault->countdown-- == 0;
}

bool fault_begin(struct fault *fault, struct transfer *transfer)
{
    fault->told = *transfer;
    if (fault->kind != FAULT_DROP)
        return true;
    fault->aside = malloc(transfer->length);
    fault->aside_piece = (struct piece){
        .base = fault->aside, .run = transfer->length, .stride = transfer->length, .times = 1};
    transfer->kind = TRANSFER_RECV;
    transfer->to = (struct layout){.pieces = &fault->aside_piece, .count = 1};
    return fault->aside != NULL;
}

/* A dropped contribution: to = with, as if nothing had come. */
static void drop_finish(const struct transfer *told)
{
    struct cursor to, with;
    cursor_start(&to, told->to);
    cursor_start(&with, told->with);
    for (size_t left = told->length; left;) {
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
        /* A high bit of the first element: a low one of a float could be rounded away later, and
         * then nothing would be wrong. */
        size_t run, high = transfer->element > 1 ? transfer->element - 2 : 0;
        struct cursor to;
        cursor_start(&to, transfer->to);
        cursor_peek(&to, transfer->element, &run)[high] ^= 4;
    } else {
        transfer->kind = fault->told.kind;
        transfer->to = fault->told.to;
        if (fault->told.kind == TRANSFER_RECV_REDUCE)
            drop_finish(&fault->told);
    }
    fault_end(fault);
}

void fault_end(struct fault *fault)
{
    free(fault->aside);
    *fault = (struct fault){.kind = FAULT_NONE};
}
