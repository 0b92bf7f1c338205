/*
 * hearing.c - how long rank 0 of a fleet was silent for an agent that ran and listened.
 */
#include "controlplane/agents/agents.h"

#include <math.h>

#define LOOKED_SECONDS 0.1 /* or a heartbeat: an agent that looked earlier did not listen */
#define SETTLE_SECONDS 0.1 /* until the thread of the watch has noted what it slept through */

void hearing_word(struct hearing *hearing, double now, uint64_t stopped_us, double heartbeat)
{
    double silence = hearing->word_at > 0 ? now - hearing->word_at : 0;
    bool looked = now - hearing->idle_at < fmax(LOOKED_SECONDS, heartbeat);
    if (looked && silence >= fmax(UNHEARD_LEAST, UNHEARD_BEATS * heartbeat)) {
        if (hearing->silence <= 0)
            hearing->began_stopped = hearing->word_stopped;
        hearing->silence += silence;
        hearing->silence_ended = now;
    }
    hearing->word_at = now;
    hearing->word_stopped = stopped_us;
}

void hearing_count(struct hearing *hearing, double now, uint64_t stopped_us, struct host_gaps *gaps)
{
    if (hearing->silence <= 0 || now - hearing->silence_ended < SETTLE_SECONDS)
        return;
    double ran = hearing->silence - (double)(stopped_us - hearing->began_stopped) * 1e-6;
    hearing->silence = 0;
    if (ran < UNHEARD_LEAST)
        return;
    gaps->unheard++;
    gaps->unheard_us += (uint64_t)(ran * 1e6);
}
