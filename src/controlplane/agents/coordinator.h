/*
 * coordinator.h - rank 0's view of a fleet: hosts with their agents, on which it runs small jobs side by
 * side, and which it outlives.
 *
 * A job is a command, and the agents whose workers are its ranks. A worker that dies, hangs or is
 * stopped costs its own job and nothing else. An agent that dies or falls silent takes its host out:
 * the caller gives that host no further job.
 */
#ifndef CCTEST_CONTROLPLANE_AGENTS_COORDINATOR_H
#define CCTEST_CONTROLPLANE_AGENTS_COORDINATOR_H

#include "controlplane/agents/agent.h"
#include "controlplane/agents/roster.h"

struct coordinator;

/* Waits until all agents have called and found their places. Those that have not within the
 * timeout are lost, and the others go on. STATUS_USAGE if they disagree; STATUS_INTERRUPTED. On
 * success *coordinator is the caller's, for coordinator_close(). */
enum status coordinator_open(const struct membership *membership, const struct agent_config *config,
                             struct coordinator **coordinator);

/* Its agents and hosts: owned by the fleet, which marks those that are lost. */
const struct roster *coordinator_roster(const struct coordinator *coordinator);

struct fleet_job {
    const char *command; /* for worker_main, at most COMMAND_MOST - 1 bytes */
    const int *
        agents; /* of rank 0, 1, ...; none is in two jobs of a run. A job with one that is lost ends at once */
    int ranks;
};

struct fleet_outcome {
    char *result;            /* what rank 0 of the job wrote, with a 0 behind it; NULL: nothing */
    size_t size;             /* bytes, without the 0 */
    struct worker_end *ends; /* of each rank */
};

/* While jobs run, about four times a second: how many have ended. */
typedef void coordinator_progress(void *argument, int ended, int count);

/* Runs jobs side by side, each for `seconds` at most. Returns when all their workers have ended, or
 * were lost; frees nothing. *outcomes: of each job, for coordinator_outcomes_free(), also after errors.
 * STATUS_INTERRUPTED: a signal came, and some ends are WORKER_LOST. */
enum status coordinator_run(struct coordinator *coordinator, const char *stage,
                            const struct fleet_job *jobs, int count, double seconds,
                            coordinator_progress *progress, void *argument,
                            struct fleet_outcome **outcomes);
void coordinator_outcomes_free(struct fleet_outcome *outcomes, int count);

/* Ends all agents with `status`, and frees the fleet. NULL is allowed. */
void coordinator_close(struct coordinator *coordinator, enum status status);

#endif
