/*
 * rounds.c - which hosts meet: all of them in rounds, by the circle method over shuffled hosts.
 */
#include "accept/judge/judge.h"

#include "base/numbers.h"

#define PARTNERS_LEAST 7
#define READINGS_LEAST 6 /* of a host in a series: what differs among fewer tells of no spread */

struct rounds {
    struct arena *memory; /* of all that follows */
    int hosts, count;
    int turning;  /* places on the circle that turn: an odd number; the last host stays */
    int *host;    /* [turning + 1]: of each place; `hosts` itself: nobody */
    int *place;   /* of each host */
    int *turn;    /* of each round of the plan: its number on the circle */
    bool *chosen; /* [turning]: turns of the plan */
    int *left;    /* hosts whose partners are absent */
};

int rounds_all(int hosts)
{
    return hosts < 2 ? 0 : hosts - 1 + hosts % 2;
}

int rounds_enough(int hosts)
{
    int partners = log2_up(hosts);
    if (partners < PARTNERS_LEAST)
        partners = PARTNERS_LEAST;
    int rounds = partners + hosts % 2, all = rounds_all(hosts);
    if (rounds < all || hosts < 2)
        return rounds < all ? rounds : all;
    return (READINGS_LEAST + hosts - 2) / (hosts - 1) * all;
}

struct rounds *rounds_plan(int hosts, int count, uint64_t seed)
{
    int places = hosts + hosts % 2, turning = places - 1;
    struct arena *memory = arena_create();
    struct rounds *rounds = arena_new(memory, 1, sizeof *rounds);
    *rounds = (struct rounds){
        .memory = memory,
        .hosts = hosts,
        .count = count,
        .turning = turning,
        .host = arena_new(memory, (size_t)places, sizeof *rounds->host),
        .place = arena_new(memory, (size_t)places, sizeof *rounds->place),
        .turn = arena_new(memory, (size_t)turning, sizeof *rounds->turn),
        .chosen = arena_new(memory, (size_t)turning, sizeof *rounds->chosen),
        .left = arena_new(memory, (size_t)hosts, sizeof *rounds->left),
    };
    random_shuffle(rounds->host, places, &seed);
    random_shuffle(rounds->turn, turning, &seed);
    for (int p = 0; p < places; p++)
        rounds->place[rounds->host[p]] = p;
    for (int r = 0; r < count && r < turning; r++)
        rounds->chosen[rounds->turn[r]] = true;
    return rounds;
}

void rounds_free(struct rounds *rounds)
{
    if (rounds)
        arena_free(rounds->memory);
}

/* The turn of the circle in which two places meet. */
static int turn_of(const struct rounds *rounds, int a, int b)
{
    int stays = rounds->turning;
    if (a == stays)
        a = b;
    if (b == stays)
        b = a;
    return (int)(((long)a + b) % rounds->turning);
}

/* The place that a place meets in a turn. */
static int place_opposite(const struct rounds *rounds, int place, int turn)
{
    int turning = rounds->turning;
    if (place == turning) /* 2 * i = turn, where an odd number of places turns */
        return (turn % 2 ? turn + turning : turn) / 2 % turning;
    int other = (turn - place % turning + turning) % turning;
    return other == place ? turning : other;
}

static bool is_present(const struct rounds *rounds, int host, const bool *present)
{
    return host < rounds->hosts && present[host];
}

/* Pairs hosts that are left over. */
static int pair_left(const struct rounds *rounds, int left, struct host_pair *pairs)
{
    int count = 0;
    for (int i = 0; i < left; i++) {
        int a = rounds->left[i];
        for (int j = i + 1; a >= 0 && j < left; j++) {
            int b = rounds->left[j];
            if (b < 0 || rounds->chosen[turn_of(rounds, rounds->place[a], rounds->place[b])])
                continue;
            pairs[count++] = (struct host_pair){.a = a, .b = b};
            rounds->left[j] = a = -1;
        }
    }
    return count;
}

int rounds_pairs(const struct rounds *rounds, int round, const bool *present,
                 struct host_pair *pairs)
{
    int count = 0, left = 0;
    for (int p = 0; p <= rounds->turning; p++) {
        int opposite = place_opposite(rounds, p, rounds->turn[round % rounds->turning]);
        int a = rounds->host[p], b = rounds->host[opposite];
        if (!is_present(rounds, a, present))
            continue;
        if (!is_present(rounds, b, present))
            rounds->left[left++] = a;
        else if (p < opposite)
            pairs[count++] = (struct host_pair){.a = a, .b = b};
    }
    return count + pair_left(rounds, left, pairs + count);
}
