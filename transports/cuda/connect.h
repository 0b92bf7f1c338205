/*
 * connect.h - makes the channels of the cuda transport.
 */
#ifndef CCTEST_TRANSPORTS_CUDA_CONNECT_H
#define CCTEST_TRANSPORTS_CUDA_CONNECT_H

#include "transports/cuda/cuda.h"

#define PULL_EXCHANGES 2 /* of a connect() */

/* As transport.connect(). */
enum status pull_connect(struct endpoint *base, const int *ranks, int count, int lanes);

#endif
