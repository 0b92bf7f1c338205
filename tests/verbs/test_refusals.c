/*
 * test_refusals.c - each reason for which a rank cannot use verbs, or not with a peer: one clause,
 * with what to do, and nothing is left open. Which NIC a rank takes where it may use several.
 * tier: deep; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <arpa/inet.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "options.h"
#include "provider.h"
#include "transports/transports.h"
#include "transports/verbs/internal.h"
#include "host/host.h"

static const unsigned char secret[32] = "only these ranks know it";

/* One rank of two, with a buffer of `bytes`. */
struct attempt {
    struct transport_setting settings[TRANSPORT_OPTIONS_MOST];
    struct region region;
    int process_ranks, local_rank;
    struct transport_config config;
    struct endpoint *endpoint;
    struct log log;
    char reason[TRANSPORT_REASON_MOST];
};

static enum status attempt_open(struct attempt *attempt, const char *option)
{
    *attempt = (struct attempt){.region = attempt->region,
                                .process_ranks = attempt->process_ranks,
                                .local_rank = attempt->local_rank};
    attempt->config = (struct transport_config){.ranks = 2,
                                                .local_ranks = attempt->local_rank + 1,
                                                .local_rank = attempt->local_rank,
                                                .process_ranks = attempt->process_ranks,
                                                .settings = attempt->settings,
                                                .regions = &attempt->region,
                                                .region_count = 1,
                                                .secret = secret,
                                                .timeout = 10};
    for (; option; option = strchr(option, ' ') ? strchr(option, ' ') + 1 : NULL)
        option_set(attempt->settings, option); /* a text ends the list */
    log_init(&attempt->log, 0, 0);
    log_attach(&attempt->log);
    enum status status =
        transport_verbs.open(&attempt->config, &attempt->endpoint, attempt->reason);
    log_attach(NULL);
    return status;
}

/* Refused with this reason, and no failure; all that was opened is closed. */
static void assert_refused(struct attempt *attempt, const char *option, const char *says)
{
    enum status status = attempt_open(attempt, option);
    if (status != STATUS_UNAVAILABLE || !strstr(attempt->reason, says))
        print_error("status %d: %s\nnot: %s\n", status, attempt->reason, says);
    assert_int_equal(status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(attempt->reason, says));
    assert_null(strchr(attempt->reason, '\n'));
    assert_int_equal(attempt->log.failure.status, STATUS_OK);
    provider_check();
}

static void assert_opened(struct attempt *attempt, const char *option, const char *nic)
{
    struct device_list list = {.count = 0};
    enum status status = attempt_open(attempt, option);
    if (status != STATUS_OK)
        print_error("status %d: %s\n", status, attempt->reason);
    assert_int_equal(status, STATUS_OK);
    transport_verbs.endpoint_devices(attempt->endpoint, &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.devices[0].name, nic);
    device_list_free(&list);
    transport_verbs.close(attempt->endpoint);
    provider_check();
}

/* ---- this host ---- */

static void hosts_and_devices(void **state)
{
    (void)state;
    struct attempt attempt = {0};
    provider_configure("devices=0");
    assert_refused(&attempt, NULL, "this host has no RDMA device: load the driver of its NIC");
    provider_configure("fail=open:1+open:2");
    assert_refused(&attempt, NULL,
                   "NIC strict0:1 cannot be opened (Cannot allocate memory): look "
                   "at the driver's messages (dmesg)");
    provider_configure("fail=query_port:1");
    assert_refused(&attempt, NULL, "NIC strict0:1 does not say its state (Input/output error)");
    provider_configure("fail=alloc_pd:1");
    assert_refused(&attempt, NULL, "NIC strict0:1 gives no protection domain");
}

/* A NIC that gives no queue of a kind that is needed is passed over. */
static void queues(void **state)
{
    (void)state;
    struct attempt attempt = {0};
    provider_configure("srqs=0");
    assert_refused(&attempt, NULL,
                   "NIC strict0:1 gives no shared receive queue (Operation not supported), which "
                   "verbs needs: choose another NIC with nic=, or another transport");
    provider_configure("inline=48");
    assert_refused(&attempt, NULL,
                   "NIC strict0:1 gives no RC queue pair with a shared receive queue and 80 bytes "
                   "inline (Invalid argument), which verbs needs");
    provider_configure("inline=48,excess=2");
    assert_refused(&attempt, NULL, "80 bytes inline (Invalid argument), which verbs needs");
    errno = ENOENT;
    provider_configure("inline=48,excess=1");
    assert_refused(&attempt, NULL, "80 bytes inline (Invalid argument), which verbs needs");
    errno = ENOENT;
    provider_configure("inline=96,excess=1");
    assert_opened(&attempt, NULL, "strict0:1");
    provider_configure("inline=96,excess=2");
    assert_opened(&attempt, NULL, "strict0:1");
    provider_configure("fail=create_cq:1");
    assert_refused(&attempt, NULL, "NIC strict0:1 gives no completion queue (Cannot allocate");
    provider_configure("fail=create_qp:1+create_qp:2+create_qp:3+create_qp:4");
    assert_refused(&attempt, NULL, "80 bytes inline (Cannot allocate memory)");
    provider_configure("devices=2,fail=create_srq:1");
    assert_opened(&attempt, NULL, "strict1:1");
    provider_configure("iwarp=1");
    assert_refused(&attempt, "connect=exchange",
                   "NIC strict0:1 is iWARP, which connects by librdmacm only: leave "
                   "connect=exchange out");
}

static void ports(void **state)
{
    (void)state;
    struct attempt attempt = {0};
    provider_configure("down=0");
    assert_refused(&attempt, NULL,
                   "NIC strict0:1: state DOWN: look at its cable, the switch, and "
                   "its network device (ip link)");
    assert_refused(&attempt, "nic=strict0", "state DOWN");
    provider_configure("link=ib");
    provider_port(0, 0, 1)->attr.state = IBV_PORT_INIT;
    assert_refused(&attempt, NULL,
                   "NIC strict0:1: state INIT: look at its cable, the switch, and "
                   "the subnet manager (opensm)");
    /* Another is taken; one that was named is left out. */
    provider_configure("devices=2,down=0");
    assert_opened(&attempt, NULL, "strict1:1");
    assert_opened(&attempt, "nic=strict0+strict1", "strict1:1");
    provider_configure("devices=3");
    for (int i = 0; i < 3; i++)
        provider_port(0, i, 1)->attr.state = IBV_PORT_DOWN;
    assert_refused(&attempt, NULL, "; nor can this host's other NIC ports (2)");
    assert_refused(&attempt, "nic=strict0+strict1", "NIC strict1:1: state DOWN");
    /* rails=match takes the ports that can be used. */
    provider_configure("devices=2,fail=query_port:1");
    assert_opened(&attempt, "rails=match", "strict1:1");
    provider_configure("devices=3");
    for (int i = 0; i < 3; i++)
        provider_port(0, i, 1)->attr.state = IBV_PORT_DOWN;
    assert_refused(&attempt, "rails=match", "NIC strict0:1: state DOWN");
    /* A reason that says more comes first. */
    provider_port(0, 1, 1)->attr.state = IBV_PORT_ACTIVE;
    assert_refused(&attempt, "gid=99", "NIC strict1:1 has no GID at index 99");
}

/* The ranks of a host take turns with NICs that are equally near: no sysfs knows these. */
static void turns(void **state)
{
    (void)state;
    static const struct {
        const char *provider, *nics[7]; /* of each rank */
    } hosts[] = {
        {"devices=3",
         {"strict0:1", "strict1:1", "strict2:1", "strict0:1", "strict1:1", "strict2:1",
          "strict0:1"}},
        {"devices=2,ports=2",
         {"strict0:1", "strict0:2", "strict1:1", "strict1:2", "strict0:1", "strict0:2",
          "strict1:1"}},
        {"devices=3,down=1", /* the next one instead */
         {"strict0:1", "strict2:1", "strict2:1", "strict0:1", "strict2:1", "strict2:1",
          "strict0:1"}},
    };
    struct attempt attempt = {0};
    for (size_t h = 0; h < sizeof hosts / sizeof hosts[0]; h++) {
        provider_configure(hosts[h].provider);
        for (attempt.local_rank = 0; attempt.local_rank < 7; attempt.local_rank++)
            assert_opened(&attempt, NULL, hosts[h].nics[attempt.local_rank]);
    }
    /* With rails=match a rank has all of them, and sends from one. */
    provider_configure("devices=3");
    for (attempt.local_rank = 0; attempt.local_rank < 7; attempt.local_rank++) {
        assert_int_equal(attempt_open(&attempt, "rails=match"), STATUS_OK);
        const struct verbs_endpoint *endpoint = (struct verbs_endpoint *)(void *)attempt.endpoint;
        assert_int_equal(endpoint->rail_count, 3);
        assert_int_equal(endpoint->address.home, attempt.local_rank % 3);
        transport_verbs.close(attempt.endpoint);
    }
    provider_check();
}

static void names(void **state)
{
    (void)state;
    struct attempt attempt = {0};
    provider_configure("devices=3,ports=2");
    assert_refused(&attempt, "nic=strikt2:2",
                   "this host has no NIC port 'strikt2:2' (nic=): did you mean strict2:2? it has "
                   "strict0:1, strict0:2, strict1:1, strict1:2, strict2:1, strict2:2");
    assert_refused(&attempt, "nic=strict0:3", "did you mean strict0:1?");
    assert_refused(&attempt, "nic=strict0+", "nic= has '' where a NIC port stands");
    assert_refused(&attempt, "nic=ethernet", "no NIC port 'ethernet' (nic=): it has strict0:1,");
    provider_configure("devices=8,ports=2");
    assert_refused(&attempt, "nic=strict0+strict1+strict2+strict3+strict4",
                   "nic= names more than 8 NIC ports");
    provider_configure("devices=3");
    assert_refused(&attempt, "qps=6 nic=strict0+strict1+strict2",
                   "qps=6 on each of 3 NIC ports is more than the 16 queue pairs that a lane may "
                   "have: choose qps=5, or fewer NIC ports");
}

static void tables(void **state)
{
    (void)state;
    struct attempt attempt = {0};
    provider_configure(NULL);
    assert_refused(&attempt, "gid=4",
                   "NIC strict0:1 has no GID at index 4 (gid=): its table has 4 "
                   "entries, and cctest info lists the ones in use");
    assert_refused(&attempt, "pkey=2",
                   "NIC strict0:1 has no P_Key at index 2 (pkey=): its table "
                   "has 2 entries; ask the subnet manager's administrator");
    assert_opened(&attempt, "gid=1", "strict0:1");
    assert_opened(&attempt, "pkey=1", "strict0:1");
    provider_port(0, 0, 1)->pkeys[1] = 0; /* not set */
    assert_refused(&attempt, "pkey=1", "has no P_Key at index 1");
    provider_port(0, 0, 1)->attr.gid_tbl_len = 2; /* no IPv4 address */
    assert_refused(&attempt, NULL,
                   "NIC strict0:1 has no GID of RoCE v2 that maps an IPv4 address: "
                   "give its network interface an IPv4 address");
    provider_configure("mtu=1024");
    assert_refused(&attempt, "mtu=2048",
                   "mtu=2048 is more than the MTU of 1024 bytes that NIC strict0:1 has");
    assert_refused(&attempt, "timeout=31", "longer than --timeout: choose smaller ones");
}

/* ---- locked memory ---- */

/* Root may lock without limit. This thread may no more, or again. */
static void privilege(bool locks)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    assert_int_equal(syscall(SYS_capget, &head, data), 0);
    data[0].effective &= ~(1u << CAP_IPC_LOCK);
    if (locks)
        data[0].effective |= data[0].permitted & 1u << CAP_IPC_LOCK;
    assert_int_equal(syscall(SYS_capset, &head, data), 0);
}

static void locked_memory(void **state)
{
    (void)state;
    struct rlimit usual, low = {.rlim_cur = 64 << 10};
    struct attempt attempt = {.region = {.kind = memory_kinds[0], .bytes = 1 << 20}};
    provider_configure(NULL);
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &usual), 0);
    low.rlim_max = usual.rlim_max;
    privilege(false);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &low), 0);
    assert_refused(&attempt, NULL,
                   "KiB are to be registered with 1 NIC port, but the limit of "
                   "locked memory is 64 KiB: raise it to ");
    assert_non_null(strstr(attempt.reason, "ulimit -l unlimited"));
    assert_non_null(strstr(attempt.reason, "/etc/security/limits.conf"));
    assert_in_range(strtol(strstr(attempt.reason, "raise it to ") + 12, NULL, 10), 1024, 4096);
    low.rlim_cur = 4 << 20; /* enough for one rank */
    if (low.rlim_cur <= low.rlim_max) {
        assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &low), 0);
        assert_opened(&attempt, NULL, "strict0:1");
        attempt.process_ranks = 3;
        assert_refused(&attempt, NULL,
                       "the limit of locked memory is 4096 KiB for the 3 ranks of this process "
                       "together: raise it to ");
        assert_in_range(strtol(strstr(attempt.reason, "raise it to ") + 12, NULL, 10), 4097, 12288);
    }
    privilege(true);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &usual), 0);
}

/* ---- patience ---- */

/* Seven times four times what the NIC is told: within --timeout, and no value more is. */
static void patience(void **state)
{
    (void)state;
    struct attempt attempt = {0};
    provider_configure(NULL);
    assert_int_equal(attempt_open(&attempt, NULL), STATUS_OK);
    const struct verbs_endpoint *endpoint = (struct verbs_endpoint *)(void *)attempt.endpoint;
    double seconds = 28 * 4.096e-6 * (double)(1u << endpoint->patience.timeout);
    assert_int_equal(endpoint->patience.retries, 6);
    assert_true(seconds <= 10 && 2 * seconds > 10);
    transport_verbs.close(attempt.endpoint);
    provider_check();
}

/* ---- two ends that differ ---- */

/* The differences at the other end. */
static void other_layer(struct verbs_port *port)
{
    port->link_layer = IBV_LINK_LAYER_INFINIBAND;
}

static void other_kind(struct verbs_port *port)
{
    port->iwarp = 1;
}

static void other_mtu(struct verbs_port *port)
{
    port->mtu = IBV_MTU_4096;
}

static void other_pkey(struct verbs_port *port)
{
    port->pkey = 0x8001;
}

static void other_membership(struct verbs_port *port)
{
    port->pkey ^= 0x8000; /* limited or full: the same partition */
}

static void other_subnet(struct verbs_port *port)
{
    inet_pton(AF_INET6, "::ffff:10.1.2.3", port->gid.raw);
    port->prefix = 16;
}

static void other_host(struct verbs_port *port)
{
    inet_pton(AF_INET6, "::ffff:127.9.2.3", port->gid.raw);
}

static void other_kind_of_gid(struct verbs_port *port)
{
    port->gid_kind = GID_KIND_ROCE_V1 + 1;
}

static void ends(void **state)
{
    (void)state;
    static const struct {
        void (*change)(struct verbs_port *port);
        const char *option, *says; /* NULL: they go together */
    } cases[] = {
        {other_host, NULL, NULL},
        {other_layer, NULL,
         "NIC strict0:1 of this rank has Ethernet (RoCE), and NIC strict0:1 of the other, on "
         "elsewhere, has InfiniBand: name NICs of one kind with nic="},
        {other_kind, NULL,
         "has Ethernet (RoCE), and NIC strict0:1 of the other, on elsewhere, has "
         "iWARP: name NICs of one kind"},
        {other_mtu, NULL,
         "has MTU 1024, and NIC strict0:1 of the other, on elsewhere, has MTU "
         "4096: set both alike, or choose the smaller with mtu="},
        {other_mtu, "mtu=1024", NULL},
        {other_pkey, "pkey=0",
         "has P_Key 0xffff, and NIC strict0:1 of the other, on elsewhere, "
         "has P_Key 0x8001: choose one that both have with pkey=INDEX"},
        {other_membership, "pkey=0", NULL},
        {other_subnet, NULL,
         "has GID ::ffff:127.0.0.1/8, and NIC strict0:1 of the other, on "
         "elsewhere, has GID ::ffff:10.1.2.3/16: the subnets differ"},
        {other_subnet, "gid=3", NULL},
        {other_kind_of_gid, "gid=3",
         "has a GID of RoCE v2, and NIC strict0:1 of the other, on elsewhere, has a GID of RoCE "
         "v1: "
         "choose an index with gid= that is of one type on all hosts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attempt attempt = {0};
        unsigned char blob[TRANSPORT_ADDRESS_MOST];
        struct verbs_address address;
        provider_configure("mtu=1024");
        struct provider_port *port = provider_port(0, 0, 1);
        inet_pton(AF_INET6, "::ffff:127.0.0.1", port->gids[3].gid.raw);
        assert_int_equal(attempt_open(&attempt, cases[i].option), STATUS_OK);
        size_t size = transport_verbs.address(attempt.endpoint, blob);
        assert_true(verbs_address_decode(blob, size, &address));
        snprintf(address.host, sizeof address.host, "elsewhere");
        cases[i].change(&address.ports[0]);
        size = verbs_address_encode(&address, blob);
        const char *why = transport_verbs.attach(attempt.endpoint, 1, blob, size);
        if (cases[i].says ? !why || !strstr(why, cases[i].says) : why != NULL)
            print_error("case %zu: %s\n", i, why ? why : "it reaches the other");
        assert_int_equal(why != NULL, cases[i].says != NULL);
        assert_true(!why || strstr(why, cases[i].says));
        transport_verbs.close(attempt.endpoint);
        provider_check();
    }
}

/* Two limited members of a partition do not reach each other. */
static void limited_members(void **state)
{
    (void)state;
    struct attempt attempt = {0};
    unsigned char blob[TRANSPORT_ADDRESS_MOST];
    for (unsigned full = 0; full < 2; full++) {
        provider_configure("link=ib");
        provider_port(0, 0, 1)->pkeys[1] = (uint16_t)(full << 15 | 7);
        assert_int_equal(attempt_open(&attempt, "pkey=1"), STATUS_OK);
        size_t size = transport_verbs.address(attempt.endpoint, blob);
        const char *why = transport_verbs.attach(attempt.endpoint, 1, blob, size);
        assert_int_equal(why == NULL, full);
        assert_true(!why || strstr(why, "has P_Key 0x0007 of a limited member"));
        transport_verbs.close(attempt.endpoint);
        provider_check();
    }
}

/* A link-local address is taken only if there is no other. */
static void link_local(void **state)
{
    (void)state;
    for (int others = 0; others < 2; others++) {
        struct attempt attempt = {0};
        provider_configure(NULL);
        struct provider_port *port = provider_port(0, 0, 1);
        inet_pton(AF_INET6, "::ffff:169.254.1.1", port->gids[3].gid.raw);
        port->gids[4] = port->gids[3];
        port->gids[4].gid_index = 4;
        inet_pton(AF_INET6, "::ffff:10.0.9.9", port->gids[4].gid.raw);
        port->attr.gid_tbl_len += others;
        assert_int_equal(attempt_open(&attempt, NULL), STATUS_OK);
        const struct verbs_endpoint *endpoint = (struct verbs_endpoint *)(void *)attempt.endpoint;
        assert_int_equal(endpoint->rails[0].gid_index, 3 + others);
        transport_verbs.close(attempt.endpoint);
        provider_check();
    }
}

static struct verbs_rail rail_in(const char *first, const char *second, const char *third)
{
    const char *const addresses[] = {first, second, third};
    struct verbs_rail rail = {.port = {.name = "strict0:1",
                                       .link_layer = IBV_LINK_LAYER_ETHERNET,
                                       .mtu = IBV_MTU_1024,
                                       .prefix = 16,
                                       .other_count = 2,
                                       .gid.raw = {[10] = 255, [11] = 255}},
                              .gid_index = 1,
                              .other_indices = {2, 3}};
    inet_pton(AF_INET, addresses[0], rail.port.gid.raw + 12);
    for (int i = 0; i < 2; i++) {
        inet_pton(AF_INET, addresses[i + 1], rail.port.others[i].address);
        rail.port.others[i].prefix = 16;
    }
    return rail;
}

/* A rail without further addresses has its first by the option gid. */
static void assert_route(struct verbs_rail *rail, const struct verbs_rail *other, int index,
                         const char *address)
{
    const struct transport_setting settings[VERBS_OPTIONS] = {
        [VERBS_GID] = {.given = rail->port.other_count == 0, .number = rail->gid_index}};
    char reason[TRANSPORT_REASON_MOST], text[INET6_ADDRSTRLEN];
    struct ibv_qp_attr attr = {0};
    assert_null(verbs_port_compare(rail, &other->port, "elsewhere", settings, reason));
    verbs_port_route(rail, &other->port, settings, &attr);
    assert_int_equal(attr.ah_attr.grh.sgid_index, index);
    assert_string_equal(gid_text(attr.ah_attr.grh.dgid.raw, text, sizeof text), address);
}

/* Ports with addresses in several subnets meet in one that both have: both ends find the same. */
static void common_subnet(void **state)
{
    (void)state;
    struct verbs_rail a = rail_in("10.9.0.1", "10.2.0.1", "10.3.0.1");
    struct verbs_rail b = rail_in("10.8.0.2", "10.3.0.2", "10.2.0.2");
    assert_route(&a, &b, 2, "::ffff:10.2.0.2");
    assert_route(&b, &a, 3, "::ffff:10.2.0.1");
    assert_true(a.other_used[0] && !a.other_used[1]);
    struct verbs_rail c = rail_in("10.9.0.3", "10.2.0.3", "10.7.0.3"); /* the first ones meet */
    assert_route(&a, &c, 1, "::ffff:10.9.0.3");
    struct verbs_rail given = rail_in("10.3.0.4", "10.9.0.4", "10.2.0.4"); /* with gid=, one has */
    given.port.other_count = 0;
    assert_route(&given, &a, 1, "::ffff:10.3.0.1");
    assert_route(&a, &given, 3, "::ffff:10.3.0.4");
    struct verbs_address address = {.host = "elsewhere", .rail_count = VERBS_RAILS_MOST}, again;
    unsigned char blob[TRANSPORT_ADDRESS_MOST];
    for (int i = 0; i < VERBS_RAILS_MOST; i++) {
        address.ports[i] = a.port;
        address.ports[i].other_count = VERBS_OTHERS_MOST;
        address.ports[i].others[2].prefix = 1;
    }
    size_t size = verbs_address_encode(&address, blob);
    assert_true(size > 0 && verbs_address_decode(blob, size, &again));
    assert_memory_equal(again.ports[7].others, address.ports[7].others, sizeof a.port.others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_and_devices),
        cmocka_unit_test(queues),
        cmocka_unit_test(ports),
        cmocka_unit_test(turns),
        cmocka_unit_test(names),
        cmocka_unit_test(tables),
        cmocka_unit_test(locked_memory),
        cmocka_unit_test(patience),
        cmocka_unit_test(ends),
        cmocka_unit_test(limited_members),
        cmocka_unit_test(link_local),
        cmocka_unit_test(common_subnet),
    };
    return cmocka_run_group_tests_name("refusals of verbs", tests, NULL, NULL);
}
