/*
 * host_place.c - where a rank or a device stands in its host.
 */
#include "host/host.h"

struct host_place host_place_unknown(void)
{
    struct host_place place;
    for (int l = 0; l < PLACE_LEVELS; l++)
        place.at[l] = PLACE_UNKNOWN;
    return place;
}

int host_place_shared(const struct host_place *a, const struct host_place *b)
{
    int l = 0;
    while (l < PLACE_LEVELS && (a->at[l] == PLACE_UNKNOWN || a->at[l] != b->at[l]))
        l++;
    return l;
}

int host_place_compare(const struct host_place *a, const struct host_place *b)
{
    for (int l = PLACE_LEVELS - 1; l >= 0; l--)
        if (a->at[l] != b->at[l])
            return a->at[l] < b->at[l] ? -1 : 1;
    return 0;
}

void host_place_encode(const struct host_place *place, struct bytes *share)
{
    for (int l = 0; l < PLACE_LEVELS; l++)
        bytes_put_u32(share, place->at[l]);
}

void host_place_decode(struct host_place *place, struct reader *reader)
{
    for (int l = 0; l < PLACE_LEVELS; l++)
        place->at[l] = read_u32(reader);
}
