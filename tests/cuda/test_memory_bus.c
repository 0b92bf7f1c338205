/*
 * test_memory_bus.c - whole jobs: a rank's transports learn the PCI address of the GPU that has its
 * buffers, by which they choose a NIC.
 * tier: deep; load: cpu1; program: own
 */
#include "../unit/command.h"

#include "transports/transports.h"

static struct transport tcp;
const struct transport *const transports[] = {&tcp, NULL};

static enum status tcp_open(const struct transport_config *config, struct endpoint **endpoint,
                            char *reason)
{
    say("memory at '%s'", config->memory_bus ? config->memory_bus : "");
    return transport_tcp.open(config, endpoint, reason);
}

static void check_job(const char *more, const char *first, const char *second)
{
    const struct child *child;
    char words[160];
    snprintf(words, sizeof words, "cctest allreduce -b 64 -e 64 -n 1 -w 0 --np 2 %s", more);
    assert_int_equal(command_run(words, &child), 0);
    if (!strstr(child->err, first) || !strstr(child->err, second))
        print_error("%s: %s\n", more, child->err);
    assert_non_null(strstr(child->err, first));
    assert_non_null(strstr(child->err, second));
}

static void test_bus(void **state)
{
    (void)state;
    check_job("-m host", "rank 0: memory at ''", "rank 1: memory at ''");
    check_job("-m cuda", "rank 0: memory at '0000:1a:00.0'", "rank 1: memory at '0000:22:00.0'");
    check_job("-m cuda --device 1", "rank 0: memory at '0000:22:00.0'",
              "rank 1: memory at '0000:22:00.0'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bus)};
    tcp = transport_tcp;
    tcp.open = tcp_open;
    setenv("CUDA_STANDIN", "threads=1", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
