/*
 * ll.c - `--copy ll`: messages as words that each carry their own flag, as in NCCL's protocol LL.
 *
 * A word is 8 bytes, {32 bits of data, 32 bits of epoch}, stored and loaded in one piece. A word
 * that holds the epoch has arrived, whatever the state of its neighbours. So no other flag is
 * needed, and no store must be ordered after another. The price: half of the bytes are flags. (A
 * line cell, internal.h, has one flag for up to 56 bytes, written after them. Fewer bytes travel,
 * and the two stores must stay in order.) The rules:
 *
 *     Regions  A channel has two. The parity of an epoch selects its region: one is filled while
 *              the other is read. Messages follow each other in a region, 4 bytes in a word. An
 *              epoch ends with its region, or where the rest of the region is too short for a
 *              message that fits into a whole one. A message longer than a region continues in the
 *              next. Both ends find these places from the lengths alone. Words are taken as they
 *              arrive, so messages stream. (With one message in each epoch, only two could be in
 *              flight.)
 *     Epochs   Words of old epochs remain, since nothing is cleared; their epoch tells that they
 *              are old. No epoch is 0, the value of memory that was never written. The first is 2,
 *              so that the even region begins.
 *     Wrap     After 0xFFFFFFFF comes 2: the next number that is even and not 0, since parities
 *              must alternate. From there on numbers repeat, and a word that no message has reached
 *              for a whole cycle would be taken for a new one. So a region is zeroed once the last
 *              epoch of its parity, 0xFFFFFFFE or 0xFFFFFFFF, has been read, and at no other time.
 *
 * NCCL needs no credit: its caller sends to and receives from every peer in each epoch, so that a
 * message from a peer proves that the peer has read the epoch before. A lane here may be used in
 * one direction only. So the receiver counts the epochs that it has read in the ring's credit line,
 * and the sender reads that line before it overwrites an epoch of which it does not know so. This
 * is the flow control of every other ring (internal.h), for a ring of two cells. It orders the
 * zeros, too: they are stored before the credit.
 *
 * A limit that grows by less than a word holds back up to 3 bytes, since a word can be stored only
 * once. No rank waits for them for ever: the first incomplete operation in program order has no
 * limit but its end (schedule.h).
 */
#include "transports/shm/internal.h"

#include <string.h>

#define WORD_DATA   sizeof(uint32_t)
#define EPOCH_FIRST 2
#define EPOCH_LAST  UINT32_MAX

/* Messages begin on a cache line of words. A region is whole lines, and a line holds two of the
 * largest elements (16 bytes). So no element crosses the end of a region. */
#define STEP (SHM_CACHE_LINE / sizeof(uint64_t) * WORD_DATA)

_Static_assert(EPOCH_FIRST % 2 == 0 && EPOCH_LAST % 2 == 1, "parities alternate at the wrap");

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

/* The region has been read: returns it to the sender. */
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
        if (run < WORD_DATA) { /* the end of the message or of the piece */
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

static bool shm_word_has_arrived(const struct shm_ring *ring, size_t word)
{
    return atomic_load_explicit(&shm_ll_of(ring)[word], memory_order_relaxed) >> 32 == ring->epoch;
}

size_t shm_ll_arrived(const struct shm_ring *ring, size_t most)
{
    size_t room = ring->payload - ring->at, end = ring->at + (most < room ? most : room);
    size_t word = ring->at / WORD_DATA, ll = (end + WORD_DATA - 1) / WORD_DATA;
    while (word < ll && shm_word_has_arrived(ring, word))
        word++;
    return word == ll                    ? end - ring->at
           : word * WORD_DATA > ring->at ? word * WORD_DATA - ring->at
                                         : 0;
}

bool shm_ll_is_complete(const struct shm_ring *ring, size_t bytes)
{
    size_t last = (ring->at + bytes - 1) / WORD_DATA;
    return shm_word_has_arrived(ring, last) && shm_ll_arrived(ring, bytes) == bytes;
}

/* Copies the next `bytes` bytes, all of which have arrived. */
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
    _Alignas(SHM_CACHE_LINE) char staging[1024]; /* a kernel needs contiguous elements */
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
