/*
 * test_rdmacm.c - queue pairs that librdmacm connects, over the provider: strangers among the
 * requests, a stranger in place of a rank, and whatever fails on the way.
 * tier: deep; load: cpu1; program: own
 */
#include "../transport/world.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "provider.h"
#include "transports/transports.h"
#include "transports/verbs/internal.h"

/* ---- the addresses of this host, in place of the C library's ---- */

/* The addresses of both hosts: in two subnets that do not meet, in one that both have, and of
 * IPv6. */
static const char *const addresses[][2] = {
    {"10.1.0.1", "10.2.0.2"}, {"10.5.0.1", "10.5.0.2"}, {"fd00::1", "fd00::2"}};

static struct ifaddrs entries[6];

static void entries_fill(void)
{
    static struct sockaddr_in mask = {.sin_family = AF_INET}, v4[4];
    static struct sockaddr_in6 v6[2];
    inet_pton(AF_INET, "255.255.0.0", &mask.sin_addr);
    for (int i = 0; i < 6; i++) {
        bool is_v6 = i >= 4;
        entries[i] = (struct ifaddrs){.ifa_next = i < 5 ? &entries[i + 1] : NULL,
                                      .ifa_addr = is_v6 ? (struct sockaddr *)&v6[i - 4]
                                                        : (struct sockaddr *)&v4[i],
                                      .ifa_netmask = (struct sockaddr *)&mask};
        entries[i].ifa_addr->sa_family = is_v6 ? AF_INET6 : AF_INET;
        inet_pton(is_v6 ? AF_INET6 : AF_INET, addresses[i / 2][i % 2],
                  is_v6 ? (void *)&v6[i - 4].sin6_addr : (void *)&v4[i].sin_addr);
    }
}

int getifaddrs(struct ifaddrs **list)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, entries_fill);
    *list = entries;
    return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
    (void)list;
}

/* Gives the ports of two hosts these addresses, behind the GIDs that are not IP addresses: the rows
 * of addresses[] from `first` to `last`. */
static void addresses_give(int first, int last)
{
    for (int host = 0; host < 2; host++) {
        struct provider_port *port = provider_port(host, 0, 1);
        const struct ibv_gid_entry like = port->gids[3]; /* RoCE v2 */
        port->attr.gid_tbl_len = 3;
        for (int row = first; row <= last; row++) {
            char text[INET6_ADDRSTRLEN];
            struct ibv_gid_entry *entry = &port->gids[port->attr.gid_tbl_len];
            *entry = like;
            entry->gid_index = (uint32_t)port->attr.gid_tbl_len++;
            snprintf(text, sizeof(text), "%s%s", row < 2 ? "::ffff:" : "", addresses[row][host]);
            inet_pton(AF_INET6, text, entry->gid.raw);
        }
    }
}

static struct verbs_endpoint *verbs_of(struct rank *me)
{
    return (struct verbs_endpoint *)(void *)me->endpoint;
}

/* Two ranks, or more, over verbs:connect=rdmacm; its bodies connect. */
static struct world *world_of(int ranks, void (*body)(struct rank *))
{
    static struct transport_setting settings[TRANSPORT_OPTIONS_MOST];
    struct world *world = malloc(sizeof(*world));
    assert_non_null(world);
    settings[VERBS_CONNECT] =
        (struct transport_setting){.given = true, .number = VERBS_CONNECT_RDMACM};
    *world = world_make(&transport_verbs, 0, ranks);
    world->config.settings = settings;
    world->config.timeout = 2;
    world->unconnected = true;
    world->body = body;
    return world;
}

static void run(const char *provider, int ranks, void (*body)(struct rank *))
{
    struct world *world = world_of(ranks, body);
    provider_configure(provider);
    assert_true(world_run(world));
    free(world);
}

/* ---- strangers that connect to a rank ---- */

struct stranger {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *pair;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id;
};

static void stranger_come(struct stranger *stranger)
{
    int count;
    struct ibv_device **devices = ibv_get_device_list(&count);
    stranger->context = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    stranger->pd = ibv_alloc_pd(stranger->context);
    stranger->cq = ibv_create_cq(stranger->context, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = {
        .send_cq = stranger->cq,
        .recv_cq = stranger->cq,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC};
    stranger->pair = ibv_create_qp(stranger->pd, &attr);
    stranger->channel = rdma_create_event_channel();
    rdma_create_id(stranger->channel, &stranger->id, NULL, RDMA_PS_TCP);
}

static void stranger_leave(struct stranger *stranger)
{
    ibv_destroy_qp(stranger->pair);
    rdma_destroy_id(stranger->id);
    rdma_destroy_event_channel(stranger->channel);
    ibv_destroy_cq(stranger->cq);
    ibv_dealloc_pd(stranger->pd);
    ibv_close_device(stranger->context);
}

/* The next event, within a second; -1: none comes. */
static int stranger_hear(struct stranger *stranger)
{
    struct pollfd set = {.fd = stranger->channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    if (poll(&set, 1, 1000) != 1 || rdma_get_cm_event(stranger->channel, &event) != 0)
        return -1;
    int type = (int)event->event;
    rdma_ack_cm_event(event);
    return type;
}

/* Where the port of a rank listens. */
static struct sockaddr_in place_of(const struct verbs_port *port)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(port->cm_port)};
    memcpy(&place.sin_addr, port->gid.raw + 12, 4);
    return place;
}

/* Sends a request with this data; false: it cannot. */
static bool stranger_request(struct stranger *stranger, const struct verbs_port *port,
                             const void *data, size_t size)
{
    struct sockaddr_in place = place_of(port);
    struct rdma_conn_param parameters = {
        .private_data = data, .private_data_len = (uint8_t)size, .qp_num = stranger->pair->qp_num};
    return rdma_resolve_addr(stranger->id, NULL, (struct sockaddr *)&place, 1000) == 0 &&
           stranger_hear(stranger) == RDMA_CM_EVENT_ADDR_RESOLVED &&
           rdma_resolve_route(stranger->id, 1000) == 0 &&
           stranger_hear(stranger) == RDMA_CM_EVENT_ROUTE_RESOLVED &&
           rdma_connect(stranger->id, &parameters) == 0;
}

/* Requests of strangers come before those of rank 1: all are rejected, and counted. */
enum { STRANGERS = 6 };
static void among_strangers(struct rank *me)
{
    static const struct {
        uint32_t from, to, lane;
        size_t size;
    } claims[STRANGERS] = {
        {0, 0, 0, 0},
        {1, 0, 0, VERBS_REQUEST_BYTES - 1},
        {1, 0, 0, VERBS_REQUEST_BYTES},
        {7, 0, 0, 56},
        {1, 0, 7, 56},
        {0, 1, 0, 56},
    };
    struct stranger strangers[STRANGERS];
    int peer = !me->number;
    for (int i = 0; i < STRANGERS && me->number == 1; i++) {
        uint32_t request[14] = {htonl(claims[i].from), htonl(claims[i].to), htonl(claims[i].lane)};
        stranger_come(&strangers[i]);
        require(me, stranger_request(&strangers[i], &verbs_of(me)->peers[0].address.ports[0],
                                     request, claims[i].size));
    }
    pthread_barrier_wait(&me->world->barrier);
    require(me, rank_connect(me, &peer, 1, 2) == STATUS_OK);
    rank_settle(me);
    rank_try(me, peer);
    require(me, me->endpoint->rejected == (me->number == 0 ? STRANGERS : 0));
    for (int i = 0; i < STRANGERS && me->number == 1; i++) {
        require(me, stranger_hear(&strangers[i]) == RDMA_CM_EVENT_REJECTED);
        stranger_leave(&strangers[i]);
    }
}

static void test_strangers(void **state)
{
    (void)state;
    run("", 2, among_strangers);
    run("iwarp=1", 2, among_strangers);
}

/* A stranger copies the request of rank 1, and is faster. It names another queue pair. */
static struct stranger copyist;
static enum tick_answer tick_of_copied(void *argument, int peer)
{
    struct rank *me = argument;
    const struct verbs_peer *root = &verbs_of(me)->peers[0];
    unsigned char request[VERBS_REQUEST_BYTES];
    if (peer == TICK_WORKED || me->number == 0 || me->world->shared[0] || root->lane_count == 0)
        return rank_tick(me, peer);
    verbs_request_encode(&root->lanes[0]->pairs[0], request);
    stranger_come(&copyist);
    if (!stranger_request(&copyist, &root->address.ports[0], request, sizeof(request)))
        rank_fail(me, __FILE__, __LINE__, "the copyist cannot connect");
    me->world->shared[0] = 1;
    return TICK_GO_ON;
}

static void copied(struct rank *me)
{
    int peer = !me->number;
    while (me->number == 0 && !me->world->shared[0] && clock_seconds() < me->deadline)
        usleep(1000);
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_OK);
    rank_settle(me);
    rank_try(me, peer);
    require(me, me->endpoint->rejected == (me->number == 0));
    if (me->number == 1) {
        require(me, stranger_hear(&copyist) == RDMA_CM_EVENT_REJECTED);
        stranger_leave(&copyist);
    }
}

static void test_copyist(void **state)
{
    (void)state;
    struct world *world = world_of(2, copied);
    provider_configure("");
    world->tick = tick_of_copied;
    assert_true(world_run(world));
    free(world);
}

/* After settle() no port listens. */
static void after_settle(struct rank *me)
{
    int peer = !me->number;
    struct stranger stranger;
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_OK);
    rank_settle(me);
    pthread_barrier_wait(&me->world->barrier);
    if (me->number == 1) {
        stranger_come(&stranger);
        require(me, stranger_request(&stranger, &verbs_of(me)->peers[0].address.ports[0], "", 0));
        require(me, stranger_hear(&stranger) == RDMA_CM_EVENT_REJECTED);
        stranger_leave(&stranger);
    }
    pthread_barrier_wait(&me->world->barrier);
}

static void test_settle(void **state)
{
    (void)state;
    run("", 2, after_settle);
}

/* ---- a stranger in place of rank 0 ---- */

/* Waits for the request of rank 1, and accepts it with an answer that proves nothing. */
static void *impostor_live(void *argument)
{
    struct stranger *impostor = argument;
    struct pollfd set = {.fd = impostor->channel->fd, .events = POLLIN};
    struct rdma_conn_param parameters = {.private_data = "I am rank 0, of course; believe me!",
                                         .private_data_len = 32,
                                         .qp_num = impostor->pair->qp_num};
    struct rdma_cm_event *event;
    if (poll(&set, 1, 5000) != 1 || rdma_get_cm_event(impostor->channel, &event) != 0)
        return NULL;
    struct rdma_cm_id *id = event->id;
    rdma_ack_cm_event(event);
    rdma_accept(id, &parameters);
    return id;
}

static enum tick_answer tick_of_abandoned(void *argument, int peer)
{
    struct rank *me = argument;
    return peer != TICK_WORKED && me->number == 0 && me->world->shared[0] ? TICK_LATE
                                                                          : rank_tick(me, peer);
}

static void wait_for_nothing(struct rank *me)
{
    int peer = 1;
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_TIMEOUT);
    require(me, strstr(me->log.failure.text, "NIC strict0:1 of rank 0 on "));
    require(me, strstr(me->log.failure.text, " waits for NIC strict0:1 of rank 1 on "));
}

static void led_to_an_impostor(struct rank *me)
{
    struct stranger impostor;
    pthread_t thread;
    void *id;
    int peer = 0;
    if (me->number == 0) {
        wait_for_nothing(me);
        return;
    }
    struct verbs_port *port = &verbs_of(me)->peers[0].address.ports[0];
    stranger_come(&impostor);
    struct sockaddr_in place = place_of(port);
    place.sin_port = 0;
    require(me, rdma_bind_addr(impostor.id, (struct sockaddr *)&place) == 0);
    require(me, rdma_listen(impostor.id, 1) == 0);
    port->cm_port = ntohs(rdma_get_src_port(impostor.id));
    require(me, pthread_create(&thread, NULL, impostor_live, &impostor) == 0);
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_ERROR);
    require(me, strstr(me->log.failure.text, "what answers is not that rank"));
    pthread_join(thread, &id);
    require(me, id != NULL);
    rdma_destroy_id(id);
    stranger_leave(&impostor);
    me->world->shared[0] = 1;
}

/* Nothing listens where rank 0 should. */
static void led_to_nothing(struct rank *me)
{
    int peer = 0;
    if (me->number == 0) {
        wait_for_nothing(me);
        return;
    }
    verbs_of(me)->peers[0].address.ports[0].cm_port = 1;
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_UNAVAILABLE);
    require(me, strstr(me->log.failure.text, "NIC strict0:1 of rank 1 on "));
    require(me, strstr(me->log.failure.text, " cannot connect to NIC strict0:1 of rank 0 on "));
    require(me, strstr(me->log.failure.text, "it does not listen (any more)"));
    me->world->shared[0] = 1;
}

static void test_no_rank(void **state)
{
    (void)state;
    static void (*const bodies[])(struct rank *) = {led_to_an_impostor, led_to_nothing};
    for (int i = 0; i < 2; i++) {
        struct world *world = world_of(2, bodies[i]);
        provider_configure("");
        world->tick = tick_of_abandoned;
        assert_true(world_run(world));
        free(world);
    }
}

/* ---- failures ---- */

static void connect_all(struct rank *me)
{
    int peers[WORLD_RANKS_MOST], count = 0;
    for (int peer = 0; peer < me->world->ranks; peer++)
        if (peer != me->number)
            peers[count++] = peer;
    require(me, rank_connect(me, peers, count, 2) == STATUS_OK);
    require(me, rank_connect(me, peers, count, 3) == STATUS_OK);
    rank_settle(me);
    require(me, me->endpoint->rejected == 0);
}

/* An address that is not found at once is looked up again. */
static void test_second_try(void **state)
{
    (void)state;
    run("fail=resolve:1+resolve:2", 2, connect_all);
    run("fail=resolve:3", 5, connect_all);
}

static void not_found(struct rank *me)
{
    int peer = 0;
    if (me->number == 0) {
        wait_for_nothing(me);
        return;
    }
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_UNAVAILABLE);
    require(me, strstr(me->log.failure.text, me->world->shared[1]
                                                 ? "cannot connect to NIC strict0:1 of rank 0"
                                                 : "does not find NIC strict0:1 of rank 0"));
    me->world->shared[0] = 1;
}

static void test_no_way(void **state)
{
    (void)state;
    static const char *const faults[] = {"fail=resolve:1+resolve:2+resolve:3", "fail=connect:1"};
    for (size_t i = 0; i < 2; i++) {
        struct world *world = world_of(2, not_found);
        provider_configure(faults[i]);
        world->tick = tick_of_abandoned;
        world->shared[1] = i;
        assert_true(world_run(world));
        free(world);
    }
}

/* Two ranks on hosts with these addresses; `gid`: the option, -1: none. */
static void run_at(int first, int last, int gid, void (*body)(struct rank *))
{
    struct transport_setting settings[TRANSPORT_OPTIONS_MOST] = {
        [VERBS_CONNECT] = {.given = true, .number = VERBS_CONNECT_RDMACM},
        [VERBS_GID] = {.given = gid >= 0, .number = gid}};
    struct world *world = world_of(2, body);
    world->config.settings = settings;
    provider_configure("hosts=2");
    addresses_give(first, last);
    assert_true(world_run(world));
    free(world);
}

static void connect_and_move(struct rank *me)
{
    connect_all(me);
    rank_try(me, !me->number);
}

static void meet_in_second(struct rank *me)
{
    connect_and_move(me);
    const struct verbs_rail *rail = &verbs_of(me)->rails[0];
    require(me, rail->port.other_count == 1 && rail->other_used[0]);
}

/* Ports whose first addresses do not meet connect in the subnet that both have. */
static void test_second_subnet(void **state)
{
    (void)state;
    run_at(0, 1, -1, meet_in_second);
}

/* The endpoint of a rank at two addresses, where the second has `taken` listeners of another
 * program. Returns how many further addresses it keeps. */
static int others_beside(int taken, FILE *out)
{
    struct transport_setting settings[TRANSPORT_OPTIONS_MOST] = {
        [VERBS_CONNECT] = {.given = true, .number = VERBS_CONNECT_RDMACM}};
    const struct transport_config config = {
        .ranks = 2, .settings = settings, .secret = world_secret, .timeout = 2};
    struct sockaddr_in second = {.sin_family = AF_INET};
    struct rdma_cm_id *ids[16];
    struct endpoint *endpoint = NULL;
    char reason[TRANSPORT_REASON_MOST];
    inet_pton(AF_INET, addresses[1][0], &second.sin_addr);
    provider_configure("hosts=2");
    provider_host(0);
    addresses_give(0, 1);
    struct rdma_event_channel *channel = rdma_create_event_channel();
    for (int i = 0; i < taken; i++) {
        assert_int_equal(rdma_create_id(channel, &ids[i], NULL, RDMA_PS_TCP), 0);
        assert_int_equal(rdma_bind_addr(ids[i], (struct sockaddr *)&second), 0);
    }
    int usual = dup(STDERR_FILENO);
    dup2(fileno(out), STDERR_FILENO);
    assert_int_equal(transport_verbs.open(&config, &endpoint, reason), STATUS_OK);
    dup2(usual, STDERR_FILENO);
    close(usual);
    int count = ((struct verbs_endpoint *)(void *)endpoint)->rails[0].port.other_count;
    transport_verbs.close(endpoint);
    for (int i = 0; i < taken; i++)
        rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(channel);
    provider_check();
    return count;
}

/* A port number that is free at the first address and in use at the second is not taken. */
static void test_taken_port(void **state)
{
    (void)state;
    char text[256] = "";
    FILE *out = tmpfile();
    assert_int_equal(others_beside(1, out), 1);
    assert_int_equal(others_beside(7, out), 1);
    assert_int_equal(ftell(out), 0);
    assert_int_equal(others_beside(8, out), 0);
    rewind(out);
    assert_non_null(fgets(text, sizeof(text), out));
    assert_non_null(strstr(text, "NIC strict0:1 does not listen at 10.5.0.1: "));
    fclose(out);
}

static void test_ipv6(void **state)
{
    (void)state;
    run_at(1, 2, 4, connect_and_move);
    run_at(2, 2, 3, connect_and_move);
}

/* An IPv6 address that is not of this host, such as those that InfiniBand makes up. */
static void test_no_address(void **state)
{
    (void)state;
    struct transport_setting settings[TRANSPORT_OPTIONS_MOST] = {
        [VERBS_CONNECT] = {.given = true, .number = VERBS_CONNECT_RDMACM},
        [VERBS_GID] = {.given = true, .number = 1}};
    const struct transport_config config = {
        .ranks = 2, .settings = settings, .secret = world_secret, .timeout = 2};
    struct endpoint *endpoint = NULL;
    char reason[TRANSPORT_REASON_MOST];
    provider_configure("");
    assert_int_equal(transport_verbs.open(&config, &endpoint, reason), STATUS_UNAVAILABLE);
    assert_non_null(strstr(reason, "GID 1 of NIC strict0:1 (gid=) is no IP address of this host"));
    provider_check();
}

/* The service level and the traffic class that the user gives are those of queue pairs that
 * librdmacm connects, too. The provider takes no others. */
static void test_service(void **state)
{
    (void)state;
    struct transport_setting settings[TRANSPORT_OPTIONS_MOST] = {
        [VERBS_CONNECT] = {.given = true, .number = VERBS_CONNECT_RDMACM},
        [VERBS_SL] = {.given = true, .number = 3},
        [VERBS_TCLASS] = {.given = true, .number = 104}};
    struct world *world = world_of(2, connect_and_move);
    world->config.settings = settings;
    provider_configure("sl=3,tclass=104");
    assert_true(world_run(world));
    free(world);
}

/* Several rails and several ranks; each queue pair is connected once. */
static void test_many(void **state)
{
    (void)state;
    run("devices=2,delay=500", 5, connect_all);
    run("iwarp=1,devices=2", 4, connect_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strangers),  cmocka_unit_test(test_copyist),
        cmocka_unit_test(test_settle),     cmocka_unit_test(test_no_rank),
        cmocka_unit_test(test_second_try), cmocka_unit_test(test_no_way),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_second_subnet),
        cmocka_unit_test(test_taken_port), cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_no_address), cmocka_unit_test(test_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
