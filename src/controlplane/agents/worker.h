/*
 * worker.h - the process that an agent forks for one stage: started, watched and ended.
 *
 * The agent never waits for it. A worker that dies, hangs or is stopped costs its agent nothing: at
 * the end of its time the agent ends it, first with SIGTERM, so that it can say what it waits for.
 */
#ifndef CCTEST_CONTROLPLANE_AGENTS_WORKER_H
#define CCTEST_CONTROLPLANE_AGENTS_WORKER_H

#include <poll.h>
#include <sys/types.h>

#include "controlplane/bootstrap/bootstrap_options.h"
#include "controlplane/control/membership.h"
#include "controlplane/agents/messages.h"

/* What a worker does, in its own process: runs `command` as the rank that `membership` names, and
 * writes what its agent is to bring to rank 0 of the fleet to the descriptor `result`, a pipe; of an
 * ordinary job only rank 0 has any. `argument` is the agent's. Returns the exit status. */
typedef enum status worker_main(const struct membership *membership, const char *command,
                                int result, void *argument);

/* What all agents are given. */
struct agent_config {
    const char *options; /* canonical text of everything that all agents must agree on */
    const struct bootstrap_options *bootstrap;
    worker_main *work;
    void *work_argument;
};

enum worker_state {
    WORKER_NONE,
    WORKER_RUNS,
    WORKER_WARNED, /* its time is over: SIGTERM was sent */
    WORKER_KILLED, /* SIGKILL was sent */
    WORKER_ENDED   /* `end` says how; all it wrote has been read */
};

struct worker {
    enum worker_state state;
    uint32_t number, job; /* of its order */
    pid_t pid;            /* 0: reaped, or not started */
    int result, error;    /* read ends of pipes; -1: closed */
    struct bytes written; /* to its result */
    double began, until;  /* seconds of the agent's clock */
    double reaped;        /* when it was; 0: not yet */
    struct worker_end end;
};

#define WORKER_POLLS 2
#define WORKER_RESULT_MOST                                                                         \
    ((size_t)32 << 20) /* bytes; what is more is lost, and the worker fails */

/* Forks a worker for an order. In the child, `leave` closes what only the agent needs; the child
 * keeps membership->listeners. `membership`: of the worker. If it cannot be started, it has ended
 * with WORKER_UNBORN. */
void worker_start(struct worker *worker, const struct order *order,
                  const struct membership *membership, const struct agent_config *config,
                  void (*leave)(void *argument), void *argument, double now);
/* Fills WORKER_POLLS entries. */
void worker_watch(const struct worker *worker, struct pollfd *set);
/* After poll(), and at least ten times a second: reads, reaps, and ends a worker whose time is over.
 */
void worker_serve(struct worker *worker, double now);
/* When worker_serve() has something to do; infinity: when a descriptor is ready. */
double worker_due(const struct worker *worker);
/* Kills it; its end is not reported. */
void worker_abandon(struct worker *worker);

#endif
