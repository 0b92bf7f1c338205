/*
 * tcp.c - requirements for tcp alone: a rank that gives up a connection before it confirms it, and
 * connects again; the congestion control of a connection; wait statistics; and bytes that arrive
 * while a rank waits for something else.
 */
#include "net/socket.h"
#include "transports/tcp/socket.h"
#include "transports/tcp/stats.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "net/handshake.h"
#include "transports/transports.h"
#include "world.h"

/* The first attempt of rank 1, by hand: it proves itself to rank 0, then closes the connection. */
static void give_up(struct rank *me)
{
    struct address_list home;
    struct sockaddr_storage place;
    uint32_t hello[3] = {htonl(1), htonl(0), htonl(0)}; /* from, to, lane */
    require(me, addresses_decode(me->world->blob[0], me->world->blob_size[0], &home));
    socklen_t size = address_socket(&home.list[0], &place);
    int fd = socket(home.list[0].family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(me, connect(fd, (struct sockaddr *)&place, size) == 0);
    struct handshake *handshake =
        handshake_create(fd, false, world_secret, "data", hello, sizeof(hello));
    enum handshake_state state;
    while ((state = handshake_step(handshake)) == HANDSHAKE_PENDING)
        continue; /* the socket blocks */
    handshake_free(handshake);
    close(fd);
    require(me, state == HANDSHAKE_DONE);
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

static void test_case_close(const int ends[2])
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
    test_case_close(ends);
    assert_true(line_make("127.0.0.1", "127.0.0.2", ends));
    assert_false(socket_stays_here(ends[0]) || socket_stays_here(ends[1]));
    test_case_close(ends);
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

int main(void)
{
    const void *tcp = transport_find("tcp");
    struct CMUnitTest list[] = {cmocka_unit_test(test_second_try),
                                cmocka_unit_test(test_stays_here), cmocka_unit_test(test_control),
                                cmocka_unit_test(test_idle_is_reported)};
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        memcpy(&list[i].initial_state, &tcp, sizeof(tcp));
    return cmocka_run_group_tests_name("tcp", list, NULL, NULL);
}
