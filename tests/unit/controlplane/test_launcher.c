/*
 * test_launcher.c - environments with incomplete or contradictory variables of a launcher.
 * tier: check; load: cpu1
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* of cmocka's and ours, ours is meant */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/bootstrap/bootstrap.h"

/* Sets "NAME=VALUE NAME=VALUE". */
static void set_variables(const char *words)
{
    char text[200], *place;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &place); word; word = strtok_r(NULL, " ", &place)) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        setenv(word, equals + 1, 1);
    }
}

/* Garbled or incomplete variables of a launcher are an error that names them, if they speak of
 * several ranks. NULL: any shell may have them, so the bootstrap is local. */
static void test_garbled_launchers(void **state)
{
    (void)state;
#define MASTER " MASTER_ADDR=h MASTER_PORT=29500"
    static const struct {
        const char *variables, *names;
    } cases[] = {
        {"RANK=0 WORLD_SIZE=-2" MASTER, "WORLD_SIZE is '-2', which is not a number of ranks"},
        {"RANK=0 WORLD_SIZE=2x" MASTER, "WORLD_SIZE is '2x'"},
        {"RANK=0 WORLD_SIZE=0" MASTER, "WORLD_SIZE is '0'"},
        {"RANK=2 WORLD_SIZE=2" MASTER, "RANK is '2', which is not a rank below it"},
        {"RANK=x WORLD_SIZE=2" MASTER, "RANK is 'x', which is not a rank below it"},
        {"WORLD_SIZE=2" MASTER, "RANK is not set"},
        {"RANK=1" MASTER, "RANK is 1, but WORLD_SIZE is not set"},
        {"RANK=0 WORLD_SIZE=2 MASTER_PORT=29500", "MASTER_ADDR is not set"},
        {"RANK=0 WORLD_SIZE=2 MASTER_ADDR= MASTER_PORT=29500", "MASTER_ADDR is not set"},
        {"RANK=0 WORLD_SIZE=1" MASTER, NULL},
        {"RANK=0 WORLD_SIZE=" MASTER, NULL},
        {"RANK=1", NULL},
        {"JOB_COMPLETION_INDEX=0", "JOB_COMPLETION_INDEX is 0, but the number of ranks is not"},
        {"JOB_COMPLETION_INDEX=x", "JOB_COMPLETION_INDEX is 'x', which is not a rank"},
        {"JOB_COMPLETION_INDEX=", NULL},
        {"RANK=0" MASTER, NULL},
        {"SLURM_PROCID=1", NULL},
        {"SLURM_STEP_ID=0 SLURM_PROCID=0", NULL},
        {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_RANK is 0, but OMPI_COMM_WORLD_SIZE is not"},
        {"WORLD_SIZE=4", NULL},
        {"MASTER_ADDR=h MASTER_PORT=29500", NULL},
        {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK is not set"},
        {"OMPI_COMM_WORLD_SIZE=x OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE is 'x'"},
        {"RANK=3 OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK is not set"},
        {"OMPI_COMM_WORLD_SIZE=1", NULL},
        {"PMI_SIZE=4", "PMI_RANK is not set"},
        {"PMI_RANK=1", "PMI_RANK is 1, but PMI_SIZE is not set"},
        {"PMI_SIZE=1 PMI_RANK=0", NULL},
        {"SLURM_STEP_ID=0 SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS is not set"},
        {"SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=x", "SLURM_STEP_NUM_TASKS is 'x'"},
        {"SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID is not set"},
        {"SLURM_PROCID=0 SLURM_JOB_ID=7", NULL},
        {"SLURM_PROCID=0 SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1", NULL},
    };
#undef MASTER
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200] = "";
        struct bootstrap bootstrap;
        clearenv();
        set_variables(cases[i].variables);
        launcher_incomplete(-1, text, sizeof text);
        enum status status =
            bootstrap_choose(&(struct bootstrap_options){.rank = -1, .world = -1}, &bootstrap);
        bootstrap_close(&bootstrap);
        if (cases[i].names)
            assert_non_null(strstr(text, cases[i].names));
        else
            assert_string_equal("", text);
        assert_int_equal(cases[i].names ? STATUS_USAGE : STATUS_OK, status);
        assert_true(cases[i].names || bootstrap.kind == BOOTSTRAP_LOCAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_garbled_launchers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
