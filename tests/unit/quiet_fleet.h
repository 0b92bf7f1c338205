/*
 * quiet_fleet.h - a simulated fleet (simulated_fleet.h) without noise: what is found in it is
 * known.
 */
#ifndef CCTEST_TESTS_UNIT_QUIET_FLEET_H
#define CCTEST_TESTS_UNIT_QUIET_FLEET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/simulated_fleet.h"

static const char *const quiet_names[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};

static inline void fleet_quiet(struct simulated *f, int hosts, int rails)
{
    simulated_create(f, hosts, rails, 1);
    f->quiet = true;
    for (int h = 0; h < hosts; h++)
        f->bias[h][0] = f->bias[h][1] = f->bias[h][2] = 1;
}

/* Makes a host or link faulty, always. */
static inline void make_fault(struct simulated *f, struct seeded fault)
{
    fault.often = fault.often > 0 ? fault.often : 1;
    f->faults[f->fault_count] = fault;
    f->fault_of[fault.host] = f->fault_count;
    if (fault.peer >= 0)
        f->fault_of[fault.peer] = f->fault_count;
    f->fault_count++;
}

static inline struct screened screen_with(struct simulated *f, const struct references *references)
{
    struct rounds *plan = rounds_plan(f->hosts, rounds_all(f->hosts), 1); /* all pairs */
    struct screened screened = simulated_screen(f, plan, rounds_all(f->hosts), references, 1);
    rounds_free(plan);
    return screened;
}

static inline struct screened screen(struct simulated *f)
{
    struct references references = references_default();
    return screen_with(f, &references);
}

static inline void sentence_get(const struct screened *screened, int at, char line[400])
{
    struct text text = text_in(line, 400);
    assert_true(at < screened->found->count);
    fleet_fault_put(&screened->found->items[at], &(struct fleet_names){.hosts = quiet_names},
                    &text);
}

static inline void check_sentence(const struct screened *screened, int at, const char *expected)
{
    char line[400];
    sentence_get(screened, at, line);
    assert_string_equal(line, expected);
}

/* A sentence that begins so. */
static inline void check_beginning(const struct screened *screened, int at, const char *expected)
{
    char line[400];
    sentence_get(screened, at, line);
    line[strlen(expected)] = '\0';
    assert_string_equal(line, expected);
}

/* The only finding, and its sentence. */
static inline void check_one(struct simulated *f, const char *expected)
{
    struct screened screened = screen(f);
    assert_int_equal(screened.found->count, 1);
    check_sentence(&screened, 0, expected);
    screened_free(&screened);
    simulated_free(f);
}

#define BESIDE "the fleet's median is 11.8 (spread 0, threshold 11.2): "

#define NONE_BESIDE "the fleet's median is 0% (spread 0%, threshold 0.1%): "

#endif
