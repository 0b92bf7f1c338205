/*
 * ll.c - `--copy ll`: messages as words that each carry their own flag.
 *
 * A word is 8 bytes, {32 bits of data, 32 bits of epoch}, and is stored and loaded in one piece. So
 * a word that bears the epoch is there, whatever became of its neighbours: nothing else says that
 * the message has come, and no store needs to be ordered behind another. The price is that half of
 * what travels is flags. (A line cell, transports/shm.h, has one flag for up to 56 bytes, written
 * after them: less travels, and the two stores must stay in order.) NCCL's protocol LL does so;
 * these are its rules, and why:
 *
 *     Regions  A channel has two, and those of an epoch go by its parity: one is filled while the
 *              other is read. Messages stand in a region one behind the other, 4 bytes in a word.
 *              An epoch ends with its region, also where the rest of it is too short for a message
 *              that a region can hold; a longer one goes on in the next. Both ends know from the
 *              lengths alone where that is. Words are taken as they come, so messages stream.
 *              (Were every message an epoch, only two could be on their way.)
 *     Epochs   Words of old epochs remain, and nothing is cleared: that they are old is seen from
 *              their epoch. No epoch is 0, which is what memory holds that was never written, and
 *              the first is 2, so that the even ones begin.
 *     Wrap     After 0xFFFFFFFF comes 2: the next that is even and not 0, since parities must
 *              alternate. Now numbers come again, and a word that no message has reached for that
 *              long would be taken for a new one. So a region is zeroed when the last epoch of its
 *              parity, 0xFFFFFFFE or 0xFFFFFFFF, has been read, and at no other time.
 *
 * NCCL needs no credit, since its caller sends to every peer and receives from every peer in each
 * epoch: having heard from a peer in one epoch, a rank knows that the peer has read the one before.
 * A lane here may be used in one direction only, so there must be word of what was read: the
 * receiver counts the epochs that it is done with in the ring's credit line, and the sender looks
 * there when it would write over an epoch of which it does not know that. That is the flow control
 * of every other ring (shm.h), for a ring of two cells. The zeros are ordered by it too: they are
 * stored before the credit is.
 *
 * A limit that moves by less than a word holds back up to 3 bytes, since a word can be stored only
 * once. Nobody waits for those for ever: of all that is not complete, what comes first in program
 * order has no limit but its end (schedule.h).
 */
#include "transports/shm/ll.h"

#include <string.h>

#include "transports/shm/ring.h"

#define WORD_DATA   sizeof(uint32_t)
#define EPOCH_FIRST 2
#define EPOCH_LAST  UINT32_MAX

/* Messages begin on a cache line of words. So no element lies across the end of a region, which is
 * whole lines too: a line holds two elements of the largest, 16 bytes. */
#define STEP (SHM_CACHE_LINE / sizeof(uint64_t) * WORD_DATA)

_Static_assert(EPOCH_FIRST % 2 == 0 && EPOCH_LAST % 2 == 1, "parities alternate over the wrap");

static _Atomic uint64_t *shm_ll_of(const struct shm_ring *ring)
{
    return (_Atomic uint64_t *)(void *)shm_ring_cell(ring);
}

void shm_ll_reset(struct shm_ring *ring, uint32_t epoch)
{
    ring->epoch = epoch > 0 ? epoch : EPOCH_FIRST;
    ring->index = ring->epoch % 2;
    ring->at = 0;
}

static size_t shm_ll_step(size_t bytes)
{
    return (bytes + STEP - 1) / STEP * STEP;
}

static void shm_ll_next(struct shm_ring *ring)
{
    ring->epoch = ring->epoch == EPOCH_LAST ? EPOCH_FIRST : ring->epoch + 1;
    ring->at = 0;
    shm_ring_next(ring);
}

/* The region has been read: it may be written again. */
static void shm_ll_return(struct shm_ring *ring)
{
    if (ring->epoch >= EPOCH_LAST - 1) {
        _Atomic uint64_t *ll = shm_ll_of(ring);
        for (size_t w = 0; w < ring->payload / WORD_DATA; w++)
            atomic_store_explicit(&ll[w], 0, memory_order_relaxed);
    }
    shm_ll_next(ring);
    shm_ring_return(ring);
}

void shm_ll_begin(struct shm_ring *ring, size_t length, bool sends)
{
    if (length > ring->payload || length <= ring->payload - ring->at)
        return;
    if (sends)
        shm_ll_next(ring);
    else
        shm_ll_return(ring);
}

size_t shm_ll_room(const struct shm_ring *ring, size_t left, size_t allowed)
{
    size_t room = ring->payload - ring->at, most = allowed < room ? allowed : room;
    return most < left ? most - most % WORD_DATA : most;
}

static void shm_word_store(_Atomic uint64_t *word, uint32_t data, uint32_t epoch)
{
    atomic_store_explicit(word, (uint64_t)epoch << 32 | data, memory_order_relaxed);
}

void shm_ll_put(struct shm_ring *ring, struct cursor *from, size_t bytes, bool ends)
{
    _Atomic uint64_t *word = shm_ll_of(ring) + ring->at / WORD_DATA;
    uint32_t epoch = ring->epoch;
    ring->at += bytes;
    for (size_t run; bytes > 0; bytes -= run) {
        const char *here = cursor_peek(from, bytes, &run);
        if (run < WORD_DATA) { /* the end of the message, or of the piece */
            uint32_t data = 0;
            run = bytes < WORD_DATA ? bytes : WORD_DATA;
            cursor_gather(from, &data, run);
            shm_word_store(word++, data, epoch);
            continue;
        }
        run -= run % WORD_DATA;
        for (size_t i = 0; i < run; i += WORD_DATA) {
            uint32_t data;
            memcpy(&data, here + i, WORD_DATA);
            shm_word_store(word++, data, epoch);
        }
        cursor_advance(from, run);
    }
    if (ends)
        ring->at = shm_ll_step(ring->at);
    if (ring->at == ring->payload)
        shm_ll_next(ring);
}

static bool shm_word_is_there(const struct shm_ring *ring, size_t word)
{
    return atomic_load_explicit(&shm_ll_of(ring)[word], memory_order_relaxed) >> 32 == ring->epoch;
}

size_t shm_ll_came(const struct shm_ring *ring, size_t most)
{
    size_t room = ring->payload - ring->at, end = ring->at + (most < room ? most : room);
    size_t word = ring->at / WORD_DATA, ll = (end + WORD_DATA - 1) / WORD_DATA;
    while (word < ll && shm_word_is_there(ring, word))
        word++;
    return word == ll                    ? end - ring->at
           : word * WORD_DATA > ring->at ? word * WORD_DATA - ring->at
                                         : 0;
}

bool shm_ll_have_come(const struct shm_ring *ring, size_t bytes)
{
    size_t last = (ring->at + bytes - 1) / WORD_DATA;
    return shm_word_is_there(ring, last) && shm_ll_came(ring, bytes) == bytes;
}

/* The next `bytes` bytes, all of which have come. */
static void shm_ll_unpack(struct shm_ring *ring, char *to, size_t bytes)
{
    const _Atomic uint64_t *word = shm_ll_of(ring) + ring->at / WORD_DATA;
    size_t skip = ring->at % WORD_DATA;
    ring->at += bytes;
    for (size_t piece; bytes > 0; bytes -= piece, to += piece, skip = 0) {
        uint32_t data = (uint32_t)atomic_load_explicit(word++, memory_order_relaxed);
        piece = WORD_DATA - skip;
        if (piece == WORD_DATA && bytes >= WORD_DATA) {
            memcpy(to, &data, WORD_DATA);
            continue;
        }
        piece = piece < bytes ? piece : bytes;
        memcpy(to, (char *)&data + skip, piece);
    }
}

size_t shm_ll_take(struct shm_ring *ring, const struct transfer *transfer, struct cursor *to,
                   struct cursor *with, size_t bytes, bool ends)
{
    _Alignas(SHM_CACHE_LINE) char staging[1024]; /* what is combined must lie flat */
    size_t staged = 0;
    for (size_t piece; bytes > 0; bytes -= piece) {
        if (transfer->kind == TRANSFER_RECV) {
            char *here = cursor_peek(to, bytes, &piece);
            shm_ll_unpack(ring, here, piece);
            cursor_advance(to, piece);
            continue;
        }
        piece = shm_cut(bytes, sizeof(staging), transfer->element);
        shm_ll_unpack(ring, staging, piece);
        cursor_reduce(to, with, staging, piece, transfer->reduce, transfer->element);
        staged += piece;
    }
    if (ends)
        ring->at = shm_ll_step(ring->at);
    if (ring->at == ring->payload)
        shm_ll_return(ring);
    return staged;
}
