/*
 * test_bootstrap.c - what a bootstrap reads: the environment, node lists, a rendezvous, and bytes
 * from other processes.
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

#include "base/log.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "controlplane/bootstrap/internal.h"
#include "controlplane/control/control.h"

/* A parser stays inside any bytes (run with the sanitizers). */
static void test_parsers_on_noise(void **state)
{
    (void)state;
    srandom(1);
    for (int round = 0; round < 20000; round++) {
        size_t size = (size_t)random() % 300;
        unsigned char *bytes = malloc(size ? size : 1);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)(random() % 3 ? random() % 12 : random());
        struct join_request request;
        join_request_decode(bytes, size, &request);
        struct frame frame;
        struct wire wire = {.fd = -1, .in = {.data = bytes, .size = size}};
        assert_int_not_equal(FRAME_WHOLE, wire_take(&wire, &frame));
        free(bytes);
    }
}

static void test_join_request_travels(void **state)
{
    (void)state;
    const struct membership membership = {.rank = 2, .ranks = 4, .bootstrap = "test"};
    struct join_request request, back;
    unsigned char bytes[HANDSHAKE_HELLO_MOST];
    char options[3000];
    memset(options, 'o', sizeof options);
    options[sizeof options - 1] = '\0';
    join_request_fill(&request, &membership, options);
    size_t size = join_request_encode(&request, bytes);
    assert_in_range(size, 100, HANDSHAKE_HELLO_MOST);
    assert_true(join_request_decode(bytes, size, &back));
    assert_memory_equal(&request, &back, sizeof request);
    assert_false(join_request_decode(bytes, size - 1, &back));
    char why[1024];
    assert_int_equal(STATUS_OK, join_request_check(&request, &back, why, sizeof why));
    options[sizeof options - 2] = 'x'; /* behind the part that travels as text */
    join_request_fill(&back, &membership, options);
    assert_int_equal(STATUS_USAGE, join_request_check(&request, &back, why, sizeof why));
}

/* Rank 0's text in a process manager, as the others read it. */
static void test_meeting_travels(void **state)
{
    (void)state;
    struct membership root = {.rank = 0, .ranks = 2, .root_host = "node1", .secret = "given"};
    root.root_home.host = 77;
    root.root_home.count = ADDRESSES_MOST;
    for (int i = 0; i < ADDRESSES_MOST; i++)
        root.root_home.list[i] = (struct address){
            .family = i % 2 ? AF_INET : AF_INET6, .port = 1, .bytes = {10, 0, 0, 1}};
    unsigned char nonce[SECRET_BYTES], heard[SECRET_BYTES];
    memset(nonce, 's', SECRET_BYTES);
    char text[MANAGER_TEXT_MOST];
    meeting_encode(&root, nonce, text);
    assert_null(strstr(text, "676976656e")); /* "given" */
    struct membership rank = {.rank = 1};
    assert_true(meeting_decode(text, &rank, heard));
    assert_memory_equal(nonce, heard, SECRET_BYTES);
    assert_string_equal("node1", rank.root_host);
    assert_int_equal(77, rank.root_home.host);
    assert_int_equal(ADDRESSES_MOST, rank.root_home.count);

    for (size_t size = strlen(text); size-- > 0;) {
        text[size] = '\0';
        struct membership none = {.rank = 1};
        if (meeting_decode(text, &none, heard)) /* whole addresses are left */
            assert_in_range(none.root_home.count, 1, ADDRESSES_MOST - 1);
    }
    root.root_home.count = 0; /* no rank could connect */
    meeting_encode(&root, nonce, text);
    assert_false(meeting_decode(text, &rank, heard));
    assert_false(meeting_decode("no number", &rank, heard));
    assert_false(meeting_decode("", &rank, heard));
}

/* The job's key takes both the secret and the job's nonce. */
static void test_secret_is_mixed(void **state)
{
    (void)state;
    struct membership ours = {.secret = "given"}, same = ours, other = ours, poor = {.rank = 1};
    secret_mix((const unsigned char[SECRET_BYTES]){1}, &ours);
    secret_mix((const unsigned char[SECRET_BYTES]){1}, &same);
    secret_mix((const unsigned char[SECRET_BYTES]){2}, &other);
    secret_mix((const unsigned char[SECRET_BYTES]){1}, &poor);
    assert_memory_equal(ours.secret, same.secret, SECRET_BYTES);
    assert_memory_not_equal(ours.secret, other.secret, SECRET_BYTES);
    assert_memory_not_equal(ours.secret, poor.secret, SECRET_BYTES);
}

static void test_nodelist(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"node7", "node7"},
        {"node1,node2", "node1"},
        {"node[07-09,12],other", "node07"},
        {"a[3,5]b[10-11]x", "a3b10x"},
        {"n[1-", ""},
        {"n[1", ""},
        {"n[]", ""},
        {"[7-9]", "7"},
        {",n1", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char host[64];
        assert_int_equal(cases[i][1][0] != '\0', nodelist_first(cases[i][0], host, sizeof host));
        assert_string_equal(cases[i][1], host);
    }
    char small[4];
    nodelist_first("abcdefgh[123456]", small, sizeof small);
    assert_string_equal("abc", small);
}

static void test_rendezvous(void **state)
{
    (void)state;
    char host[32];
    int port;
    assert_true(rendezvous_parse("node1:5000", host, sizeof host, &port));
    assert_string_equal("node1", host);
    assert_int_equal(5000, port);
    assert_true(rendezvous_parse("[fe80::1]:1", host, sizeof host, &port));
    assert_string_equal("fe80::1", host);
    static const char *const wrong[] = {
        "node1",       "node1:", ":5",   "node1:0",
        "node1:65536", "n:-1",   "n:5x", "::1:5",
        "[]:5",        "[::1]",  "",     "a-host-name-that-is-too-long-for-it:5"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(rendezvous_parse(wrong[i], host, sizeof host, &port));
}

static const char *const variables[] = {"RANK",
                                        "WORLD_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_STEP_ID",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMIX_NAMESPACE",
                                        "PMIX_RANK",
                                        "MPI_LOCALNRANKS",
                                        "PMI_FD",
                                        "PMI_ID",
                                        "MV2_COMM_WORLD_RANK",
                                        "MV2_COMM_WORLD_SIZE",
                                        "PALS_RANKID",
                                        "PALS_SIZE",
                                        "ALPS_APP_PE",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_NODELIST",
                                        "SLURM_STEP_NUM_NODES",
                                        "SLURM_DISTRIBUTION",
                                        "SLURM_CLUSTER_NAME",
                                        "SLURM_WORKING_CLUSTER"};

static void forget_launchers(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
}

static enum status choose(struct bootstrap_options options, enum bootstrap_kind *kind)
{
    struct log log;
    struct bootstrap bootstrap;
    log_init(&log, -1, 0);
    log_attach(&log);
    enum status status = bootstrap_choose(&options, &bootstrap);
    bootstrap_close(&bootstrap);
    log_attach(NULL);
    *kind = bootstrap.kind;
    return status;
}

static void test_choice(void **state)
{
    (void)state;
    forget_launchers();
    enum bootstrap_kind kind;
    const struct bootstrap_options none = {.rank = -1, .world = -1};
    struct bootstrap_options options = none;
    assert_int_equal(STATUS_OK, choose(options, &kind));
    assert_int_equal(BOOTSTRAP_LOCAL, kind);

    setenv("SLURM_PROCID", "1", 1); /* a batch script, which is no step */
    assert_int_equal(STATUS_OK, choose(options, &kind));
    assert_int_equal(BOOTSTRAP_LOCAL, kind);
    setenv("SLURM_STEP_ID", "0", 1);
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    assert_int_equal(STATUS_OK, choose(options, &kind));
    assert_int_equal(BOOTSTRAP_LOCAL, kind);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    assert_int_equal(STATUS_OK, choose(options, &kind));
    assert_int_equal(BOOTSTRAP_TCP, kind);
    options.np = 2; /* comes before any launcher */
    assert_int_equal(STATUS_OK, choose(options, &kind));
    assert_int_equal(BOOTSTRAP_LOCAL, kind);
    unsetenv("SLURM_STEP_ID");

    options = none;
    setenv("OMPI_COMM_WORLD_RANK", "0", 1); /* supported, but it names no hosts */
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    assert_int_equal(STATUS_USAGE, choose(options, &kind));
    options.rendezvous = "h:1";
    assert_int_equal(STATUS_OK, choose(options, &kind));
    assert_int_equal(BOOTSTRAP_TCP, kind);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    assert_int_equal(STATUS_USAGE, choose(options, &kind));

    forget_launchers();
    options = none;
    options.rendezvous = "h:1";
    options.rank = 2;
    options.world = 2;
    assert_int_equal(STATUS_USAGE, choose(options, &kind));
    options.rank = 1;
    assert_int_equal(STATUS_OK, choose(options, &kind));
    options.np = 2;
    assert_int_equal(STATUS_USAGE, choose(options, &kind));
    options = none;
    options.world = 2;
    assert_int_equal(STATUS_USAGE, choose(options, &kind));
}

/* The environment names PMIx, but no server answers (or there is no library). */
static void test_choice_with_pmix(void **state)
{
    (void)state;
    forget_launchers();
    enum bootstrap_kind kind;
    struct bootstrap_options options = {.rank = -1, .world = -1};
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("PMIX_NAMESPACE", "none", 1);
    setenv("PMIX_RANK", "0", 1);
    assert_true(choose(options, &kind) != STATUS_OK);
    setenv("RANK", "1", 1); /* the inner launcher comes first */
    setenv("WORLD_SIZE", "2", 1);
    setenv("MASTER_ADDR", "h", 1);
    setenv("MASTER_PORT", "1", 1);
    assert_int_equal(STATUS_OK, choose(options, &kind));
    assert_int_equal(BOOTSTRAP_TCP, kind);
    for (size_t i = 0; i < 4; i++)
        unsetenv(variables[i]);             /* torchrun's */
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1); /* one rank is alone */
    assert_int_equal(STATUS_OK, choose(options, &kind));
    assert_int_equal(BOOTSTRAP_LOCAL, kind);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    options.np = 2;
    assert_int_equal(STATUS_OK, choose(options, &kind));
    forget_launchers();
}

/* Unsupported launchers, and incomplete variables of supported ones, are an error. */
static void test_unsupported(void **state)
{
    (void)state;
    static const struct {
        const char *rank, *size;
    } unsupported[] = {
        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
        {"PMI_ID", "PMI_SIZE"},
        {"PALS_RANKID", "PALS_SIZE"},
        {"ALPS_APP_PE", NULL},
        {"OMPI_COMM_WORLD_RANK", NULL},
        {"PMI_RANK", NULL},
        {"PMIX_RANK", NULL},
        {"PMIX_NAMESPACE", NULL},
    };
    enum bootstrap_kind kind;
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        struct bootstrap_options options = {.rank = -1, .world = -1};
        forget_launchers();
        setenv(unsupported[i].rank, "0", 1);
        if (unsupported[i].size)
            setenv(unsupported[i].size, "4", 1);
        assert_true(choose(options, &kind) != STATUS_OK);
        options.np = 2;
        assert_int_equal(STATUS_OK, choose(options, &kind));
        assert_int_equal(BOOTSTRAP_LOCAL, kind);
        options = (struct bootstrap_options){.rank = 0, .world = 2, .rendezvous = "h:1"};
        assert_int_equal(STATUS_OK, choose(options, &kind));
        assert_int_equal(BOOTSTRAP_TCP, kind);
        if (!unsupported[i].size)
            continue;
        setenv(unsupported[i].size, "1", 1); /* one rank is alone */
        assert_int_equal(STATUS_OK,
                         choose((struct bootstrap_options){.rank = -1, .world = -1}, &kind));
        assert_int_equal(BOOTSTRAP_LOCAL, kind);
    }
    forget_launchers();
}

/* Where the ranks meet, by the launcher of this environment. */
static enum status meet(struct membership *membership, char *shared, size_t size)
{
    struct log log;
    *membership = (struct membership){.rank = -1};
    log_init(&log, -1, 0);
    log_attach(&log);
    const struct launch launch = launcher_detect(-1);
    assert_non_null(launch.launcher);
    membership->rank = launch.rank;
    membership->ranks = launch.ranks;
    enum status status = launch.launcher->meet(membership, shared, size);
    log_attach(NULL);
    return status;
}

static void slurm_step(const char *job, const char *step, const char *nodes, const char *count)
{
    forget_launchers();
    setenv("SLURM_WORKING_CLUSTER", "c:10.0.0.1:6817:9728:109", 1);
    setenv("SLURM_CLUSTER_NAME", "c", 1);
    setenv("SLURM_JOB_ID", job, 1);
    setenv("SLURM_STEP_ID", step, 1);
    setenv("SLURM_STEP_NODELIST", nodes, 1);
    setenv("SLURM_STEP_NUM_NODES", count, 1);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    setenv("SLURM_PROCID", "2", 1);
}

static void test_slurm_steps(void **state)
{
    (void)state;
    struct membership one, other;
    char shared[256], others[256];
    slurm_step("7", "0", "n[3-4]", "2");
    assert_int_equal(STATUS_OK, meet(&one, shared, sizeof shared));
    assert_string_equal("n3", one.root_host);
    assert_int_equal(2, one.rank);
    assert_int_equal(4, one.ranks);
    assert_in_range(one.root_port, 20000, 29999);
    assert_in_range(one.spare_ports, 1, 100);
    setenv("SLURM_PROCID", "3", 1); /* every rank finds the same */
    assert_int_equal(STATUS_OK, meet(&other, others, sizeof others));
    assert_string_equal(shared, others);
    assert_int_equal(one.root_port, other.root_port);

    slurm_step("7", "1", "n[3-4]", "2");
    assert_int_equal(STATUS_OK, meet(&other, others, sizeof others));
    assert_string_not_equal(shared, others);
    assert_int_not_equal(one.root_port, other.root_port);
    slurm_step("8", "0", "n[3-4]", "2");
    assert_int_equal(STATUS_OK, meet(&other, others, sizeof others));
    assert_string_not_equal(shared, others);
    slurm_step("7", "0", "n[3-4]", "2");
    setenv("SLURM_WORKING_CLUSTER", "c:10.9.0.1:6817:9728:109", 1);
    assert_int_equal(STATUS_OK, meet(&other, others, sizeof others));
    assert_string_not_equal(shared, others);

    setenv("SLURM_DISTRIBUTION", "arbitrary", 1);
    assert_int_equal(STATUS_USAGE, meet(&other, others, sizeof others));
    slurm_step("7", "0", "n3", "1");
    setenv("SLURM_DISTRIBUTION", "arbitrary", 1);
    assert_int_equal(STATUS_OK, meet(&other, others, sizeof others));
    assert_string_equal("127.0.0.1", other.root_host);
    unsetenv("SLURM_STEP_NODELIST");
    assert_int_equal(STATUS_USAGE, meet(&other, others, sizeof others));
    forget_launchers();
}

/* In a Slurm job, the agents of an MPI library are a step; their ranks inherit its variables. */
static void test_launcher_in_step(void **state)
{
    (void)state;
    static const char *const launched[][4] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
        {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_FD"},
        {"RANK", "WORLD_SIZE", NULL},
    };
    for (int i = 0; i < 3; i++) {
        slurm_step("7", "0", "n[3-4]", "2");
        setenv("MASTER_ADDR", "n3", 1);
        setenv("MASTER_PORT", "29500", 1);
        setenv(launched[i][0], "5", 1);
        setenv(launched[i][1], "6", 1);
        for (int more = 2; more < 4 && launched[i][more]; more++)
            setenv(launched[i][more], "3", 1);
        const struct launch launch = launcher_detect(-1);
        assert_string_not_equal("srun", launch.launcher->name);
        assert_int_equal(5, launch.rank);
        assert_int_equal(6, launch.ranks);
    }
    slurm_step("7", "0", "n[3-4]", "2"); /* srun --mpi=pmi2 */
    setenv("PMI_RANK", "2", 1);
    setenv("PMI_SIZE", "4", 1);
    assert_string_equal("srun", launcher_detect(-1).launcher->name);
    forget_launchers();
    setenv("PMI_RANK", "2", 1);
    setenv("PMI_SIZE", "4", 1);
    assert_string_equal("mpiexec", launcher_detect(-1).launcher->name);
    forget_launchers();
}

/* torchrun's agent occupies MASTER_PORT: no candidate may be that port. */
static void test_torchrun_ports(void **state)
{
    (void)state;
    struct membership membership;
    char shared[256], port[16];
    forget_launchers();
    setenv("RANK", "0", 1);
    setenv("WORLD_SIZE", "2", 1);
    setenv("MASTER_ADDR", "n3", 1);
    static const char *const none[] = {"abc", "99999", "0", "-1", "29500x"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        setenv("MASTER_PORT", none[i], 1);
        assert_int_equal(STATUS_USAGE, meet(&membership, shared, sizeof shared));
    }
    for (int i = 20000; i < 30100; i++) {
        snprintf(port, sizeof port, "%d", i);
        setenv("MASTER_PORT", port, 1);
        assert_int_equal(STATUS_OK, meet(&membership, shared, sizeof shared));
        assert_true(i < membership.root_port || i > membership.root_port + membership.spare_ports);
    }
    forget_launchers();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parsers_on_noise), cmocka_unit_test(test_join_request_travels),
        cmocka_unit_test(test_meeting_travels),  cmocka_unit_test(test_secret_is_mixed),
        cmocka_unit_test(test_nodelist),         cmocka_unit_test(test_rendezvous),
        cmocka_unit_test(test_choice),           cmocka_unit_test(test_choice_with_pmix),
        cmocka_unit_test(test_slurm_steps),      cmocka_unit_test(test_launcher_in_step),
        cmocka_unit_test(test_torchrun_ports),   cmocka_unit_test(test_unsupported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
