/*
 * profile.c - from one iteration's cycles to the shares of all of them.
 */
#include "memory/profile.h"

void profile_open(struct profile *profile)
{
    if (!profile)
        return;
    for (int a = 0; a < ACTIVITIES; a++)
        profile->cycles[a] = 0;
    profile->now = PROFILE_BOOKKEEPING;
    profile->starved = false;
    profile->last = profile_clock();
}

void profile_close(struct profile *profile)
{
    if (!profile)
        return;
    profile->cycles[profile->now] += profile_clock() - profile->last;
    double total = 0;
    for (int a = 0; a < ACTIVITIES; a++)
        total += (double)profile->cycles[a];
    for (int a = 0; a < ACTIVITIES && total > 0; a++)
        profile->shares[a] += (double)profile->cycles[a] / total;
}
