/*
 * place.c - puts the bytes of a message where they belong, piece by piece.
 *
 * Pieces lie on a grid of the target's addresses, in multiples of 8 bytes, so that 8 aligned bytes
 * are placed at once. To ThreadSanitizer all of it is done by the queue pair's own thread (race.h).
 */
#include "place.h"

#include "fabric.h"

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void place_begin(struct strict_request *request, uint64_t mtu, bool ordered)
{
    uint64_t span = (request->remote & 7) + request->length;
    request->piece_bytes = mtu;
    request->begun = true;
    if (!ordered && span <= 4 * mtu) { /* short ones are torn, too */
        uint64_t piece = (span / (1 + fabric_random(5)) + 7) & ~(uint64_t)7;
        request->piece_bytes = piece < 8 ? 8 : piece > mtu ? mtu : piece;
    }
    request->pieces =
        request->length ? (span + request->piece_bytes - 1) / request->piece_bytes : 0;
    request->stride = 1;
    if (ordered || request->pieces < 2)
        return;
    if (fabric_random(3) == 0) { /* backwards */
        request->start = request->pieces - 1;
        request->stride = request->pieces - 1;
        return;
    }
    request->start = fabric_random(request->pieces);
    request->stride = 1 + fabric_random(request->pieces - 1);
    while (divisor(request->stride, request->pieces) != 1)
        request->stride++;
}

/* `bytes` of the source from `at` on. */
RACE_UNSEEN static void source_copy(const struct strict_request *request, uint64_t at,
                                    uint64_t bytes, char *to)
{
    for (int i = 0; i < request->sge_count && bytes; i++) {
        const struct ibv_sge *sge = &request->sges[i];
        if (at >= sge->length) {
            at -= sge->length;
            continue;
        }
        uint64_t count = sge->length - at < bytes ? sge->length - at : bytes;
        memcpy(to, (const char *)(uintptr_t)sge->addr + at, count);
        to += count;
        bytes -= count;
        at = 0;
    }
}

/* Seen by ThreadSanitizer, unlike all else here: it synchronises with a reader. */
static __attribute__((noinline)) void store_word(char *at, uint64_t word)
{
    __atomic_store_n((uint64_t *)(void *)at, word, __ATOMIC_RELEASE);
}

/* Byte by byte, as the stack must not be seen. */
RACE_UNSEEN static uint64_t source_word(const struct strict_request *request, uint64_t at)
{
    uint64_t word = 0;
    for (int i = 0, k = 0; i < request->sge_count && k < 8; i++) {
        const struct ibv_sge *sge = &request->sges[i];
        const unsigned char *from = (const unsigned char *)(uintptr_t)sge->addr;
        for (; k < 8 && at < sge->length; k++, at++)
            word |= (uint64_t)from[at] << 8 * k;
        at -= at < sge->length ? 0 : sge->length;
    }
    return word;
}

RACE_UNSEEN void place_piece(struct strict_qp *pair, struct strict_request *request, char *to,
                             bool ordered)
{
    uint64_t piece = request->placed++;
    __uint128_t far = (__uint128_t)piece * request->stride + request->start;
    piece = (uint64_t)(far % request->pieces);
    uint64_t head = request->remote & 7, end = (piece + 1) * request->piece_bytes - head;
    uint64_t at = piece ? piece * request->piece_bytes - head : 0;
    if (end > request->length)
        end = request->length;
    void *own = race_fiber_current();
    (void)own;
    race_fiber_switch(pair->fiber);
    race_fiber_acquire(&request->race);
    bool last = end == request->length && (ordered || end - at == 8);
    bool word = last && end - at >= 8 && ((uintptr_t)to + end) % 8 == 0;
    source_copy(request, at, end - at - (word ? 8 : 0), to + at);
    if (word)
        store_word(to + end - 8, source_word(request, end - 8));
    race_fiber_switch(own);
}

RACE_UNSEEN void place_scatter(struct strict_qp *pair, struct strict_request *request,
                               const struct ibv_sge *sges, int count)
{
    void *own = race_fiber_current();
    (void)own;
    race_fiber_switch(pair->fiber);
    race_fiber_acquire(&request->race);
    uint64_t at = 0;
    for (int i = 0; i < count && at < request->length; i++) {
        uint64_t left = request->length - at;
        uint64_t bytes = sges[i].length < left ? sges[i].length : left;
        source_copy(request, at, bytes, (char *)(uintptr_t)sges[i].addr);
        at += bytes;
    }
    race_fiber_switch(own);
}

RACE_UNSEEN void place_gather(struct strict_qp *pair, struct strict_request *request,
                              const char *from)
{
    void *own = race_fiber_current();
    (void)own;
    race_fiber_switch(pair->fiber);
    race_fiber_acquire(&request->race);
    for (int i = 0; i < request->sge_count; i++) {
        memcpy((char *)(uintptr_t)request->sges[i].addr, from, request->sges[i].length);
        from += request->sges[i].length;
    }
    race_fiber_switch(own);
}

RACE_UNSEEN void place_snapshot(struct strict_qp *pair, struct strict_request *request, char *to)
{
    void *own = race_fiber_current();
    (void)own;
    race_fiber_switch(pair->fiber);
    race_fiber_acquire(&request->race);
    source_copy(request, 0, request->length, to);
    race_fiber_switch(own);
}

RACE_UNSEEN void place_release(struct strict_qp *pair, void *at)
{
    void *own = race_fiber_current();
    (void)own, (void)at;
    race_fiber_switch(pair->fiber);
    race_fiber_release(at);
    race_fiber_switch(own);
}
