/*
 * copy.c - how fast CUDA's runtime copies, within the memory of the first GPU, and from one GPU to
 * another.
 *
 * usage: copy BYTES REPEAT. A line for each way: "copy FROM TO RATE GB/s": bytes that are copied,
 * which are read once and written once; the best of REPEAT times. The other GPU is that of the
 * first pair whose GPUs reach each other's memory; without such a pair there is one line. Status
 * 77: no GPU can be used.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/parse.h"
#include "cuda_runtime_api.h"

#define COPIES 8 /* one behind the other, for each time: the launch and the wait count little */

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorName(error));
    exit(1);
}

/* Memory of the current GPU. */
static char *allocate(size_t bytes, cudaStream_t stream)
{
    void *base = NULL;
    must(cudaMalloc(&base, bytes), "cudaMalloc");
    must(cudaMemsetAsync(base, 0x5a, bytes, stream), "cudaMemsetAsync");
    must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return base;
}

static cudaStream_t stream_of(int device)
{
    cudaStream_t stream;
    must(cudaSetDevice(device), "cudaSetDevice");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return stream;
}

/* Prints the rate from the memory of `from` to that of `to`, other bytes if they are one GPU. The
 * first time is not counted. */
static void way_time(int from, int to, size_t bytes, int repeat)
{
    const cudaStream_t there = stream_of(to);
    char *destination = allocate(bytes, there);
    const cudaStream_t stream = stream_of(from);
    char *source = allocate(bytes, stream);
    uint64_t best = UINT64_MAX;
    for (int i = -1; i < repeat; i++) {
        const uint64_t begin = clock_ns();
        for (int c = 0; c < COPIES; c++)
            must(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, stream),
                 "cudaMemcpyAsync");
        must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        const uint64_t ns = clock_ns() - begin;
        if (i >= 0 && ns < best)
            best = ns;
    }
    printf("copy %d %d %.3f GB/s\n", from, to, (double)bytes * COPIES / (double)best);
    must(cudaFree(source), "cudaFree");
    must(cudaFree(destination), "cudaFree");
    must(cudaStreamDestroy(stream), "cudaStreamDestroy");
    must(cudaStreamDestroy(there), "cudaStreamDestroy");
}

static bool reaches(int device, int peer)
{
    int can = 0;
    must(cudaDeviceCanAccessPeer(&can, device, peer), "cudaDeviceCanAccessPeer");
    return can;
}

/* The first pair of GPUs that reach each other, if any. */
static bool pair_find(int devices, int pair[2])
{
    for (pair[0] = 0; pair[0] < devices; pair[0]++)
        for (pair[1] = pair[0] + 1; pair[1] < devices; pair[1]++)
            if (reaches(pair[0], pair[1]) && reaches(pair[1], pair[0]))
                return true;
    return false;
}

int main(int count, char **words)
{
    size_t bytes;
    int devices = 0, pair[2];
    const int repeat = count == 3 ? atoi(words[2]) : 0;
    if (repeat < 1 || size_parse(words[1], &bytes)) {
        fprintf(stderr, "usage: copy BYTES REPEAT\n");
        return 2;
    }
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0) {
        fprintf(stderr, "no GPU can be used: %s\n", cudaGetErrorName(error));
        return 77;
    }
    way_time(0, 0, bytes, repeat);
    if (!pair_find(devices, pair))
        return 0;
    for (int i = 0; i < 2; i++) {
        must(cudaSetDevice(pair[i]), "cudaSetDevice");
        must(cudaDeviceEnablePeerAccess(pair[!i], 0), "cudaDeviceEnablePeerAccess");
    }
    way_time(pair[0], pair[1], bytes, repeat);
    way_time(pair[1], pair[0], bytes, repeat);
    return 0;
}
