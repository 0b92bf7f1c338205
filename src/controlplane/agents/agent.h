/*
 * agent.h - what every process of a fleet is: it listens, forks workers, and watches connections.
 *
 * An agent is one thread, which never touches data, a GPU or a NIC, and never waits for anything but
 * poll(). So no fault of a device takes it away. Rank 0 is the coordinator (coordinator.h). The first
 * agent of every other host that calls rank 0 leads its host: it stays connected to rank 0, which
 * sends the other agents of the host to it (follower.h). So rank 0 talks to hosts.
 *
 *     rank 0 -- leader -- agents of its host
 *            -- leader -- ...
 *            -- agents of rank 0's own host
 */
#ifndef CCTEST_CONTROLPLANE_AGENTS_AGENT_H
#define CCTEST_CONTROLPLANE_AGENTS_AGENT_H

#include "controlplane/control/children.h"
#include "controlplane/control/join_request.h"
#include "controlplane/agents/worker.h"
#include "base/net/acceptor.h"
#include "base/net/connector.h"

#define FLEET_PURPOSE "fleet" /* of connections (handshake.h); their hellos are join requests */

struct agent;

/* What rank 0 and the other agents do differently. */
struct agent_ops {
    /* A process that knows the secret has connected: takes its wire. */
    void (*admit)(struct agent *agent, struct wire *wire, const struct join_request *request);
    struct child_link_ops below; /* frames and losses of connections; their argument is the agent */
    /* The worker has ended: its REPORT. */
    void (*reported)(struct agent *agent, const struct bytes *report);
    /* The connection towards rank 0; NULL at rank 0. watch() fills AGENT_UPLINK_POLLS entries. */
    void (*watch)(struct agent *agent, struct pollfd *set);
    void (*serve)(struct agent *agent, const struct pollfd *set);
    void (*leave)(struct agent *agent); /* in a worker: closes it; NULL at rank 0 */
};
#define AGENT_UPLINK_POLLS 2

struct agent {
    const struct agent_ops *ops;
    const struct membership *membership;
    const struct agent_config *config;
    struct join_request request; /* its own */
    struct listeners listeners;  /* for other agents; `request` has their addresses */
    struct listeners work;       /* for the ranks of a job whose rank 0 is its worker, */
    struct address_list work_home;
    struct acceptor acceptor;
    _Atomic uint64_t rejected;
    struct child_links below;
    struct worker worker;
    struct pollfd *polls;
    int polls_room;
    int signals;      /* a signalfd */
    int signal;       /* that came, and ends the run; 0: none */
    double silence;   /* seconds without a word after which an agent counts as lost */
    double heartbeat; /* seconds between two of its own words */
    double now;   /* seconds at this turn; stands still while the process gets no core, so that */
    double stood; /* others are not taken for silent then: so many seconds in all */
};

/* Opens an agent in place. Rank 0 listens where its membership says. On success the caller calls
 * agent_close(). All pointers outlive it. */
enum status agent_open(struct agent *agent, const struct agent_ops *ops,
                       const struct membership *membership, const struct agent_config *config);
/* Kills the worker, and closes all. */
void agent_close(struct agent *agent);

/* Waits for `seconds` at most, and serves whatever is ready. False: out of memory. */
bool agent_turn(struct agent *agent, double seconds);

/* Starts the worker of an order; one that still runs is killed. */
void agent_obey(struct agent *agent, const struct order *order);

/* Ends the worker of that run, if it is still there: its time is over. */
void agent_cancel(struct agent *agent, uint32_t number);

/* Why an agent is lost whose connection ended so: a clause whose subject is the agent. */
const char *agent_link_end(enum link_end end);

/* Takes the socket of a connector that is done. */
void agent_take(struct connector *call, struct wire *wire);

#endif
