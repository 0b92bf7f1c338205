/*
 * block.h - the registered memory of a lane: credit line, offers, slots, staging.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_BLOCK_H
#define CCTEST_TRANSPORTS_VERBS_BLOCK_H

#include "transports/verbs/verbs.h"

/* The end of a slot, where the receiver polls: the bytes of the message, and the number of the
 * slot's use from 1. The number lies behind all else: Soft-RoCE may copy a word byte by byte. */
struct verbs_trailer {
    uint64_t word; /* bytes (low 32 bits) | number (high 32) */
};

/* The place of a number in a ring of `count` entries, a power of two. */
static inline uint32_t verbs_ring_at(uint32_t number, uint32_t count)
{
    return number & (count - 1);
}

#define VERBS_ALIGNMENT 16 /* of the bytes in a slot: of an element of any type */

/* Bytes from slot to slot. */
static inline size_t verbs_slot_stride(const struct verbs_grants *grants)
{
    return (grants->slot_bytes + VERBS_ALIGNMENT + sizeof(struct verbs_trailer) + 63) / 64 * 64;
}

static inline size_t verbs_trailer_at(const struct verbs_grants *grants)
{
    return verbs_slot_stride(grants) - sizeof(struct verbs_trailer);
}

/* Where in a slot `bytes` bytes begin: close in front of the trailer, so that one WRITE carries
 * both. */
static inline size_t verbs_payload_at(const struct verbs_grants *grants, size_t bytes)
{
    return (verbs_trailer_at(grants) - bytes) / VERBS_ALIGNMENT * VERBS_ALIGNMENT;
}

static inline size_t verbs_offers_at(void)
{
    return VERBS_CREDITS;
}

static inline size_t verbs_slots_at(const struct verbs_grants *grants)
{
    return VERBS_CREDITS + grants->offers * sizeof(struct verbs_offer);
}

static inline size_t verbs_staging_at(const struct verbs_grants *grants)
{
    return verbs_slots_at(grants) + grants->slots * verbs_slot_stride(grants);
}

static inline size_t verbs_block_bytes(const struct verbs_grants *grants)
{
    return verbs_staging_at(grants) + grants->slots * verbs_slot_stride(grants);
}

/* A value of 48 bits as a word that a peer writes, with 16 bits that check it: a NIC places 8
 * aligned bytes at once, but Soft-RoCE copies them one by one. A word of 0 holds nothing. */
static inline uint64_t verbs_word_check(uint64_t value)
{
    return (value + 1) * 0x9e3779b97f4a7c15u >> 48 << 48;
}

static inline uint64_t verbs_word_of(uint64_t value)
{
    return verbs_word_check(value) | value;
}

/* False: it holds nothing, or is not whole yet. */
static inline bool verbs_word_value(uint64_t word, uint64_t *value)
{
    *value = word & (((uint64_t)1 << 48) - 1);
    return word != 0 && word == verbs_word_of(*value);
}

/* Reads a word that a NIC writes: what was written before it by the same WRITE is visible. */
static inline uint64_t verbs_word_read(const void *at)
{
    return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

/* Empties a word that a NIC may write at the same time. */
static inline void verbs_word_clear(uint64_t *at)
{
    __atomic_store_n(at, 0, __ATOMIC_RELAXED);
}

#endif
