/*
 * rank_set.c - the sets of ranks that a hypothesis is about.
 */
#include "run/check/check.h"

/* A rank's place among the 2^k that take part after the first ranks were folded in pairs. */
static int folded_place(int rank, int ranks)
{
    int power = 1;
    while (power <= ranks / 2)
        power *= 2;
    int rest = ranks - power;
    return rank < 2 * rest ? rank / 2 : rank - rest;
}

bool rank_set_has(const struct rank_set *set, int rank, int ranks)
{
    bool has = false;
    switch (set->shape) {
    case SET_INTERVAL:
        has = (rank - set->first + ranks) % ranks < set->length;
        break;
    case SET_CLASS:
        has = rank % set->modulus == set->first;
        break;
    case SET_FOLDED:
        has = folded_place(rank, ranks) % set->modulus == set->first;
        break;
    }
    return has != set->inverted;
}

int rank_set_size(const struct rank_set *set, int ranks)
{
    if (set->shape == SET_INTERVAL)
        return set->inverted ? ranks - set->length : set->length;
    int size = 0;
    for (int rank = 0; rank < ranks; rank++)
        size += rank_set_has(set, rank, ranks);
    return size;
}

int rank_set_first(const struct rank_set *set, int ranks, bool in)
{
    int rank = 0;
    while (rank < ranks - 1 && rank_set_has(set, rank, ranks) != in)
        rank++;
    return rank;
}

bool rank_set_within(const struct rank_set *inner, const struct rank_set *outer, int ranks)
{
    bool intervals = inner->shape == SET_INTERVAL && outer->shape == SET_INTERVAL;
    if (intervals && !inner->inverted && !outer->inverted) {
        int offset = (inner->first - outer->first + ranks) % ranks;
        return offset + inner->length <= outer->length;
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (rank_set_has(inner, rank, ranks) && !rank_set_has(outer, rank, ranks))
            return false;
    }
    return true;
}
