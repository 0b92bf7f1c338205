/*
 * test_address.c - at which addresses a rank tries to reach another one, and in which order; at
 * which port rank 0 listens.
 * tier: check; load: cpu1
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/net/net.h"

#include <cmocka.h> /* last: its fail() is not that of log.h */

static void list_add(struct address_list *list, const char *text, unsigned char prefix)
{
    struct address *address = &list->list[list->count++];
    *address = (struct address){.family = strchr(text, ':') ? AF_INET6 : AF_INET, .prefix = prefix};
    assert_int_equal(inet_pton(address->family, text, address->bytes), 1);
}

static void expect_routes(const struct address_list *here, const struct address_list *there,
                          const char *expected)
{
    struct address routes[ADDRESSES_MOST];
    char list[400] = "", one[ADDRESS_TEXT];
    int count = addresses_routes(here, there, routes);
    for (int i = 0; i < count; i++) {
        strcat(list, i ? ", " : "");
        strcat(list, address_text(&routes[i], one));
        *strstr(list, " port") = 0;
    }
    assert_string_equal(list, expected);
}

/* Addresses of the same host: loopback first. Addresses of another host: never loopback, nor one
 * that this host has, too; those in a network of this host first. */
static void test_routes(void **state)
{
    (void)state;
    struct address_list here = {.host = 1}, there = {.host = 2};
    list_add(&here, "127.0.0.1", 8);
    list_add(&here, "10.1.2.3", 20);
    list_add(&here, "172.17.0.1", 16);
    list_add(&there, "127.0.0.1", 8);
    list_add(&there, "192.168.7.7", 24);
    list_add(&there, "172.17.0.1", 16);
    list_add(&there, "::1", 128);
    list_add(&there, "10.1.16.1", 20);
    list_add(&there, "10.1.15.1", 20);
    list_add(&there, "fd00::7", 64);
    expect_routes(&here, &there, "10.1.15.1, 192.168.7.7, 10.1.16.1, fd00::7");
    there.host = here.host;
    expect_routes(&here, &there,
                  "127.0.0.1, ::1, 192.168.7.7, 172.17.0.1, 10.1.16.1, 10.1.15.1, fd00::7");
}

/* A port that is taken is not the end, if there are spare ones. */
static void test_spare_ports(void **state)
{
    (void)state;
    struct address taken = {.family = AF_INET, .bytes = {127, 0, 0, 1}}, got = {0};
    struct listeners listeners;
    struct sockaddr_storage bound;
    int fd = listen_at(&taken, false), port = ntohs(taken.port);
    assert_true(fd >= 0);
    assert_int_equal(rendezvous_listen(NULL, "127.0.0.1", port, 0, &listeners), STATUS_ERROR);
    if (port + 50 > 65535)
        port = 65535 - 50;
    assert_int_equal(rendezvous_listen(NULL, "127.0.0.1", port, 50, &listeners), STATUS_OK);
    assert_int_equal(listeners.count, 1);
    getsockname(listeners.fd[0], (struct sockaddr *)&bound, &(socklen_t){sizeof bound});
    assert_true(address_of((struct sockaddr *)&bound, &got));
    assert_in_range(ntohs(got.port), port, port + 50);
    assert_int_not_equal(got.port, taken.port);
    listeners_close(&listeners);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_routes),
                                       cmocka_unit_test(test_spare_ports)};
    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
