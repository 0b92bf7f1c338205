/*
 * channel_count.c - how many channels a line of the table has.
 *
 * The host moves the slices of all channels itself, so more channels give it more operations and
 * nothing else. On a device each channel is a block of threads that works beside the others.
 */
#include "run/run.h"

/* A block of 512 threads copies or combines 8 KiB in one pass, 16 bytes a thread, and a handover to
 * a peer takes it about as long as a few passes. A channel with fewer bytes than these waits for
 * peers most of the time, and further blocks only wait beside it. NCCL cuts by the same measure:
 * 64 bytes for each of the 512 threads of a channel. */
#define DEVICE_CHANNEL_LEAST ((size_t)32 << 10)

int channel_count_host(const struct job *job)
{
    return job->channels == CHANNELS_AUTO ? 1 : job->channels;
}

int channel_count_device(const struct job *job, size_t bytes, int most)
{
    int count = 1;
    if (job->channels != CHANNELS_AUTO)
        return job->channels;
    while (2 * count <= most && bytes / DEVICE_CHANNEL_LEAST >= 2 * (size_t)count)
        count *= 2;
    return count;
}
