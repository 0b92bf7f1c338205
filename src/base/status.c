/*
 * status.c - the statuses in order of gravity, with their words.
 */
#include "base/status.h"

#include <stddef.h>

static const struct {
    enum status status;
    const char *word;
} gravity[] = {
    /* The worst first. */
    {STATUS_INTERRUPTED, "interrupted"},
    {STATUS_TIMEOUT, "timeout"},
    {STATUS_ERROR, "error"},
    {STATUS_UNAVAILABLE, "unavailable"},
    {STATUS_USAGE, "usage"},
    {STATUS_WRONG_DATA, "wrong-data"},
    {STATUS_SLOW, "slow"},
    {STATUS_OK, "ok"},
};

static size_t gravity_index(enum status status)
{
    size_t i = 0;
    while (gravity[i].status != status && gravity[i].status != STATUS_OK)
        i++;
    return i;
}

enum status status_worse(enum status a, enum status b)
{
    return gravity_index(a) < gravity_index(b) ? a : b;
}

bool status_is_whole(enum status status)
{
    return status == STATUS_OK || status == STATUS_WRONG_DATA || status == STATUS_SLOW;
}

enum status status_of(long value)
{
    for (size_t i = 0; i < sizeof gravity / sizeof gravity[0]; i++)
        if (value == (long)gravity[i].status)
            return gravity[i].status;
    return STATUS_ERROR;
}

const char *status_word(enum status status)
{
    return gravity[gravity_index(status)].word;
}
