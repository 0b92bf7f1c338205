/*
 * channel_count.h - how many channels a line of the table has.
 */
#ifndef CCTEST_RUN_CHANNEL_COUNT_H
#define CCTEST_RUN_CHANNEL_COUNT_H

#include "run/job.h"

/* Of lines that the host runs: --channels; auto: 1. */
int channel_count_host(const struct job *job);

/* Of lines of `bytes` bytes (as tables print them) that devices run: --channels; auto: by the
 * bytes, at most `most`, a power of two. */
int channel_count_device(const struct job *job, size_t bytes, int most);

#endif
