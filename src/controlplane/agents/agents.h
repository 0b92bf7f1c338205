/*
 * agents.h - the interface of controlplane/agents/.
 */
#ifndef CCTEST_CONTROLPLANE_AGENTS_AGENTS_H
#define CCTEST_CONTROLPLANE_AGENTS_AGENTS_H

#include <poll.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/net/net.h"
#include "base/run_watch.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "controlplane/control/control.h"
#include "dataplane/transport/transport.h"
#include "host/facts/facts.h"
#include "host/host.h"

/* ---- The content of a fleet's frames: encoded and decoded.
 *
 * As controlplane/control/control.h: pure; each *_decode() returns false unless the bytes are
 * exactly one message that an agent of this fleet may have written.
 * ---- */

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

/* LOST: an agent is; why, a clause, and whether its process or its connection ended. */
struct loss_message {
    char why[160];
    bool ended;
};
void loss_encode(const struct loss_message *loss, struct bytes *bytes);
bool loss_decode(const void *data, size_t size, struct loss_message *loss);

/* The agent that an ORDER or a CANCEL is for; -1: invalid. */
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

/* Gaps at a host, noted by its leader since it has its place, or by rank 0 since all have: how
 * often, and microseconds in all. */
struct host_gaps {
    uint64_t stops, stopped_us;   /* its agent did not run, for STOPPED_LEAST at least */
    uint64_t unheard, unheard_us; /* it ran, and rank 0 was silent for UNHEARD_LEAST at least */
};
#define STOPPED_PAUSE 0.01 /* seconds between two looks */
#define STOPPED_LEAST 0.2  /* seconds: on a busy core a process waits for a tenth */
#define UNHEARD_LEAST 0.25 /* seconds, and UNHEARD_BEATS heartbeats of rank 0 */
#define UNHEARD_BEATS 5

/* How an agent hears rank 0. All zero: it has heard no word. Times by clock_seconds();
 * `stopped_us`: microseconds that the agent did not run so far, by its watch. */
struct hearing {
    double word_at;            /* when the last word came; 0: none */
    double idle_at;            /* when the agent last looked, and found no word */
    uint64_t word_stopped_us;  /* stopped_us when the last word came */
    double silence;            /* seconds that have ended, and are not counted yet */
    double silence_ended;      /* the last of them */
    uint64_t began_stopped_us; /* stopped_us before the first of them */
};

/* A word has come; rank 0 says one each `heartbeat` seconds. The silence before it counts if the
 * agent had looked for one a moment ago. */
void hearing_word(struct hearing *hearing, double now, uint64_t stopped_us, double heartbeat);

void hearing_idle(struct hearing *hearing, double now); /* The agent looked, and found no word. */

/* Adds a silence to `gaps` when the watch has had the time to note what the process slept through:
 * so much of it as the process ran. */
void hearing_count(struct hearing *hearing, double now, uint64_t stopped_us,
                   struct host_gaps *gaps);

/* HEARTBEAT. From rank 0, and to the agents below: the seconds between two of them. To rank 0: the
 * gaps at the host. */
void beat_encode(double seconds, struct bytes *bytes);
bool beat_decode(const void *data, size_t size, double *seconds);
void gaps_encode(const struct host_gaps *gaps, struct bytes *bytes);
bool gaps_decode(const void *data, size_t size, struct host_gaps *gaps);

/* ---- The process that an agent forks for one stage: started, watched and ended.
 *
 * The agent never waits for it. A worker that dies, hangs or is stopped costs its agent nothing: at
 * the end of its time the agent ends it, first with SIGTERM, so that it can say what it waits for.
 * ---- */

/* A worker's main function, in its own process: runs `command` as the rank that `membership` names,
 * and writes what its agent is to bring to rank 0 of the fleet to the descriptor `result`, a pipe;
 * of an ordinary job only rank 0 has any. `argument` is the agent's. Returns the exit status. */
typedef enum status worker_main(const struct membership *membership, const char *command,
                                int result, void *argument);

/* The configuration that all agents are given. */
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

/* Forks a worker for an order; true: this is the child, in which worker->result and worker->error
 * are the write ends. If it cannot be started, it has ended with WORKER_UNBORN. */
bool worker_fork(struct worker *worker, const struct order *order, double now);
/* In the child: the rest of its life. `membership`: the worker's. */
_Noreturn void worker_live(const struct worker *worker, const struct order *order,
                           const struct membership *membership, const struct agent_config *config);
/* Fills WORKER_POLLS entries. */
void worker_watch(const struct worker *worker, struct pollfd *set);
/* After poll(), and at least ten times a second: reads, reaps, and ends a worker whose time is
 * over. */
void worker_serve(struct worker *worker, double now);
/* When worker_serve() has something to do; infinity: when a descriptor is ready. */
double worker_due(const struct worker *worker);
/* Kills it; its end is not reported. */
void worker_abandon(struct worker *worker);

/* ---- What every process of a fleet is: it listens, forks workers, and watches connections.
 *
 * An agent is one thread, which never touches data, a GPU or a NIC, and never waits for anything
 * but poll(). So no fault of a device takes it away. Rank 0 is the coordinator (agents.h). The
 * first agent of every other host that calls rank 0 leads its host: it stays connected to rank 0,
 * which sends the other agents of the host to it (agents.h). So rank 0 talks to hosts.
 *
 *     rank 0 -- leader -- agents of its host
 *            -- leader -- ...
 *            -- agents of rank 0's own host
 * ---- */

#define FLEET_PURPOSE "fleet" /* of connections (base/net/net.h); their hellos are join requests */

struct agent;

/* The operations that differ between rank 0 and the other agents. */
struct agent_ops {
    /* The argument of these is the agent. */
    rank_acceptor_admit *admit;
    struct child_link_ops below; /* frames and losses of connections */
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
    struct rank_acceptor rank_acceptor;
    _Atomic uint64_t rejected;
    struct child_links below;
    struct worker worker;
    int signals;            /* a signalfd */
    int signal;             /* that came, and ends the run; 0: none */
    double silence;         /* seconds without a word after which an agent counts as lost */
    double heartbeat;       /* seconds between two of its own words */
    struct run_watch watch; /* notes from the start of the run on when the process does not run */
    double now;   /* seconds at this turn; stands still while the process gets no core, so that */
    double stood; /* others are not taken for silent then: so many seconds in all */
};

/* Opens an agent in place. Rank 0 listens where its membership says. On success the caller calls
 * agent_close(). All pointers must stay until then. */
enum status agent_open(struct agent *agent, const struct agent_ops *ops,
                       const struct membership *membership, const struct agent_config *config);
/* Kills the worker, and closes all. */
void agent_close(struct agent *agent);

/* Waits for `seconds` at most, and serves whatever is ready. */
void agent_turn(struct agent *agent, double seconds);

/* Starts the worker of an order; one that still runs is killed. */
void agent_obey(struct agent *agent, const struct order *order);

/* Ends the worker of that run, if it is still there: its time is over. */
void agent_cancel(struct agent *agent, uint32_t number);

/* Why an agent is lost whose connection ended so: a clause whose subject is the agent. */
const char *agent_link_end(enum link_end end);

/* ---- roster.c ---- */

/* The kind of an agent's loss. */
enum agent_loss {
    LOSS_FAULT,  /* a fault of its host */
    LOSS_ABSENT, /* it never called rank 0 */
    LOSS_ENDED,  /* its process was ended, or its connection was */
    LOSS_SILENT, /* nothing says that it ended: it may be the way to it */
    LOSS_FORGED, /* what came from it was changed on the way */
    AGENT_LOSSES
};

/* A host, in the order of the first rank on each. */
struct fleet_host {
    char name[HOST_NAME_BYTES]; /* "": of a rank that never called */
    int *agents;                /* ranks of the fleet, ascending */
    int count;
    bool lost;
    double lost_at;               /* clock_seconds() */
    int lost_agent;               /* the first one that was, */
    enum agent_loss loss;         /* of it, */
    char why[160];                /* why: a clause whose subject is that agent, */
    char stage[STAGE_NAME_MOST];  /* and what ran; "": nothing */
    char doing[COMMAND_MOST / 4]; /* what its worker was ordered to do then; "": nothing */
    struct host_gaps gaps;        /* so far, as its leader has last said */
};

enum presence { PRESENCE_ABSENT, PRESENCE_CALLED, PRESENCE_PRESENT, PRESENCE_LOST };

struct known_agent {
    enum presence presence;
    struct join_request request;
    struct address_list work; /* where its workers listen */
    int via;                  /* whose connection leads to it: its own rank, or its leader's */
    int host;                 /* index, once all have come */
    char why[160];            /* it was lost, */
    enum agent_loss loss;     /* how, */
    double lost_at;           /* and when: clock_seconds() */
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

/* With rank 0 present. */
void roster_open(struct roster *roster, int ranks, const struct join_request *root,
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
void roster_lose(struct roster *roster, int rank, const char *why, enum agent_loss loss,
                 const char *stage, const char *doing);

/* No agent joins any more: those that are not at their places are lost (`why`). Numbers the hosts.
 */
void roster_complete(struct roster *roster, const char *why);

/* ---- Rank 0's view of a fleet: hosts with their agents, on which it runs small jobs side by side,
 * and whose loss it survives.
 *
 * A job is a command, and the agents whose workers are its ranks. A worker that dies, hangs or is
 * stopped costs its own job and nothing else. An agent that dies or falls silent takes its host
 * out: the caller gives that host no further job.
 * ---- */

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
    /* Agents of rank 0, 1, ...: none is in two jobs of a run. A job with one that is lost ends at
     * once. */
    const int *agents;
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
 * were lost; frees nothing. *outcomes: of each job, for coordinator_outcomes_free(), also after
 * errors. STATUS_INTERRUPTED: a signal came, and some ends are WORKER_LOST. */
enum status coordinator_run(struct coordinator *coordinator, const char *stage,
                            const struct fleet_job *jobs, int count, double seconds,
                            coordinator_progress *progress, void *argument,
                            struct fleet_outcome **outcomes);
void coordinator_outcomes_free(struct fleet_outcome *outcomes, int count);

/* Ends all agents with `status`, and frees the fleet. NULL is allowed. */
void coordinator_close(struct coordinator *coordinator, enum status status);

/* ---- The life of every agent of a fleet but rank 0. ---- */

/* Calls rank 0, goes where that sends it, obeys orders, and brings rank 0 the reports of its own
 * worker and of the agents that it leads. Returns the status with which rank 0 ended the run;
 * STATUS_TIMEOUT, said, if rank 0 cannot be reached or falls silent. */
enum status follower_run(const struct membership *membership, const struct agent_config *config);

/* ---- The NIC ports of a fleet that its jobs may use, over verbs. ---- */

/* The one of a job's transports (ended by a NULL transport) that goes through NIC ports: verbs.
 * NULL: it may use none. */
const struct transport_choice *nic_port_choice(const struct transport_choice *choices);

/* The ports that are active on more than half of the hosts whose inventory is known (NULL: of
 * none), and that a job with these transports may use: verbs is among them, and nic= names them if
 * it is given. The names are the inventories' own: "mlx5_2". Returns how many. */
int nic_ports_find(const struct transport_choice *choices, const struct inventory *inventories,
                   int hosts, const char *ports[RAILS_MOST]);

/* Is the port active on this host, as far as is known? */
bool nic_port_is_at(const char *port, const struct inventory *inventories, int host);

/* The transport, as of nic_port_choice(), is to use this port alone, "mlx5_2": its nic= is then
 * "mlx5_2:1", written into `nic`, which must stay, and rails= is not given. */
#define NIC_TEXT_MOST (PART_NAME_MOST + 8)
void nic_port_take(struct transport_choice *choice, const char *port, char nic[NIC_TEXT_MOST]);

/* The value of --transport for a job through this port alone: "verbs:nic=mlx5_2:1", with the
 * user's other options of verbs. Returns `text`. */
#define PORT_TRANSPORT_MOST (TRANSPORT_LIST_MOST + PART_NAME_MOST + 16)
const char *nic_port_transport(const struct transport_choice *choices, const char *port,
                               char text[PORT_TRANSPORT_MOST]);

/* May a job with these transports go over verbs, and has this host a NIC for it, usable or not? */
bool verbs_is_present(const struct transport_choice *choices);

#endif
