/*
 * tcp.c - requirements for tcp alone: a rank that gives up a connection before it confirms it, and
 * connects again; hellos of another rank, or for another one; sockets that are full; the congestion
 * control of a connection; wait statistics; bytes that arrive while a rank waits for something
 * else; and elements that arrive in parts.
 * tier: check; load: cpu1
 */
#include "base/net/net.h"
#include "transports/tcp/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "dataplane/memory/datatype.h"
#include "dataplane/memory/memory.h"
#include "transports/transports.h"
#include "world.h"

/* An attempt of rank 1 to connect to rank 0, by hand. Returns the socket, on which both have proved
 * themselves; -1: they have not. */
static int connect_by_hand(struct rank *me, uint32_t from, uint32_t to, uint32_t lane)
{
    struct address_list home;
    struct sockaddr_storage place;
    uint32_t hello[3] = {htonl(from), htonl(to), htonl(lane)};
    if (!addresses_decode(me->world->blob[0], me->world->blob_size[0], &home))
        return -1;
    socklen_t size = address_socket(&home.list[0], &place);
    int fd = socket(home.list[0].family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&place, size) != 0)
        return -1;
    struct handshake *handshake =
        handshake_create(fd, false, world_secret, "data", hello, sizeof(hello));
    enum handshake_state state;
    while ((state = handshake_step(handshake)) == HANDSHAKE_PENDING)
        continue; /* the socket blocks */
    handshake_free(handshake);
    return state == HANDSHAKE_DONE ? fd : -1;
}

/* It proves itself, then closes the connection. */
static void give_up(struct rank *me)
{
    int fd = connect_by_hand(me, 1, 0, 0);
    require(me, fd >= 0);
    close(fd);
}

static void second_try(struct rank *me)
{
    int peer = !me->number;
    if (me->number == 1)
        give_up(me);
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_OK);
    rank_settle(me);
    rank_try(me, peer);
}

static void test_second_try(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.body = second_try;
    world.unconnected = true;
    assert_true(world_run(&world));
}

/* Hellos of this job that rank 0 of 2 does not expect. */
static const struct {
    uint32_t from, to, lane;
} wrong_hellos[] = {{0, 0, 0}, {2, 0, 0}, {1, 1, 0}, {1, 2, 0}, {1, 0, TCP_LANES_MOST}};

#define WRONG_HELLOS (sizeof(wrong_hellos) / sizeof(wrong_hellos[0]))

/* Rank 0 closes those connections, even if they are confirmed, and waits for the right one. */
static void wrong_are_refused(struct rank *me)
{
    int peer = !me->number;
    for (size_t i = 0; me->number == 1 && i < WRONG_HELLOS; i++) {
        char confirmation = 1;
        struct timeval most = {.tv_sec = 5};
        int fd =
            connect_by_hand(me, wrong_hellos[i].from, wrong_hellos[i].to, wrong_hellos[i].lane);
        require(me, fd >= 0);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
        send(fd, &confirmation, 1, MSG_NOSIGNAL);
        ssize_t heard = recv(fd, &confirmation, 1, 0);
        require(me, heard == 0 || (heard < 0 && errno == ECONNRESET));
        close(fd);
    }
    require(me, rank_connect(me, &peer, 1, 1) == STATUS_OK);
    require(me, me->number == 1 || me->endpoint->rejected == WRONG_HELLOS);
    rank_settle(me);
    rank_try(me, peer);
}

static void test_wrong_are_refused(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.body = wrong_are_refused;
    world.unconnected = true;
    assert_true(world_run(&world));
}

/* Rank 3 of 8 reads a hello: from a connecting rank, or from the rank `expected` to which it has
 * connected. */
static bool hello_fits(uint32_t from, uint32_t to, uint32_t lane, int expected)
{
    const struct transport_config config = {.rank = 3, .ranks = 8};
    uint32_t hello[3] = {htonl(from), htonl(to), htonl(lane)};
    int peer, number;
    bool fits = tcp_hello_read(hello, sizeof(hello), &config, expected, &peer, &number);
    assert_false(tcp_hello_read(hello, sizeof(hello) - 1, &config, expected, &peer, &number));
    return fits && peer == (int)from && number == (int)lane;
}

static void test_hello(void **state)
{
    (void)state;
    for (uint32_t from = 0; from < 10; from++) {
        assert_int_equal(hello_fits(from, 3, 0, -1), from > 3 && from < 8);
        assert_int_equal(hello_fits(from, UINT32_MAX, UINT32_MAX, 2), from == 2);
        assert_int_equal(hello_fits(4, from, 1, -1), from == 3);
    }
    assert_true(hello_fits(4, 3, TCP_LANES_MOST - 1, -1));
    assert_false(hello_fits(4, 3, TCP_LANES_MOST, -1));
}

/* Rank 0 sends on so many lanes that it asks epoll, more than the sockets hold, while rank 1 does
 * not receive. What stands in its slots is not done. When the sockets have room again, it goes
 * on. */
enum { FULL_LANES = 10, FULL_BYTES = 512 << 10, FULL_BUFFER = 16 << 10 };

static void full_sockets(struct rank *me)
{
    struct transfer transfers[FULL_LANES];
    struct piece pieces[FULL_LANES];
    char *places[FULL_LANES];
    const int room = FULL_BUFFER;
    bool sends = me->number == 0, early = false;
    for (int lane = 0; lane < FULL_LANES; lane++) {
        int fd = tcp_socket_find((struct tcp_endpoint *)me->endpoint, !me->number, lane)->fd;
        setsockopt(fd, SOL_SOCKET, sends ? SO_SNDBUF : SO_RCVBUF, &room, sizeof(room));
        places[lane] = rank_take(me, FULL_BYTES);
        transfers[lane] = transfer_make(me, sends ? TRANSFER_SEND : TRANSFER_RECV, &pieces[lane],
                                        places[lane], FULL_BYTES);
        if (sends)
            rank_write(me, (uint64_t)lane, places[lane], FULL_BYTES);
    }
    pthread_barrier_wait(&me->world->barrier);
    for (int lane = 0; sends && lane < FULL_LANES; lane++)
        rank_post(me, 1, lane, &transfers[lane]);
    for (int turn = 0; sends && turn < 100 && rank_turn(me); turn++)
        usleep(100);
    for (int lane = 0; sends && lane < FULL_LANES; lane++)
        early |= transfers[lane].issued < FULL_BYTES || transfers[lane].done == FULL_BYTES;
    pthread_barrier_wait(&me->world->barrier);
    require(me, !early);
    for (int lane = 0; !sends && lane < FULL_LANES; lane++)
        rank_post(me, 0, lane, &transfers[lane]);
    require(me, rank_complete(me, transfers, FULL_LANES));
    for (int lane = 0; lane < FULL_LANES; lane++)
        require(me, rank_has(me, (uint64_t)lane, places[lane], FULL_BYTES));
}

static void test_full_sockets(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.config.copy = COPY_BCOPY;
    world.config.slot_bytes = FULL_BYTES;
    world.bytes = FULL_LANES * FULL_BYTES;
    world.lanes = FULL_LANES;
    world.grain = SIZE_MAX;
    world.body = full_sockets;
    assert_true(world_run(&world));
}

/* A connection between two addresses of this host's loopback device, in `ends`. */
static bool line_make(const char *from, const char *to, int ends[2])
{
    struct sockaddr_in here = {.sin_family = AF_INET}, there = here;
    socklen_t size = sizeof(there);
    inet_pton(AF_INET, from, &here.sin_addr);
    inet_pton(AF_INET, to, &there.sin_addr);
    int acceptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[1] = -1;
    if (!bind(acceptor, (struct sockaddr *)&there, sizeof(there)) && !listen(acceptor, 1) &&
        !getsockname(acceptor, (struct sockaddr *)&there, &size) &&
        !bind(ends[0], (struct sockaddr *)&here, sizeof(here)) &&
        !connect(ends[0], (struct sockaddr *)&there, sizeof(there)))
        ends[1] = accept4(acceptor, NULL, NULL, SOCK_CLOEXEC);
    close(acceptor);
    return ends[1] >= 0;
}

static void test_close_case(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

static void test_stays_here(void **state)
{
    (void)state;
    int ends[2];
    assert_true(line_make("127.0.0.1", "127.0.0.1", ends));
    assert_true(socket_stays_here(ends[0]) && socket_stays_here(ends[1]));
    test_close_case(ends);
    assert_true(line_make("127.0.0.1", "127.0.0.2", ends));
    assert_false(socket_stays_here(ends[0]) || socket_stays_here(ends[1]));
    test_close_case(ends);
    int alone = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_false(socket_stays_here(alone));
    close(alone);
}

enum { CONTROL_ROOM = 16 }; /* TCP_CA_NAME_MAX */
static void control_of(int fd, char name[CONTROL_ROOM])
{
    socklen_t size = CONTROL_ROOM;
    memset(name, 0, CONTROL_ROOM);
    getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size);
}

/* A connection within this host is not paced. Another one keeps its congestion control. (To tell
 * them apart it has to be another one: cubic, if this kernel has it.) */
static void controlled(struct rank *me)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)me->endpoint;
    char before[CONTROL_ROOM], after[CONTROL_ROOM];
    int ends[2];
    for (int lane = 0; lane < me->world->lanes; lane++) {
        control_of(tcp_socket_find(endpoint, !me->number, lane)->fd, after);
        require(me, !strcmp(after, "reno"));
    }
    for (int same = 0; same < 2; same++) {
        int lane = me->world->lanes + same;
        require(me, line_make("127.0.0.1", same ? "127.0.0.1" : "127.0.0.2", ends));
        setsockopt(ends[0], IPPROTO_TCP, TCP_CONGESTION, "cubic", strlen("cubic"));
        control_of(ends[0], before);
        require(me, tcp_socket_install(endpoint, !me->number, lane, ends[0]) == STATUS_OK);
        control_of(ends[0], after);
        require(me, !strcmp(after, same ? "reno" : before));
        close(ends[1]); /* the other end is the endpoint's */
    }
}

static void test_control(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.body = controlled;
    world.lanes = 2;
    assert_true(world_run(&world));
}

/* Rank 1 receives nothing. idle_report() counts the bytes that arrive for it all the same, and sees
 * that no more arrive. */
static void idle_is_reported(struct rank *me)
{
    enum { BYTES = 5000 };
    struct transfer transfer;
    struct piece piece;
    struct idle_report before = {.unheard = -1}, now;
    char *place = rank_take(me, BYTES);
    tcp_idle_report(me->endpoint, &before);
    pthread_barrier_wait(&me->world->barrier);
    transfer = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &piece, place, BYTES);
    if (me->number == 1) {
        do {
            now = (struct idle_report){.unheard = -1};
            tcp_idle_report(me->endpoint, &now);
        } while (now.arrived < before.arrived + BYTES && rank_turn(me));
        require(me, now.arrived == before.arrived + BYTES && now.unheard == -1);
    }
    rank_post(me, !me->number, 1, &transfer);
    require(me, rank_complete(me, &transfer, 1));
}

static void test_idle_is_reported(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.body = idle_is_reported;
    world.lanes = 2;
    assert_true(world_run(&world));
}

/* Rank 0 writes to its socket byte by byte. Rank 1 combines only whole elements, all of them. */
static void parts_are_combined(struct rank *me)
{
    enum { ELEMENTS = 5, BYTES = ELEMENTS * (int)sizeof(uint32_t) };
    const struct tcp_endpoint *endpoint = (struct tcp_endpoint *)me->endpoint;
    uint32_t sent[ELEMENTS], *got = (uint32_t *)(void *)rank_take(me, BYTES);
    struct transfer transfer;
    struct piece piece;
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        sent[i] = 0x01020304 * (i + 1);
        got[i] = i;
    }
    int fd = tcp_socket_find(endpoint, !me->number, 0)->fd;
    transfer = transfer_make(me, TRANSFER_RECV_REDUCE, &piece, (char *)got, BYTES);
    transfer.with = transfer.to;
    transfer.element = sizeof(uint32_t);
    transfer.reduce = reduce_kernel(datatype_find("uint32"), reduction_find("sum"));
    if (me->number == 1)
        rank_post(me, 0, 0, &transfer);
    for (size_t at = 0; at < BYTES; at++) {
        struct idle_report idle = {.unheard = -1};
        if (me->number == 0)
            require(me, send(fd, (const char *)sent + at, 1, MSG_NOSIGNAL) == 1);
        while (me->number == 1 && idle.arrived <= at && rank_turn(me)) {
            idle.arrived = 0;
            tcp_idle_report(me->endpoint, &idle);
        }
        if (me->number == 1)
            rank_turn(me);
        pthread_barrier_wait(&me->world->barrier);
    }
    if (me->number == 1)
        require(me, rank_complete(me, &transfer, 1));
    for (uint32_t i = 0; i < ELEMENTS && me->number == 1; i++)
        require(me, got[i] == sent[i] + i);
}

static void test_parts_are_combined(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.body = parts_are_combined;
    assert_true(world_run(&world));
}

int main(void)
{
    const void *tcp = transport_find("tcp");
    struct CMUnitTest list[] = {
        cmocka_unit_test(test_second_try),
        cmocka_unit_test(test_wrong_are_refused),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_full_sockets),
        cmocka_unit_test(test_stays_here),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_idle_is_reported),
        cmocka_unit_test(test_parts_are_combined),
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        memcpy(&list[i].initial_state, &tcp, sizeof(tcp));
    return cmocka_run_group_tests_name("tcp", list, NULL, NULL);
}
