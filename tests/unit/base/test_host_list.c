/*
 * test_host_list.c - lists of hosts: against tables, there and back, and against Slurm's own.
 * tier: check; load: cpu1
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host_list.h"

#define HOSTS 64

struct names {
    char name[HOSTS][64];
    const char *at[HOSTS];
    int count;
};

static bool name_keep(void *argument, const char *host)
{
    struct names *names = argument;
    assert_true(names->count < HOSTS);
    snprintf(names->name[names->count], sizeof names->name[0], "%s", host);
    names->at[names->count] = names->name[names->count];
    names->count++;
    return true;
}

/* The hosts with a blank between them. */
static void names_join(const struct names *names, char *to, size_t size)
{
    struct text text = text_in(to, size);
    for (int i = 0; i < names->count; i++)
        text_add(&text, "%s%s", i ? " " : "", names->name[i]);
}

static void test_expand(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"login", "login"},
        {"n[1-3]", "n1 n2 n3"},
        {"n[08-10],m7", "n08 n09 n10 m7"},
        {"n[9-10,12]", "n9 n10 n12"},
        {"rack[1-2]n[1,3]", "rack1n1 rack1n3 rack2n1 rack2n3"},
        {"[7-8]", "7 8"},
        {"n[01-3]", "n01 n02 n03"},
        {"n[1-2]-ib", "n1-ib n2-ib"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct names names = {.count = 0};
        char joined[512];
        assert_null(host_list_expand(cases[i][0], name_keep, &names));
        names_join(&names, joined, sizeof joined);
        assert_string_equal(cases[i][1], joined);
    }
}

static bool count_one(void *argument, const char *host)
{
    (void)host;
    ++*(int *)argument;
    return true;
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "empty"},
        {"a,,b", "empty"},
        {"a,", "empty"},
        {"n[1", "not closed"},
        {"n[1-", "not closed"},
        {"n[]", "brackets"},
        {"n[3-1]", "brackets"},
        {"n[a]", "brackets"},
        {"n[1-2-3]", "brackets"},
        {"n[1,]", "brackets"},
        {"n[-1]", "brackets"},
        {"n[1234567890123456789]", "brackets"},
        {"n]", "character"},
        {"a b", "character"},
        {"n[0-65536]", "too many"},
        {"n[0-9]a[0-9]b[0-9]c[0-9]d[0-9]", "too many"},
    };
    int count = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *wrong = host_list_expand(cases[i][0], count_one, &count);
        assert_non_null(wrong);
        assert_non_null(strstr(wrong, cases[i][1]));
    }
    count = 0;
    assert_null(host_list_expand("n[0-65535]", count_one, &count));
    assert_int_equal(HOST_LIST_MOST, count);
    char name[400];
    for (size_t length = 254; length <= 257; length++) { /* of the name before its number */
        memset(name, 'x', length);
        snprintf(name + length, sizeof name - length, "[7]");
        assert_int_equal(length > 254, host_list_expand(name, count_one, &count) != NULL);
    }
}

static void list_of(const struct names *names, char *to, size_t size)
{
    struct text text = text_in(to, size);
    host_list_add(&text, names->at, names->count);
}

static void test_compress(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"n1", "n1"},
        {"login,n1", "login,n1"},
        {"n1,n2,n3,n10", "n[1-3,10]"},
        {"n08,n09,n10,n100", "n[08-10,100]"},
        {"n9,n10,n11", "n[9-11]"},
        {"n099,n100", "n[099-100]"},
        {"n1,n01,n2", "n[1,01,2]"},
        {"n09,n10,n9,n10", "n[09-10,9-10]"},
        {"a1,b2,b3", "a1,b[2-3]"},
        {"rack1-n1,rack1-n2,rack2-n1", "rack1-n[1-2],rack2-n1"},
        {"1,2,4", "[1-2,4]"},
        {"n1,n1", "n[1,1]"},
        {"n2,n1", "n[2,1]"},
        {"n1,m1,n2", "n1,m1,n2"},
        {"n1-ib,n2-ib", "n1-ib,n2-ib"},
        {"n1,n1234567890123456789", "n1,n1234567890123456789"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct names names = {.count = 0};
        char list[512];
        assert_null(host_list_expand(cases[i][0], name_keep, &names));
        list_of(&names, list, sizeof list);
        assert_string_equal(cases[i][1], list);
    }
}

static void test_order(void **state)
{
    (void)state;
    struct names names = {.count = 0};
    assert_null(host_list_expand("n10,n9,m2,login,n1,n09,n2,m1", name_keep, &names));
    char *list = host_list_sorted(names.at, names.count);
    assert_string_equal("login,m[1-2],n[1-2,9,09-10]", list);
    free(list);
}

/* Hosts of few prefixes, with and without leading zeros. */
static void names_draw(struct names *names, unsigned *seed)
{
    static const char *const prefixes[] = {"n", "n", "n", "rack1-n", "", "gpu0x"};
    names->count = 0;
    int count = 1 + rand_r(seed) % (HOSTS - 1), number = rand_r(seed) % 110;
    for (int i = 0; i < count; i++) {
        char name[64];
        const char *prefix = prefixes[rand_r(seed) % 8 ? 0 : rand_r(seed) % 6];
        number = rand_r(seed) % 4 ? number + 1 : rand_r(seed) % 1200;
        snprintf(name, sizeof name, "%s%0*d", prefix, rand_r(seed) % 9 ? 1 : 3, number);
        name_keep(names, name);
    }
}

/* The names that come back are those that were written; and Slurm, where it is installed, writes
 * the same list. */
static void test_there_and_back(void **state)
{
    (void)state;
    char conf[] = "/tmp/cctest-slurm-XXXXXX", command[8192], shown[4096], list[4096];
    int fd = mkstemp(conf);
    assert_true(fd >= 0 && dprintf(fd, "ClusterName=c\nSlurmctldHost=localhost\n") > 0);
    bool slurm = system("command -v scontrol >/dev/null") == 0;
    unsigned seed = 1;
    for (int turn = 0; turn < 1000; turn++) {
        struct names names, back = {.count = 0};
        char before[4096], after[4096];
        names_draw(&names, &seed);
        list_of(&names, list, sizeof list);
        names_join(&names, before, sizeof before);
        assert_null(host_list_expand(list, name_keep, &back));
        names_join(&back, after, sizeof after);
        assert_string_equal(before, after);
        if (!slurm || turn >= 40)
            continue;
        for (char *blank; (blank = strchr(before, ' '));)
            *blank = ',';
        snprintf(command, sizeof command, "SLURM_CONF=%s scontrol show hostlist %s", conf, before);
        FILE *pipe = popen(command, "r");
        assert_non_null(pipe);
        assert_non_null(fgets(shown, sizeof shown, pipe));
        assert_int_equal(0, pclose(pipe));
        shown[strcspn(shown, "\n")] = '\0';
        assert_string_equal(shown, list);
    }
    close(fd);
    unlink(conf);
    if (!slurm)
        puts("not tested: lists against Slurm's: no scontrol");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expand),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_compress),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
