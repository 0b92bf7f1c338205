/*
 * test_parcels.c - parcels are read as they were written, and short where most peers get the same:
 * rank 0 holds those of all ranks at once, and in a full mesh each has one for each other.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "controlplane/control/internal.h"

#include <cmocka.h> /* after log.h: it makes a macro of fail() */

#define RANKS     1000
#define EACH_MOST 40

static unsigned char words[3][EACH_MOST] = {"one word", "another word", "a third word"};

/* Parcels come back as they were written. Returns how many bytes they took. */
static size_t round_trip(const struct parcel *list, int count, size_t each, int rank)
{
    struct bytes bytes = {0};
    struct parcels parcels;
    struct parcel parcel;
    parcels_encode(list, count, each, &bytes);
    size_t size = bytes.size;
    assert_true(parcels_decode(bytes.data, size, rank, RANKS, &parcels));
    assert_int_equal(count, parcels.count);
    for (int i = 0; i < count; i++) {
        size_t left = (size_t)(bytes.data + size - parcels.next.data);
        unsigned char *moved = malloc(left + 1); /* as a reader that frees what it has read */
        assert_true(moved && parcels.left > 0 && parcels.each == each);
        memcpy(moved, parcels.next.data, left);
        parcels_rebase(&parcels, moved);
        bytes_free(&bytes);
        bytes.data = moved;
        size = left;
        assert_true(parcels_take(&parcels, &parcel));
        assert_int_equal(list[i].peer, parcel.peer);
        assert_memory_equal(list[i].data, parcel.data, each);
    }
    assert_false(parcels_take(&parcels, &parcel));
    size_t written = 0;
    bytes_free(&bytes);
    parcels_encode(list, count, each, &bytes);
    written = bytes.size;
    bytes_free(&bytes);
    return written;
}

/* All ranks but this one, and which word each gets. */
static int mesh(struct parcel *list, int rank, int (*word)(int peer))
{
    int count = 0;
    for (int peer = 0; peer < RANKS; peer++)
        if (peer != rank)
            list[count++] = (struct parcel){peer, words[word(peer)]};
    return count;
}

static int same(int peer)
{
    return peer * 0;
}

static int by_host(int peer)
{
    return peer >= 500 && peer < 504;
}

static int in_turn(int peer)
{
    return peer % 3;
}

static int in_pairs(int peer)
{
    return peer / 2 % 3;
}

static void test_a_mesh_is_short(void **state)
{
    static struct parcel list[RANKS];
    (void)state;
    for (int rank = 0; rank < RANKS; rank += 333) {
        assert_in_range(round_trip(list, mesh(list, rank, same), 1, rank), 1, 64);
        assert_in_range(round_trip(list, mesh(list, rank, by_host), 1, rank), 1, 100);
    }
}

/* However the parcels differ, no more than their bytes and two heads. */
static void test_no_mesh_is_longer(void **state)
{
    static struct parcel list[RANKS];
    (void)state;
    for (size_t each = 0; each <= EACH_MOST; each += 8)
        for (int pairs = 0; pairs < 2; pairs++) {
            int count = mesh(list, 7, pairs ? in_pairs : in_turn);
            assert_in_range(round_trip(list, count, each, 7), 4, 4 + 2 * 12 + (size_t)count * each);
        }
}

/* Some peers, of which each has one of three words. */
static void test_any(void **state)
{
    static struct parcel list[RANKS];
    (void)state;
    srand(5);
    for (int times = 0; times < 300; times++) {
        int count = 0, rank = rand() % RANKS, word = 0, step = 1 + rand() % 50;
        for (int peer = rand() % step; peer < RANKS; peer += rand() % 4 ? 1 : 1 + rand() % step) {
            word = rand() % 5 ? word : rand() % 3;
            if (peer != rank)
                list[count++] = (struct parcel){peer, words[word]};
        }
        round_trip(list, count, (size_t)(rand() % EACH_MOST), rank);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mesh_is_short),
        cmocka_unit_test(test_no_mesh_is_longer),
        cmocka_unit_test(test_any),
    };
    return cmocka_run_group_tests_name("parcels", tests, NULL, NULL);
}
