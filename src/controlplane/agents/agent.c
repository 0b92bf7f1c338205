/*
 * agent.c - what every process of a fleet is: it listens, forks workers, and watches connections.
 */
#include "controlplane/agents/agents.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/signals.h"

#define PENDING_SECONDS   3.0
#define PENDING_MOST      128
#define LOOK_SECONDS      0.1 /* between two looks at a worker whose time is over */
#define HEARTBEAT_SECONDS 1.0
#define STALL_SECONDS     0.5 /* a turn that takes longer than its wait and this was stalled */
#define SILENCE_LEAST     2.0
#define SILENCE_MOST      10.0
#define SILENCE_SHARE     3 /* of the timeout: an agent does nothing but answer */
#define OWN_POLLS         (1 + WORKER_POLLS + AGENT_UPLINK_POLLS)

/* ---- connections ---- */

static const char *agent_admit(void *argument, int fd, const struct handshake *handshake)
{
    struct agent *agent = argument;
    struct wire wire = {0};
    struct join_request request;
    size_t size;
    const void *hello = handshake_hello(handshake, &size);
    if (!join_request_decode(hello, size, &request))
        return "sent an invalid join request";
    wire_connect(&wire, fd, handshake_keys(handshake));
    agent->ops->admit(agent, &wire, &request);
    return NULL;
}

const char *agent_link_end(enum link_end end)
{
    static const char *const clauses[] = {[LINK_BROKE] =
                                              "its process ended, or the connection broke",
                                          [LINK_INVALID] = "it sent an invalid message",
                                          [LINK_FORGED] = "its data " FORGED};
    return clauses[end];
}

void agent_take(struct connector *call, struct wire *wire)
{
    wire_connect(wire, call->fd, &call->keys);
    connector_taken(call);
}

static void agent_accepts(struct agent *agent)
{
    agent->acceptor = (struct acceptor){
        .listeners = &agent->listeners,
        .secret = agent->membership->secret,
        .purpose = FLEET_PURPOSE,
        .seconds = PENDING_SECONDS,
        .most = PENDING_MOST,
        .spare =
            agent->listeners.count > 0 ? fcntl(agent->listeners.fd[0], F_DUPFD_CLOEXEC, 0) : -1,
        .admit = agent_admit,
        .argument = agent,
        .rejected = &agent->rejected,
    };
    agent->acceptor.hello_size = join_request_encode(&agent->request, agent->acceptor.hello);
    acceptor_open(&agent->acceptor, agent->now);
}

static enum status agent_listen(struct agent *agent)
{
    const struct membership *membership = agent->membership;
    bool here = membership->started_here; /* all agents are: no other host is to connect */
    enum status status =
        addresses_listen(membership->interface, here, &agent->work, &agent->work_home);
    if (status != STATUS_OK)
        return status;
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
                            .acceptor = {.spare = -1},
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
        agent_accepts(agent);
    else
        agent_close(agent);
    return status;
}

/* In a worker: closes what it has no part in. */
struct departure {
    struct agent *agent;
    bool accepts; /* it is rank 0 of its job */
};

static void agent_leave(void *argument)
{
    struct departure *departure = argument;
    struct agent *agent = departure->agent;
    if (!departure->accepts)
        listeners_close(&agent->work);
    acceptor_close(&agent->acceptor);
    listeners_close(&agent->listeners);
    child_links_close(&agent->below);
    close(agent->signals);
    if (agent->ops->leave)
        agent->ops->leave(agent);
}

void agent_close(struct agent *agent)
{
    worker_abandon(&agent->worker);
    acceptor_close(&agent->acceptor);
    listeners_close(&agent->listeners);
    listeners_close(&agent->work);
    child_links_close(&agent->below);
    if (agent->signals >= 0)
        close(agent->signals);
    agent->signals = -1;
    free(agent->polls);
    agent->polls = NULL;
}

static void agent_reserve(struct agent *agent)
{
    int need = OWN_POLLS + ADDRESSES_MOST + PENDING_MOST + agent->below.count;
    if (need <= agent->polls_room)
        return;
    free(agent->polls);
    agent->polls = new_array(2 * (size_t)need, sizeof *agent->polls);
    agent->polls_room = 2 * need;
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
    agent_reserve(agent);
    struct pollfd *worker = agent->polls + 1, *uplink = worker + WORKER_POLLS;
    struct pollfd *accepts = uplink + AGENT_UPLINK_POLLS;
    agent->polls[0] = (struct pollfd){.fd = agent->signals, .events = POLLIN};
    worker_watch(&agent->worker, worker);
    for (int i = 0; i < AGENT_UPLINK_POLLS; i++)
        uplink[i].fd = -1;
    if (agent->ops->watch)
        agent->ops->watch(agent, uplink);
    child_links_flush(&agent->below);
    struct pollfd *below = accepts + acceptor_watch(&agent->acceptor, accepts, agent->now);
    child_links_watch(&agent->below, below);
    double due = fmax(worker_due(&agent->worker) - agent->now, LOOK_SECONDS);
    int milliseconds = (int)ceil(fmin(fmin(seconds, due), 1e3) * 1e3);
    poll(agent->polls, (nfds_t)(below - agent->polls + agent->below.watched), milliseconds);
    agent_look_at_clock(agent, milliseconds * 1e-3);
    signals_serve(agent);
    child_links_serve(&agent->below, below, agent->now, &agent->ops->below, agent);
    acceptor_serve(&agent->acceptor, accepts, agent->now);
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
    struct departure departure = {.agent = agent, .accepts = order->rank == 0};
    worker_start(&agent->worker, order, &membership, agent->config, agent_leave, &departure,
                 agent->now);
    sodium_memzero(&membership, sizeof membership);
}

void agent_cancel(struct agent *agent, uint32_t number)
{
    if (agent->worker.number == number && agent->worker.state == WORKER_RUNS)
        agent->worker.until = agent->now;
}
