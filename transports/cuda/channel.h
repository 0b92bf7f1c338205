/*
 * channel.h - the data path: cells that refer to bytes, and steps that read them.
 */
#ifndef CCTEST_TRANSPORTS_CUDA_CHANNEL_H
#define CCTEST_TRANSPORTS_CUDA_CHANNEL_H

#include "transports/cuda/cuda.h"

/* Sending: learns what the peer has read, and publishes what it may read. */
enum status pull_channel_send(struct pull_channel *channel);

/* Receiving: gives the engine what the peer has published; and, after the engine has made progress,
 * tells what is done. */
enum status pull_channel_begin(struct pull_channel *channel);
void pull_channel_end(struct pull_channel *channel);

/* As transport.wait_stats(): a link is busy while a step of the receiver reads its bytes. */
void pull_wait_stats(const struct channel *base, struct wait_stats *wait_stats);

#endif
