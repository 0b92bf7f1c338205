/*
 * test_device_executor.c - what the device executor makes of what a device tells of its blocks.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dataplane/execute/execute.h"
#include "dataplane/execute/flat_plan.h"
#include "dataplane/memory/profile.h"

enum { BLOCKS = 4, RUN_NS = 6000 };

/* A device that moves nothing: the test writes what its blocks tell. */
struct idle_device {
    struct device_machine machine;
    struct whereabouts blocks[BLOCKS];
    size_t abort;
    char *room;
    int launches;
};

static struct idle_device *device_of(struct device_machine *machine)
{
    return (struct idle_device *)machine;
}

static enum status reserve(struct device_machine *machine, size_t bytes, char **room)
{
    free(device_of(machine)->room);
    *room = device_of(machine)->room = aligned_alloc(128, bytes);
    return STATUS_OK;
}

static enum status upload(struct device_machine *machine, size_t at, size_t bytes)
{
    (void)machine, (void)at, (void)bytes;
    return STATUS_OK;
}

static enum status settle(struct device_machine *machine)
{
    (void)machine;
    return STATUS_OK;
}

static enum status prepare(struct device_machine *machine, struct machine_run *run)
{
    (void)machine, (void)run;
    return STATUS_OK;
}

static void forget(struct device_machine *machine, struct machine_run *run)
{
    (void)machine, (void)run;
}

static enum status launch(struct device_machine *machine, const struct machine_run *run)
{
    assert_int_equal(run->blocks, BLOCKS);
    device_of(machine)->launches++;
    return STATUS_OK;
}

static enum status poll_machine(struct device_machine *machine, bool *complete, uint64_t *ns)
{
    (void)machine;
    *complete = true;
    *ns = RUN_NS;
    return STATUS_OK;
}

static const struct machine_hooks hooks = {.reserve = reserve,
                                           .upload = upload,
                                           .settle = settle,
                                           .prepare = prepare,
                                           .forget = forget,
                                           .launch = launch,
                                           .poll = poll_machine};

/* A block's clock has its own rate; its shares of the run's time are what counts, and the mean of
 * the blocks is the rank's. A block that told nothing has none. */
static void a_profile_is_the_mean_of_the_blocks(void **state)
{
    (void)state;
    struct idle_device device = {.machine = {.hooks = &hooks}};
    device.machine.words =
        (struct machine_words){.abort = &device.abort, .whereabouts = device.blocks};
    struct device_group group = {.config = {.ranks = 1}, .machine = &device.machine};
    group.end = &group.first;
    struct schedule schedule = {.problem = {.ranks = 1}, .channels = BLOCKS};
    const struct schedule *peers[] = {NULL};
    struct profile profile = {.cycles = {0}};
    const struct device_executor_config config = {.group = &group,
                                                  .schedule = &schedule,
                                                  .peers = peers,
                                                  .datatype = datatype_find("float"),
                                                  .profile = &profile};
    struct execution *execution;
    assert_int_equal(device_executor_create(&config, &execution), STATUS_OK);
    assert_int_equal(device_group_load(&group), STATUS_OK);
    assert_int_equal(execution->hooks->start(execution), STATUS_OK);
    assert_int_equal(device.launches, 1);
    device.blocks[0].spent[PROFILE_COPY] = 100;
    device.blocks[1].spent[PROFILE_COPY] = 7;
    device.blocks[1].spent[PROFILE_PEER] = 21;
    device.blocks[2].spent[PROFILE_REDUCE] = 4000;
    device.blocks[2].spent[PROFILE_PEER] = 4000;
    bool moved, complete;
    assert_int_equal(execution->hooks->progress(execution, &moved, &complete), STATUS_OK);
    assert_true(complete);
    assert_float_equal(profile.device[PROFILE_COPY], RUN_NS * (1 + 0.25) / BLOCKS, 1e-9);
    assert_float_equal(profile.device[PROFILE_PEER], RUN_NS * (0.75 + 0.5) / BLOCKS, 1e-9);
    assert_float_equal(profile.device[PROFILE_REDUCE], RUN_NS * 0.5 / BLOCKS, 1e-9);
    assert_float_equal(profile.device[PROFILE_CREDIT], 0, 0);
    execution->hooks->destroy(execution);
    device_group_clear(&group);
    free(device.room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_profile_is_the_mean_of_the_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
