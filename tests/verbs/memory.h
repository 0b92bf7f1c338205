/*
 * memory.h - registered memory: keys, bounds and rights.
 */
#ifndef CCTEST_TEST_VERBS_MEMORY_H
#define CCTEST_TEST_VERBS_MEMORY_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct strict_mr;

/* Where [address, address + length) of the region with this key lies here, or NULL: *why says what
 * is wrong. access: the rights that are needed. `remote`: the key is an rkey. */
char *memory_reach(const struct ibv_pd *pd, uint32_t key, bool remote, uint64_t address,
                   uint64_t length, int access, struct strict_mr **region, const char **why);

/* The region of an lkey, which was checked before; NULL: it is gone. */
struct strict_mr *memory_of(uint32_t key);

/* A WRITE to this key has been delivered. */
void memory_delivered(uint32_t key, uint64_t address, uint64_t length);

/* The checksum of the bytes of all entries, in their order. */
uint64_t memory_checksum(const struct ibv_sge *sges, int count);

#endif
