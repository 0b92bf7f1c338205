/*
 * options.c - the options behind the transport's name, what no machine accepts of them, and the
 * timeout and retries of queue pairs.
 */
#include "transports/verbs/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RETRIES_MOST    7
#define RETRIES         6 /* Soft-RoCE never gives up at 7 */
#define PATIENCE_MOST   31
#define PATIENCE_UNIT   4.096e-6 /* seconds */
#define PATIENCE_FACTOR 4

static const char *const rails_words[] = {"own", "match", NULL};
static const char *const mtu_words[] = {"256", "512", "1024", "2048", "4096", NULL};
static const char *const connect_words[] = {"exchange", "rdmacm", NULL};
static const char *const poll_words[] = {"memory", "cq", NULL};
static const char *const gdr_words[] = {"dmabuf", "peermem", "staged", NULL}; /* enum verbs_gdr */

const struct transport_option verbs_options[] = {
    [VERBS_NIC] = {.name = "nic",
                   .kind = TRANSPORT_OPTION_TEXT,
                   .values = "NAME[:PORT]+...",
                   .help = "the NIC ports that each rank uses; else the nearest one",
                   .folder = PORT_SYSFS "/class/infiniband",
                   .per_rank = true},
    [VERBS_RAILS] = {.name = "rails",
                     .kind = TRANSPORT_OPTION_WORD,
                     .values = "own|match",
                     .words = rails_words,
                     .help = "match: rail i sends to rail i only, for one subnet per rail"},
    [VERBS_GID] = {.name = "gid",
                   .kind = TRANSPORT_OPTION_NUMBER,
                   .values = "INDEX",
                   .most = 255,
                   .help = "index of the GID; else the first of RoCE v2 with an IPv4 address",
                   .per_rank = true},
    [VERBS_PKEY] = {.name = "pkey",
                    .kind = TRANSPORT_OPTION_NUMBER,
                    .values = "INDEX",
                    .most = 65535,
                    .help = "index of the P_Key; else 0",
                    .per_rank = true},
    [VERBS_SL] = {.name = "sl",
                  .kind = TRANSPORT_OPTION_NUMBER,
                  .values = "0..15",
                  .most = 15,
                  .help = "service level"},
    [VERBS_TCLASS] = {.name = "tclass",
                      .kind = TRANSPORT_OPTION_NUMBER,
                      .values = "0..255",
                      .most = 255,
                      .help = "traffic class (RoCE: DSCP in its upper 6 bits)"},
    [VERBS_MTU] = {.name = "mtu",
                   .kind = TRANSPORT_OPTION_WORD,
                   .values = "256|512|1024|2048|4096",
                   .words = mtu_words,
                   .help = "bytes of a packet; else that of both ports"},
    [VERBS_TIMEOUT] = {.name = "timeout",
                       .kind = TRANSPORT_OPTION_NUMBER,
                       .values = "1..31",
                       .least = 1,
                       .most = PATIENCE_MOST,
                       .help = "a NIC waits 4.096 us * 2^N for an answer; else by --timeout"},
    [VERBS_RETRY] = {.name = "retry",
                     .kind = TRANSPORT_OPTION_NUMBER,
                     .values = "0..7",
                     .most = RETRIES_MOST,
                     .help = "how often a NIC sends again without an answer; else 6"},
    [VERBS_QPS] = {.name = "qps",
                   .kind = TRANSPORT_OPTION_NUMBER,
                   .values = "1..8",
                   .least = 1,
                   .most = 8,
                   .help = "queue pairs of a lane on each rail; else 1"},
    [VERBS_CONNECT] = {.name = "connect",
                       .kind = TRANSPORT_OPTION_WORD,
                       .values = "exchange|rdmacm",
                       .words = connect_words,
                       .help = "how queue pairs are connected; else exchange, for iWARP rdmacm"},
    [VERBS_POLL] = {.name = "poll",
                    .kind = TRANSPORT_OPTION_WORD,
                    .values = "memory|cq",
                    .words = poll_words,
                    .help =
                        "how a receiver sees a slot arrive; else memory if the NIC keeps order"},
    [VERBS_GDR] =
        {.name = "gdr",
         .kind = TRANSPORT_OPTION_WORD,
         .values = "dmabuf|peermem|staged",
         .words = gdr_words,
         .help = "how NICs reach GPU memory (host memory needs none); else the first that works"},
    [VERBS_OPTIONS] = {.name = NULL},
};

bool verbs_patience_choose(const struct transport_setting *settings, double most,
                           struct verbs_patience *patience, char *reason)
{
    const struct transport_setting *timeout = &settings[VERBS_TIMEOUT];
    const struct transport_setting *retry = &settings[VERBS_RETRY];
    patience->retries = (uint8_t)(retry->given ? retry->number : RETRIES);
    int waits = PATIENCE_FACTOR * (patience->retries + 1);
    patience->timeout = timeout->given ? (uint8_t)timeout->number : 1;
    while (!timeout->given && patience->timeout < PATIENCE_MOST &&
           waits * ldexp(PATIENCE_UNIT, patience->timeout + 1) <= most)
        patience->timeout++;
    double seconds = waits * ldexp(PATIENCE_UNIT, patience->timeout);
    if (seconds <= most || (!timeout->given && !retry->given))
        return true;
    snprintf(reason, TRANSPORT_REASON_MOST,
             "timeout=%d and retry=%d let a queue pair try for up to %.1f s, longer than "
             "--timeout: choose smaller ones, or a longer --timeout",
             patience->timeout, patience->retries, seconds);
    return false;
}

static bool nic_parse(const char *text, struct verbs_nic_name *name, char *reason)
{
    name->port = 0;
    snprintf(name->nic, sizeof name->nic, "%s", text);
    if (*text && (!strchr(text, ':') ||
                  (rdma_port_parse(text, name->nic, &name->port) && !strchr(name->nic, ':'))))
        return true;
    snprintf(reason, TRANSPORT_REASON_MOST,
             "nic= has '%s' where a NIC port stands: give NAME[:PORT]+..., such as mlx5_0:1+mlx5_1",
             text);
    return false;
}

static bool nic_names_meet(const struct verbs_nic_name *one, const struct verbs_nic_name *other)
{
    return strcmp(one->nic, other->nic) == 0 &&
           (!one->port || !other->port || one->port == other->port);
}

int verbs_nic_names(const char *text, struct verbs_nic_name names[VERBS_RAILS_MOST], char *reason)
{
    int count = 0;
    for (bool more = true; more; count++) {
        char one[RDMA_NIC_MOST + 4]; /* ":255" */
        size_t length = strcspn(text, "+");
        if (count == VERBS_RAILS_MOST) {
            snprintf(reason, TRANSPORT_REASON_MOST, VERBS_MANY_NICS, VERBS_RAILS_MOST);
            return 0;
        }
        snprintf(one, sizeof one, "%.*s", (int)length, text);
        if (!nic_parse(one, &names[count], reason))
            return 0;
        for (int i = 0; i < count; i++)
            if (nic_names_meet(&names[i], &names[count])) {
                snprintf(reason, TRANSPORT_REASON_MOST, "nic= names NIC %s twice: name it once",
                         one);
                return 0;
            }
        more = text[length] == '+';
        text += length + more;
    }
    return count;
}

bool verbs_accepts(const struct transport_setting *settings, double timeout, char *reason)
{
    struct verbs_nic_name names[VERBS_RAILS_MOST];
    struct verbs_patience patience;
    const struct transport_setting *nic = &settings[VERBS_NIC];
    return (!nic->given || verbs_nic_names(nic->text, names, reason) > 0) &&
           verbs_patience_choose(settings, timeout, &patience, reason);
}
