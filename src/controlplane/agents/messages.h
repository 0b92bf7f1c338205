/*
 * messages.h - the content of a fleet's frames: encoded and decoded.
 *
 * As controlplane/control/messages.h: pure; each *_decode() returns false unless the bytes are exactly one
 * message that an agent of this fleet may have written.
 */
#ifndef CCTEST_CONTROLPLANE_AGENTS_MESSAGES_H
#define CCTEST_CONTROLPLANE_AGENTS_MESSAGES_H

#include "base/bytes.h"
#include "base/net/address.h"

#define STAGE_NAME_MOST 32
#define COMMAND_MOST    4096 /* bytes of a worker's command line, with its 0 */
#define TAIL_MOST       1500 /* bytes of the last lines on a worker's standard error, with the 0 */

/* ORDER: which rank of which job an agent's next worker is. */
struct order {
    int agent;                   /* that it is for */
    char stage[STAGE_NAME_MOST]; /* for sentences */
    uint32_t number;             /* of the stage's run; an agent has one worker in each */
    uint32_t job;                /* of that run */
    int rank, ranks;             /* the worker's, in the job */
    char root_host[64];          /* of the agent whose worker is rank 0 of the job, */
    struct address_list root;    /* and where that listens */
    double seconds;              /* until the agent ends the worker */
    char command[COMMAND_MOST];
};
void order_encode(const struct order *order, struct bytes *bytes);
bool order_decode(const void *data, size_t size, struct order *order);

/* CANCEL: whom it is for, and the number of the run whose worker is to end. */
void cancel_encode(int agent, uint32_t number, struct bytes *bytes);
bool cancel_decode(const void *data, size_t size, uint32_t *number);

/* Of both: whom it is for; -1: invalid. */
int message_agent(const void *data, size_t size);

/* How a worker ended. */
enum worker_fate {
    WORKER_EXITED,   /* by itself, with `code` */
    WORKER_SIGNALED, /* by signal `code`, which its agent did not send */
    WORKER_LATE,     /* its agent ended it when its time was over */
    WORKER_STUCK,    /* likewise, and the kernel has not ended it yet */
    WORKER_UNBORN,   /* it could not be started: errno `code` */
    WORKER_LOST,     /* its agent was lost */
    WORKER_FATES
};

struct worker_end {
    enum worker_fate fate;
    int code;
    char state;     /* as host_process_state(), of one that was late, before its end; else 0 */
    double seconds; /* that it ran */
    char tail[TAIL_MOST]; /* of its standard error */
};

/* REPORT: the end of a worker, and what it wrote to its result, which points into `data`. */
struct report_message {
    uint32_t number, job;
    struct worker_end end;
    const unsigned char *result;
    size_t size;
};
void report_message_encode(const struct report_message *report, struct bytes *bytes);
bool report_message_decode(const void *data, size_t size, struct report_message *report);

#endif
