/*
 * fabric.h - what the files of the provider share: its objects, its one lock, its settings.
 *
 * The fabric is the machine, so it is global. fabric.lock guards all of it, except the words that
 * are atomic.
 */
#ifndef CCTEST_TEST_VERBS_FABRIC_H
#define CCTEST_TEST_VERBS_FABRIC_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "fault.h"
#include "provider.h"
#include "race.h"

#define HOSTS_MOST   64
#define DEVICES_MOST 8
#define PORTS_MOST   2
#define BUCKETS      1024
#define NEVER        UINT64_MAX

struct strict_device {
    struct ibv_device base;
    int host, number;
    uint64_t guid;
    bool fatal;
    struct strict_context *cm;                         /* librdmacm's own */
    uint16_t cm_ports[PORTS_MOST][PROVIDER_GIDS_MOST]; /* automatic ones so far, by address */
    struct provider_port ports[PORTS_MOST];
};

struct strict_event {
    struct strict_event *next;
    struct ibv_async_event event;
};

struct strict_context {
    struct strict_context *next;
    struct strict_device *device;
    int objects[4]; /* open, by enum object_kind */
    uint64_t pinned, pairs;
    struct strict_event *events;
    int unacknowledged;
    struct verbs_context verbs; /* the last, as its own last member is what the user holds */
};

enum object_kind { OBJECT_PD, OBJECT_CQ, OBJECT_SRQ, OBJECT_QP };

struct strict_pd {
    struct ibv_pd base;
    int users;
};

/* Bytes of a region. */
struct byte_range {
    uint64_t at, bytes;
};

struct device_memory {
    struct device_memory *next;
    char *base;
    size_t bytes;
    int file;
    uint64_t offset;
};

struct strict_mr {
    struct ibv_mr base;
    uint64_t iova;
    char *data; /* where iova lies here */
    int access;
    int users;    /* requests that name it and are not complete */
    bool mapped;  /* from a descriptor: device memory */
    char *unseen; /* flush=1: what is written goes here first; else NULL */
    struct byte_range *ranges;
    size_t range_count, range_room; /* that were delivered, and are not flushed */
    char race;                      /* what was done to it is known to whoever deregisters it */
};

/* A completion, withheld until `ready`. */
struct strict_completion {
    struct strict_completion *next;
    struct ibv_wc wc;
    uint64_t ready;
    struct strict_qp *qp;
    uint64_t frees; /* requests of the send queue that are complete with it, counted from the first;
                       0: a receive */
    char race;
};

struct strict_cq {
    struct ibv_cq base;
    int users;
    int held; /* completions that are not polled yet */
    struct strict_completion *first;
    _Atomic uint64_t ready; /* of the first; NEVER: there is none */
    int unacknowledged;
};

struct strict_receive {
    uint64_t id;
    int sge_count;
    struct ibv_sge *sges;
};

struct receive_queue {
    struct strict_receive *slots;
    struct ibv_sge *sges;
    uint32_t depth, sge_most;
    uint64_t posted, taken;
};

struct strict_srq {
    struct ibv_srq base;
    int users, unacknowledged;
    struct receive_queue queue;
};

/* A send, from post to the poll that completes it. */
struct strict_request {
    struct strict_request *next;
    uint64_t id, number; /* number: counted in its queue pair */
    enum ibv_wr_opcode opcode;
    bool signaled, copied; /* copied: `data` holds the source */
    bool early;            /* iWARP: complete before delivery */
    bool begun;            /* its pieces are decided */
    uint32_t immediate, rkey;
    uint64_t remote, length, checksum;
    enum ibv_wc_status forced; /* fails with it */
    uint64_t due;              /* not before, in ns */
    uint64_t since;            /* the first try without an answer; 0: none */
    int rnr;                   /* tries that found no receive */
    uint64_t pieces, placed, piece_bytes, stride, start;
    char *data;
    char race;
    int sge_count;
    struct ibv_sge sges[];
};

struct strict_qp {
    struct ibv_qp base;
    struct strict_qp *next; /* of those in its bucket */
    struct ibv_qp_cap cap;
    bool signals_all, active;
    bool established; /* a message has come */
    bool waits;       /* iWARP: it accepted, and sends only after it got something */
    int unacknowledged;
    struct ibv_qp_attr attr;
    struct receive_queue receives;                 /* without a shared one */
    struct strict_request *first, *last;           /* not delivered */
    struct strict_request *sent_first, *sent_last; /* delivered, completion not polled */
    uint64_t posted, freed;                        /* requests */
    uint64_t send_ready, receive_ready;            /* of its last completions */
    void *fiber;
};

/* A port that has failed a request, and will say so. */
struct dying_port {
    struct strict_device *device; /* NULL: none */
    int number;
    uint64_t at;
};

struct fabric {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic int waiting;    /* threads that want the lock */
    bool started, sleeping; /* the wire */
    bool added;             /* to `active`, since the wire began its pass */
    struct provider_config config;
    uint64_t random;
    struct strict_device *devices; /* of all hosts: host * config.devices + number */
    int hosts_dealt;
    struct strict_context *contexts;
    struct strict_qp *pairs[BUCKETS]; /* by number */
    uint32_t pair_number;
    struct strict_qp **active; /* have something to deliver */
    _Atomic size_t active_count;
    size_t active_room;
    struct strict_id *ids;            /* of librdmacm */
    struct strict_cm_event *cm_taken; /* its events that are not acknowledged */
    int channels;
    struct device_memory *device_memory;
    struct strict_mr **regions; /* by key >> 8 */
    uint32_t region_count;
    struct fault_counts faults;
    struct dying_port dying;
    struct provider_counts counts;
};

extern struct fabric fabric;

/* Every call into the provider runs between these. The first reads the settings. */
void fabric_enter(void);
void fabric_leave(void);
/* Called in front of it by what destroys something: counts it, and takes as long as is asked. */
void fabric_count_destroyed(void);

uint64_t fabric_now(void);              /* ns */
uint64_t fabric_random(uint64_t below); /* 0 .. below - 1 */
void *fabric_allocate(size_t bytes);    /* zeros; aborts if there is no memory */
/* Prints the sentence, counts it and aborts if the settings say so. */
void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline struct strict_context *context_of(struct ibv_context *context)
{
    return (struct strict_context *)((char *)context -
                                     offsetof(struct strict_context, verbs.context));
}

static inline struct strict_device *device_of(struct ibv_context *context)
{
    return context_of(context)->device;
}

#endif
