/*
 * parcels.h - what stands in for the control plane's exchange between peers (exchange.h) where the
 * ranks are threads of a test.
 *
 * Each rank waits for its own peers only, so the others need not take part.
 */
#ifndef CCTEST_TEST_PARCELS_H
#define CCTEST_TEST_PARCELS_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/tick.h"

#define PARCEL_RANKS_MOST 8

struct parcel {
    struct parcel *next;
    size_t size;
    char data[];
};

/* By sender and receiver, in order: a rank may be in its next exchange already. */
struct parcel_office {
    pthread_mutex_t lock;
    struct parcel *waiting[PARCEL_RANKS_MOST][PARCEL_RANKS_MOST];
};

static inline void parcel_send(struct parcel_office *office, int from, int to, const void *data,
                               size_t size)
{
    struct parcel *parcel = malloc(sizeof(*parcel) + size), **end = &office->waiting[from][to];
    if (!parcel)
        abort();
    parcel->next = NULL;
    parcel->size = size;
    if (size > 0)
        memcpy(parcel->data, data, size);
    pthread_mutex_lock(&office->lock);
    while (*end)
        end = &(*end)->next;
    *end = parcel;
    pthread_mutex_unlock(&office->lock);
}

/* The next one, which is the caller's to free; NULL: none has come. */
static inline struct parcel *parcel_take(struct parcel_office *office, int from, int to)
{
    pthread_mutex_lock(&office->lock);
    struct parcel *parcel = office->waiting[from][to];
    if (parcel)
        office->waiting[from][to] = parcel->next;
    pthread_mutex_unlock(&office->lock);
    return parcel;
}

static inline enum status parcel_receive(struct parcel_office *office, const struct tick *tick,
                                         int from, int to, void *data, size_t size)
{
    struct parcel *parcel;
    while (!(parcel = parcel_take(office, from, to))) {
        enum tick_answer answer = tick_wait(tick, from);
        if (answer == TICK_LATE)
            return fail_peer(REASON_PEER_LATE, from, "rank %d exchanges nothing with rank %d", from,
                             to);
        if (answer == TICK_ENDED)
            return fail(STATUS_ERROR, "the job has ended");
        usleep(200);
    }
    bool same = parcel->size == size;
    if (same && size > 0)
        memcpy(data, parcel->data, size);
    free(parcel);
    return same ? STATUS_OK
                : fail_peer(REASON_PEER_INVALID, from, "rank %d sent another size", from);
}

/* As peer_exchange.call, of `rank`. */
static inline enum status parcels_exchange(struct parcel_office *office, const struct tick *tick,
                                           int rank, const int *peers, int count, const void *mine,
                                           size_t each, void *theirs)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < count; i++)
        parcel_send(office, rank, peers[i], (const char *)mine + (size_t)i * each, each);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status =
            parcel_receive(office, tick, peers[i], rank, (char *)theirs + (size_t)i * each, each);
    return status;
}

static inline void parcel_office_open(struct parcel_office *office)
{
    *office = (struct parcel_office){0};
    pthread_mutex_init(&office->lock, NULL);
}

/* Frees parcels that were not received. */
static inline void parcel_office_close(struct parcel_office *office)
{
    for (int from = 0; from < PARCEL_RANKS_MOST; from++) {
        for (int to = 0; to < PARCEL_RANKS_MOST; to++) {
            struct parcel *parcel;
            while ((parcel = parcel_take(office, from, to)))
                free(parcel);
        }
    }
    pthread_mutex_destroy(&office->lock);
}

#endif
