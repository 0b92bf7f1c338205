/*
 * roster.h - who belongs to a fleet, as rank 0 knows it: agents, their hosts, and which are lost.
 */
#ifndef CCTEST_CONTROLPLANE_AGENTS_ROSTER_H
#define CCTEST_CONTROLPLANE_AGENTS_ROSTER_H

#include "controlplane/control/join_request.h"
#include "controlplane/agents/messages.h"

/* A host, in the order of the first rank on each. */
struct fleet_host {
    char name[HOST_NAME_BYTES]; /* "": of a rank that never called */
    int *agents;                /* ranks of the fleet, ascending */
    int count;
    bool lost;
    bool silent;                  /* nothing says that it ended: it may be the way to it */
    bool forged;                  /* what came from it was changed on the way */
    int lost_agent;               /* the first one that was, */
    char why[160];                /* why: a clause whose subject is that agent, */
    char stage[STAGE_NAME_MOST];  /* and what ran; "": nothing */
    char doing[COMMAND_MOST / 4]; /* what its worker was ordered to do then; "": nothing */
};

enum presence { PRESENCE_ABSENT, PRESENCE_CALLED, PRESENCE_PRESENT, PRESENCE_LOST };

struct known_agent {
    enum presence presence;
    struct join_request request;
    struct address_list work; /* where its workers listen */
    int via;                  /* whose connection leads to it: its own rank, or its leader's */
    int host;                 /* index, once all have come */
    char why[160];            /* it was lost */
};

struct roster {
    int ranks, present, lost;
    struct known_agent *agents; /* by rank */
    int *leaders, leader_count;
    bool complete;  /* no agent joins any more, and the hosts are known */
    double stopped; /* seconds for which rank 0 did not turn, too long for the others; 0: never */
    struct fleet_host *hosts;
    int host_count;
    int *host_agents; /* of all hosts, one after the other */
};

/* With rank 0 present. STATUS_ERROR: out of memory, and nothing is to be freed. */
enum status roster_open(struct roster *roster, int ranks, const struct join_request *root,
                        const struct address_list *work);
void roster_close(struct roster *roster);

/* May the process with this request join? If not: a sentence, and the status. */
enum status roster_check(const struct roster *roster, const struct join_request *request, char *why,
                         size_t size);
/* Gives it a place, the same when it calls again: returns the leader that it is to go to; 0: it
 * stays connected to rank 0. */
int roster_place(struct roster *roster, const struct join_request *request);
/* It has arrived at its place. */
void roster_arrive(struct roster *roster, int rank, const struct address_list *work);

/* An agent is lost, with its host, and the agents that it leads. `stage`, `doing`: as in struct
 * fleet_host. */
void roster_lose(struct roster *roster, int rank, const char *why, const char *stage,
                 const char *doing);

/* No agent joins any more: those that are not at their places are lost (`why`). Numbers the hosts.
 */
enum status roster_complete(struct roster *roster, const char *why);

#endif
