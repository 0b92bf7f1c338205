/*
 * test_nvidia.c - how many GPUs CUDA would show, by device files and CUDA_VISIBLE_DEVICES.
 * tier: check; load: cpu1
 */
#include "tests/unit/tree.h"

#include "host/host.h"

static int machine_make(void **state)
{
    (void)state;
    tree_begin();
    return 0;
}

static void test_files(void **state)
{
    (void)state;
    assert_int_equal(nvidia_visible(tree, NULL), 0);
    file_make("dev/nvidiactl", "");
    file_make("dev/nvidia-uvm", "");
    file_make("dev/nvidia-caps/nvidia-cap1", "");
    assert_int_equal(nvidia_visible(tree, NULL), 0);
    file_make("proc/driver/nvidia/gpus/0000:3b:00.0/information", "");
    assert_int_equal(nvidia_visible(tree, NULL), 1); /* before a first use makes device files */
    file_make("dev/nvidia0", "");
    file_make("dev/nvidia1", "");
    file_make("dev/nvidia10", "");
    assert_int_equal(nvidia_visible(tree, NULL), 3);
}

static void test_visible(void **state)
{
    static const struct {
        const char *visible;
        int count;
    } cases[] = {
        {"", 0},
        {"0", 1},
        {"2,0", 2},
        {"0,1,2", 3},
        {"0,7,1", 1}, /* up to the first that is not there */
        {"0,-1,1", 1},
        {"-1", 0},
        {"NoDevFiles", 0},
        {"1,1,2", 1},
        {"1x,2", 0},
        {"99999999999999999999", 0},
        {"GPU-8f2c,GPU-12ab", 2},
        {"GPU-1,GPU-2,GPU-3,GPU-4", 3}, /* there are no more */
        {"MIG-8f2c,MIG-12ab", 1},       /* CUDA takes one part */
        {",", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (nvidia_visible(tree, cases[i].visible) != cases[i].count)
            print_error("CUDA_VISIBLE_DEVICES='%s'\n", cases[i].visible);
        assert_int_equal(nvidia_visible(tree, cases[i].visible), cases[i].count);
    }
    assert_int_equal(nvidia_visible("/nowhere", "0"), 0);
}

static void test_parts(void **state)
{
    (void)state;
    file_make("proc/driver/nvidia/capabilities/gpu0/mig/gi1/access", "");
    assert_int_equal(nvidia_visible(tree, NULL), 3); /* no part for computing yet */
    file_make("proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access", "");
    file_make("proc/driver/nvidia/capabilities/gpu0/mig/gi2/ci0/access", "");
    assert_int_equal(nvidia_visible(tree, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_visible),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, machine_make, tree_remove);
}
