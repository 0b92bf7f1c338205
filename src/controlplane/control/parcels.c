/*
 * parcels.c - what a rank sends to each of some peers, or gets from each: bytes of one size.
 */
#include "controlplane/control/internal.h"

#include <string.h>

#define RUN_HEAD 12 /* bytes in front of a run: its first peer, how many they are, whether alike */

/* Of how many parcels from the first one do the peers follow each other, with the same bytes? */
static int parcels_alike(const struct parcel *parcels, int count, size_t each)
{
    int alike = 1;
    while (alike < count && parcels[alike].peer == parcels[0].peer + alike &&
           (each == 0 || memcmp(parcels[alike].data, parcels[0].data, each) == 0))
        alike++;
    return alike;
}

/* Are so many parcels shorter as a run of their own? */
static bool is_worth_a_run(int alike, size_t each)
{
    return (size_t)(alike - 1) * each > 2 * RUN_HEAD; /* one cut may make two heads */
}

static void run_encode(const struct parcel *parcels, int count, bool alike, size_t each,
                       struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)parcels[0].peer);
    bytes_put_u32(bytes, (uint32_t)count);
    bytes_put_u32(bytes, alike);
    for (int i = 0; i < (alike ? 1 : count); i++)
        bytes_put(bytes, parcels[i].data, each);
}

void parcels_encode(const struct parcel *parcels, int count, size_t each, struct bytes *bytes)
{
    if (count > 0)
        bytes_put_u32(bytes, (uint32_t)each);
    for (int first = 0, end; first < count; first = end) {
        int alike = parcels_alike(parcels + first, count - first, each);
        bool is_run = is_worth_a_run(alike, each);
        end = first + alike;
        while (!is_run && end < count && parcels[end].peer == parcels[end - 1].peer + 1) {
            alike = parcels_alike(parcels + end, count - end, each);
            if (is_worth_a_run(alike, each))
                break;
            end += alike;
        }
        run_encode(parcels + first, end - first, is_run, each, bytes);
    }
}

/* Reads the head of the next run; false: it is invalid, or (left 0) there is none. */
static bool run_begin(struct parcels *parcels)
{
    struct reader *rest = &parcels->rest;
    parcels->left = 0;
    if (rest->left == 0)
        return !rest->bad;
    uint32_t first = read_u32(rest), count = read_u32(rest), alike = read_u32(rest);
    parcels->next = (struct parcel){(int)first, rest->at};
    parcels->alike = alike == 1;
    if (rest->bad || first > INT32_MAX || count == 0 || count > INT32_MAX - first || alike > 1)
        return false;
    if (!alike && parcels->each > 0 && count > rest->left / parcels->each)
        return false;
    parcels->left = (int)count;
    return read_bytes(rest, parcels->each * (alike ? 1 : count)) != NULL;
}

bool parcels_decode(const void *data, size_t size, int rank, int ranks, struct parcels *parcels)
{
    *parcels = (struct parcels){.rest = {.at = data, .left = size}};
    if (size == 0)
        return true;
    parcels->each = read_u32(&parcels->rest);
    struct parcels walk = *parcels;
    int last = -1;
    for (;;) {
        if (!run_begin(&walk))
            return false;
        if (walk.left == 0)
            break;
        int first = walk.next.peer, behind = first + walk.left;
        if (first <= last || behind > ranks || (first <= rank && rank < behind))
            return false;
        parcels->count += walk.left;
        last = behind - 1;
    }
    return run_begin(parcels) && parcels->count > 0;
}

bool parcels_take(struct parcels *parcels, struct parcel *parcel)
{
    if (parcels->left == 0)
        return false;
    *parcel = parcels->next;
    parcels->next.peer++;
    if (!parcels->alike)
        parcels->next.data += parcels->each;
    if (--parcels->left == 0)
        run_begin(parcels);
    return true;
}

void parcels_rebase(struct parcels *parcels, const unsigned char *to)
{
    parcels->rest.at = to + (parcels->rest.at - parcels->next.data);
    parcels->next.data = to;
}
