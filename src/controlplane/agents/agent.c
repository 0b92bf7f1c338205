/*
 * agent.c - what every process of a fleet is: it listens, forks workers, and watches connections.
 */
#include "controlplane/agents/agents.h"

#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"

#define LOOK_SECONDS      0.1 /* between two looks at a worker whose time is over */
#define HEARTBEAT_SECONDS 1.0
#define STALL_SECONDS     0.5 /* a turn that takes longer than its wait and this was stalled */
#define SILENCE_LEAST     2.0
#define SILENCE_MOST      10.0
#define SILENCE_SHARE     3 /* of the timeout: an agent does nothing but answer */
#define OWN_POLLS         (1 + WORKER_POLLS + AGENT_UPLINK_POLLS)

/* ---- connections ---- */

const char *agent_link_end(enum link_end end)
{
    static const char *const clauses[] = {[LINK_BROKE] =
                                              "its process ended, or the connection broke",
                                          [LINK_INVALID] = "it sent an invalid message",
                                          [LINK_FORGED] = "its data " FORGED};
    return clauses[end];
}

static enum status agent_listen(struct agent *agent)
{
    const struct membership *membership = agent->membership;
    bool here = membership->started_here; /* all agents are: no other host is to connect */
    TRY(addresses_listen(membership->interface, here, &agent->work, &agent->work_home));
    return membership->rank == 0 ? root_address_listen(membership, &agent->listeners)
                                 : addresses_listen(membership->interface, here, &agent->listeners,
                                                    &agent->request.home);
}

/* ---- signals ---- */

static int signals_open(void)
{
    sigset_t set;
    signals_ending(&set);
    sigaddset(&set, SIGCHLD);
    signal(SIGCHLD, SIG_DFL); /* else, where the caller ignores it, the kernel reaps workers */
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void signals_serve(struct agent *agent)
{
    struct signalfd_siginfo info;
    while (read(agent->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD && !agent->signal)
            agent->signal = (int)info.ssi_signo;
}

/* ---- the agent ---- */

/* Lists of hosts are for Slurm, whose name of a node may be another one than the host's own. */
static void host_name_take(struct host_id *host)
{
    const char *node = getenv("SLURMD_NODENAME");
    if (node && node[0])
        snprintf(host->name, sizeof host->name, "%s", node);
    for (char *c = host->name; *c; c++) /* no list, terminal or XML takes anything else */
        if (*c <= ' ' || *c > '~')
            *c = '?';
}

enum status agent_open(struct agent *agent, const struct agent_ops *ops,
                       const struct membership *membership, const struct agent_config *config)
{
    *agent = (struct agent){.ops = ops,
                            .membership = membership,
                            .config = config,
                            .heartbeat = HEARTBEAT_SECONDS,
                            .now = clock_seconds(),
                            .rank_acceptor = {.acceptor = {.listeners = &agent->listeners,
                                                           .secret = membership->secret,
                                                           .purpose = FLEET_PURPOSE,
                                                           .spare = -1,
                                                           .rejected = &agent->rejected},
                                              .admit = ops->admit,
                                              .argument = agent},
                            .worker = {.result = -1, .error = -1}};
    agent->silence =
        fmin(fmax(config->bootstrap->timeout / SILENCE_SHARE, SILENCE_LEAST), SILENCE_MOST);
    join_request_fill(&agent->request, membership, config->options);
    host_name_take(&agent->request.host);
    agent->signals = signals_open();
    enum status status = agent->signals < 0
                             ? fail(STATUS_ERROR, "no descriptor is left for signals")
                             : agent_listen(agent);
    if (status == STATUS_OK)
        rank_acceptor_open(&agent->rank_acceptor, &agent->request, agent->now);
    else
        agent_close(agent);
    return status;
}

/* In a worker: closes what it has no part in. `accepts`: it is rank 0 of its job. */
static void agent_leave(struct agent *agent, bool accepts)
{
    if (!accepts)
        listeners_close(&agent->work);
    rank_acceptor_close(&agent->rank_acceptor);
    child_links_close(&agent->below);
    close(agent->signals);
    if (agent->ops->leave)
        agent->ops->leave(agent);
}

void agent_close(struct agent *agent)
{
    run_watch_stop(&agent->watch);
    worker_abandon(&agent->worker);
    rank_acceptor_close(&agent->rank_acceptor);
    listeners_close(&agent->work);
    child_links_close(&agent->below);
    if (agent->signals >= 0)
        close(agent->signals);
    agent->signals = -1;
}

static void agent_serve_worker(struct agent *agent)
{
    struct worker *worker = &agent->worker;
    worker_serve(worker, agent->now);
    if (worker->state != WORKER_ENDED)
        return;
    struct report_message report = {.number = worker->number,
                                    .job = worker->job,
                                    .end = worker->end,
                                    .result = worker->written.data,
                                    .size = worker->written.size};
    struct bytes bytes = {0};
    report_message_encode(&report, &bytes);
    worker_abandon(worker);
    agent->ops->reported(agent, &bytes);
    bytes_free(&bytes);
}

/* After a wait of `seconds` at most. */
static void agent_look_at_clock(struct agent *agent, double seconds)
{
    double now = clock_seconds() - agent->stood, late = now - agent->now - seconds - STALL_SECONDS;
    if (late > 0) {
        agent->stood += late;
        now -= late;
    }
    agent->now = now;
}

void agent_turn(struct agent *agent, double seconds)
{
    struct pollfd own[OWN_POLLS] = {{.fd = agent->signals, .events = POLLIN}};
    struct pollfd *worker = own + 1, *uplink = worker + WORKER_POLLS;
    worker_watch(&agent->worker, worker);
    for (int i = 0; i < AGENT_UPLINK_POLLS; i++)
        uplink[i].fd = -1;
    if (agent->ops->watch)
        agent->ops->watch(agent, uplink);
    child_links_flush(&agent->below);
    double due = fmax(worker_due(&agent->worker) - agent->now, LOOK_SECONDS);
    int milliseconds = (int)ceil(fmin(fmin(seconds, due), 1e3) * 1e3);
    child_links_poll(&agent->below, &agent->rank_acceptor.acceptor, own, OWN_POLLS, milliseconds,
                     agent->now);
    agent_look_at_clock(agent, milliseconds * 1e-3);
    signals_serve(agent);
    child_links_serve(&agent->below, agent->now, &agent->ops->below, agent);
    acceptor_serve(&agent->rank_acceptor.acceptor, agent->below.pending, agent->now);
    if (agent->ops->serve)
        agent->ops->serve(agent, uplink);
    agent_serve_worker(agent);
    child_links_flush(&agent->below);
}

/* ---- orders ---- */

/* Connections of the ranks of an earlier job that wait in the backlog. */
static void backlog_drain(const struct listeners *listeners)
{
    for (int i = 0; i < listeners->count; i++)
        for (int fd; (fd = accept4(listeners->fd[i], NULL, NULL, SOCK_CLOEXEC)) >= 0;)
            close(fd);
}

/* Each job has a secret of its own, so no rank of an earlier one joins it. */
static void job_secret(const struct membership *fleet, const struct order *order,
                       unsigned char secret[SECRET_BYTES])
{
    const uint32_t which[] = {htonl(order->number), htonl(order->job)};
    crypto_generichash(secret, SECRET_BYTES, (const unsigned char *)which, sizeof which,
                       fleet->secret, SECRET_BYTES);
}

void agent_obey(struct agent *agent, const struct order *order)
{
    const struct membership *fleet = agent->membership;
    struct membership membership = {.rank = order->rank,
                                    .ranks = order->ranks,
                                    .root_home = order->root,
                                    .interface = fleet->interface,
                                    .has_secret = fleet->has_secret,
                                    .own_process = true,
                                    .supervisor = getpid(),
                                    .bootstrap = "accept"};
    memcpy(membership.root_host, order->root_host, sizeof order->root_host);
    job_secret(fleet, order, membership.secret);
    worker_abandon(&agent->worker);
    if (order->rank == 0) {
        backlog_drain(&agent->work);
        membership.listeners = agent->work;
    }
    if (worker_fork(&agent->worker, order, agent->now)) {
        agent_leave(agent, order->rank == 0);
        worker_live(&agent->worker, order, &membership, agent->config);
    }
    sodium_memzero(&membership, sizeof membership);
}

void agent_cancel(struct agent *agent, uint32_t number)
{
    if (agent->worker.number == number && agent->worker.state == WORKER_RUNS)
        agent->worker.until = agent->now;
}
