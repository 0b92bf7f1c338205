/*
 * tcp.c - what only tcp can be asked: a rank that gives a connection up when all but the last word
 * is said, because its peer had slept, and comes again.
 */
#include "../../transports/tcp.h"

#include <arpa/inet.h>
#include <unistd.h>

#include "handshake.h"
#include "world.h"

/* Rank 1's first try, by hand: it proves itself to rank 0, and is gone. */
static void give_up(struct rank *me)
{
    struct tcp_home home;
    struct sockaddr_storage place;
    uint32_t hello[3] = {htonl(1), htonl(0), htonl(0)}; /* from, to, lane */
    require(me, tcp_home_read(me->world->blob[0], me->world->blob_size[0], &home));
    socklen_t size = tcp_sockaddr(&home.list[0], &place);
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

int main(void)
{
    const void *tcp = transport_find("tcp");
    struct CMUnitTest list[] = {cmocka_unit_test(test_second_try)};
    memcpy(&list[0].initial_state, &tcp, sizeof(tcp));
    return cmocka_run_group_tests_name("tcp", list, NULL, NULL);
}
