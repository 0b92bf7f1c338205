/*
 * test_switches.c - switches of hosts: the file that names them, halves by switch, and what hosts
 * behind one switch say.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accept/internal.h"
#include "base/log.h"
#include "base/text.h"

#define HOSTS 8

static const char *const hosts[HOSTS] = {"n1", "n2", "n3", "n4.example.org", "n5", "n6", "n7", ""};

/* The switches of `count` hosts by a file: "s1:n1,n2 s2:n3" for the leaves, the same for those
 * above behind " / "; or the sentence that refuses it, without the name of the file. */
static void read_file(const char *content, size_t bytes, int count, char said[1200])
{
    char path[] = "/tmp/cctest-switches-XXXXXX";
    struct switch_level levels[2];
    struct text text = text_in(said, 1200);
    struct log log;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, content, bytes) == (ssize_t)bytes);
    log_init(&log, -1, 0);
    log_attach(&log);
    enum status status = switch_file_read(path, hosts, count, &levels[0], &levels[1]);
    if (status != STATUS_OK) {
        assert_int_equal(status, STATUS_USAGE);
        assert_memory_equal(log.failure.text, path, strlen(path));
        text_add(&text, "%s", log.failure.text + strlen(path));
    }
    for (int l = 0; l < 2 && status == STATUS_OK; l++)
        for (int s = 0; s < levels[l].count; s++) {
            text_add(&text, "%s%s:", s ? " " : l ? " / " : "", levels[l].name[s]);
            for (int h = 0, before = 0; h < count; h++)
                if (levels[l].switches[h] == s)
                    text_add(&text, "%s%d", before++ ? "," : "", h + 1);
        }
    switch_level_free(&levels[0]);
    switch_level_free(&levels[1]);
    log_attach(NULL);
    close(fd);
    unlink(path);
}

struct file_case {
    const char *content, *said;
};

static void check_cases(const struct file_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char said[1200];
        read_file(cases[i].content, strlen(cases[i].content), HOSTS, said);
        assert_string_equal(said, cases[i].said);
    }
}

static void test_files(void **state)
{
    (void)state;
    static const struct file_case cases[] = {
        {"s1: n[1-4]\ns2: n[5-7]\n", "s1:1,2,3,4 s2:5,6,7"},
        {"# leaves\n\n s2 :n[5-7,100-65000] # far\r\n s1: n[1-4]", "s2:5,6,7 s1:1,2,3,4"},
        {"a: n1,n2,n3,n4.example.org\nempty: other[1-9]\nb: n[5-7]\n", "a:1,2,3,4 b:5,6,7"},
        {"SwitchName=s1 Nodes=n[1-4]\nswitchname=s2 NODES=n[5-7] LinkSpeed=100\n"
         "SwitchName=spine Switches=s[1-2] LinkSpeed=400\n",
         "s1:1,2,3,4 s2:5,6,7"},
        {"SwitchName=spine \\\n  Switches=s[1-2]\nSwitchName=s1 \\\r\nNodes=\"n[1-4]\"\n"
         "SwitchName = s2 Nodes = n[5-7] # the last\n",
         "s1:1,2,3,4 s2:5,6,7"},
        /* Three levels; and a fat tree, whose leaves have two parents. */
        {"SwitchName=top Switches=p[1-2]\nSwitchName=p1 Switches=s1,s2\nSwitchName=p2 Switches=s3\n"
         "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=s3 Nodes=n[5-7]\n",
         "s1:1,2 s2:3,4 s3:5,6,7 / p1:1,2,3,4 p2:5,6,7"},
        {"SwitchName=s1 Nodes=n[1-3]\nSwitchName=s2 Nodes=n4\nSwitchName=s3 Nodes=n[5-7]\n"
         "SwitchName=p1 Switches=s[1-2]\nSwitchName=p2 Switches=s[1-2]\nSwitchName=p3 Switches=s3\n"
         "SwitchName=p4 Switches=s3\n",
         "s1:1,2,3 s2:4 s3:5,6,7 / p1:1,2,3,4 p3:5,6,7"},
        {"SwitchName=c1 Switches=s[1-2]\nSwitchName=c2 Switches=s[1-2]\nSwitchName=s1 "
         "Nodes=n[1-4]\n"
         "SwitchName=s2 Nodes=n[5-7]\n",
         "s1:1,2,3,4 s2:5,6,7"},
        /* one side has a level less */
        {"SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n2\nSwitchName=s3 Nodes=n[3-4]\n"
         "SwitchName=s4 Nodes=n5\nSwitchName=s5 Nodes=n[6-7]\n"
         "SwitchName=p1 Switches=s[1-2]\nSwitchName=p2 Switches=s3\n"
         "SwitchName=p3 Switches=s[4-5]\nSwitchName=q1 Switches=p[1-2]\n"
         "SwitchName=top Switches=q1,p3\n",
         "s1:1 s2:2 s3:3,4 s4:5 s5:6,7 / p3:5,6,7 q1:1,2,3,4"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* Hosts of several domains have one name in the file. */
static void test_short_name(void **state)
{
    (void)state;
    static const char *const domains[] = {"n4.a", "n5", "n4.b", "n4.c"};
    char path[] = "/tmp/cctest-switches-XXXXXX";
    struct switch_level leaves, above;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "s1: n4\ns2: n5\n", 14) == 14);
    assert_int_equal(switch_file_read(path, domains, 4, &leaves, &above), STATUS_OK);
    assert_int_equal(leaves.count, 2);
    assert_memory_equal(leaves.switches, ((const int[]){0, 1, 0, 0}), 4 * sizeof(int));
    switch_level_free(&leaves);
    switch_level_free(&above);
    close(fd);
    unlink(path);
}

#define FORMS "give 's1: n[1-16,18]', or Slurm's 'SwitchName=s1 Nodes=n[1-16,18]'"
#define NAMES "give names as n[1-16,18], with commas between them and without blanks"

static void test_refused(void **state)
{
    (void)state;
    static const struct file_case cases[] = {
        {"", " names no switch: " FORMS},
        {"# nothing\n", " names no switch: " FORMS},
        {"s1: n[1-4]\nn[5-7]\n", ":2: 'n[5-7]' is no line of a switch: " FORMS},
        {"s1: n[1-4]\ns2:\n", ":2: 's2' has no hosts: " FORMS},
        {"s1: n1 n2\n",
         ":1: 'n1 n2' is no list of names, a name has a character that no host has: " NAMES},
        {"s1: n[1-\n", ":1: 'n[1-' is no list of names, a bracket is not closed: " NAMES},
        {"s1: n[0-999999999]\n",
         ":1: 'n[0-999999999]' is no list of names, it names too many hosts: " NAMES},
        {"s1: n[1-4]\ns2: n[4-7]\n", ":2: host n4 is behind switch s1 already (line 1): name "
                                     "each host behind one switch"},
        {"s1: n[1-4]\ns1: n[5-7]\n",
         ":2: switch s1 has a line already (line 1): give each switch one line"},
        {"s1: n[1-2]\ns2: n[5,7]\n",
         " has no switch for n3,n4.example.org,n6, which are in this run: add them to the line of "
         "their switch"},
        {"s1: n[1-6]\n",
         " has no switch for n7, which is in this run: add it to the line of its switch"},
        {"BlockName=b1 Nodes=n[1-7]\n",
         ":1: 'BlockName' stands where SwitchName= is expected: give a line of Slurm's "
         "topology/tree for each switch"},
        {"SwitchName=s1\n", ":1: 's1' has neither Nodes= nor Switches=: give one of them"},
        {"SwitchName=s1 Nodes=n1 Switches=s2\n",
         ":1: 's1' has Nodes= and Switches=: give one of them"},
        {"SwitchName=s1 Nodes= n[1-7] up\n",
         ":1: 'up' is not KEY=VALUE: give a value for each key"},
        {"SwitchName=s1 Nodes=n[1-7]\nSwitchName=a Switches=s1,s2\n",
         ":2: switch s2 has no line of its own: add it, with its hosts or switches"},
        {"SwitchName=s1 Nodes=n[1-7]\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n",
         ":2: switch a is more than 16 levels above its hosts: check that no switch is below "
         "itself"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* Pairs cross the sides, and each host is in one. */
static void test_pairs(void **state)
{
    (void)state;
    static int of[] = {0, 0, 1, 1, 2, 2, 3, 3, -1}, few[] = {8, 6, 4, 0, 1}, alone[] = {0, 1};
    const struct switch_level level = {.count = 4, .switches = of};
    int all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, met[9][9] = {{0}};
    struct host_pair pairs[4];
    uint64_t random = 1;
    for (int turn = 0; turn < 200; turn++) {
        bool used[9] = {false};
        assert_int_equal(switches_pairs(&level, all, 9, &random, pairs), 4);
        for (int i = 0; i < 4; i++) {
            int a = pairs[i].a, b = pairs[i].b;
            assert_true(of[a] >= 0 && of[b] >= 0 && of[a] != of[b] && !used[a] && !used[b]);
            used[a] = used[b] = true;
            met[a][b] = met[b][a] = 1;
        }
    }
    assert_true(met[0][2] && met[0][3] && met[0][5] && met[0][6] &&
                met[3][6]); /* sides and partners change */
    assert_int_equal(switches_pairs(&level, few, 5, &random, pairs), 2);
    assert_int_equal(switches_pairs(&level, alone, 2, &random, pairs), 0);
    assert_int_equal(switches_used(&level, few, 5), 3);
    assert_int_equal(switches_used(&level, alone, 2), 1);
}

static int common(const struct switch_level *level, int count, const char *faulty)
{
    bool is_faulty[64];
    for (int h = 0; h < count; h++)
        is_faulty[h] = strchr(faulty, 'a' + h);
    return switches_common(level, count, is_faulty);
}

/* Sick hosts behind one switch: two of 16 hosts behind 4 switches are so with probability 1/5,
 * three with 1/35. */
static void test_common(void **state)
{
    (void)state;
    int of[16];
    for (int h = 0; h < 16; h++)
        of[h] = h / 4;
    const struct switch_level level = {.count = 4, .switches = of};
    assert_int_equal(common(&level, 16, "efg"), 1);
    assert_int_equal(common(&level, 16, "mnop"), 3);
    assert_int_equal(common(&level, 16, "ef"), -1);
    assert_int_equal(common(&level, 16, "efi"), -1);
    assert_int_equal(common(&level, 16, ""), -1);
    assert_int_equal(common(&level, 8, "abc"), -1); /* of two switches: 1/7 */
    for (int h = 8; h < 16; h++)
        of[h] = -1;
    assert_int_equal(common(&level, 16, "abc"), -1); /* of the known ones: 1/7, too */
    of[4] = -1;
    assert_int_equal(common(&level, 16, "efg"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),   cmocka_unit_test(test_short_name),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_common),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
