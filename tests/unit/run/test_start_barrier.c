/*
 * test_start_barrier.c - which ranks meet before an iteration, and that they do: processes with a
 * real control plane and real links, on several "hosts" (a name space with a host name of its own
 * each).
 * tier: check; load: cpu1
 */
#include "tests/unit/start_barrier_life.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/host.h"

#define CANNOT 77 /* exit status: there are no such name spaces here */

/* The descriptors that a decoy takes, and its bytes, as start_barrier.c makes them for two
 * ranks. */
#define DECOYS             64
#define NODE_BARRIER_BYTES (128 + node_barrier_bytes(2))

/* A name space of processes begins with a new one. */
static void life_expatriate(void)
{
    int status = 0;
    pid_t pid = unshare(CLONE_NEWPID) == 0 ? fork() : -1;
    if (pid == 0)
        return;
    _exit(pid < 0 || waitpid(pid, &status, 0) != pid || status != 0);
}

static pid_t life_begin(const struct scenario *scenario, struct board *board, int rank,
                        const struct listeners *listeners, const struct address_list *home)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    static const int crashes[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS};
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        signal(crashes[i], SIG_DFL); /* cmocka's handlers would go on with the tests here */
    static struct life life;
    static struct log log;
    log_init(&log, rank, 0);
    log_attach(&log);
    life = (struct life){.scenario = scenario,
                         .board = board,
                         .membership = {.rank = rank,
                                        .ranks = scenario->ranks,
                                        .root_home = *home,
                                        .root_host = "localhost",
                                        .secret = "secret",
                                        .has_secret = true,
                                        .own_process = true,
                                        .bootstrap = "test"},
                         .job = {.memory = memory_kinds[0]}};
    bool kept[DECOYS] = {0};
    if (rank == 0)
        life.membership.listeners = *listeners;
    for (int i = 0; i < life.membership.listeners.count; i++)
        kept[listeners->fd[i]] = true;
    for (int fd = 3; fd < DECOYS; fd++)
        if (!kept[fd])
            close(fd);
    if (has_trouble(scenario, rank, FOREIGN))
        life_expatriate();
    _exit(!life_run(&life));
}

/* How many ranks failed. */
static int scenario_live(const struct scenario *scenario, struct board *board)
{
    pid_t pids[RANKS_MOST];
    int status, failed = 0;
    struct listeners listeners;
    struct address_list home;
    if (addresses_listen(NULL, true, &listeners, &home) != STATUS_OK)
        return scenario->ranks;
    for (int r = 0; r < scenario->ranks; r++)
        pids[r] = life_begin(scenario, board, r, &listeners, &home);
    listeners_close(&listeners);
    for (int r = 0; r < scenario->ranks; r++)
        failed += waitpid(pids[r], &status, 0) != pids[r] || status != 0;
    return failed;
}

static struct board *board_open(void)
{
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(board != MAP_FAILED);
    return board;
}

static void board_close(struct board *board)
{
    for (int r = 0; r < RANKS_MOST; r++)
        if (board->failed[r][0])
            print_message("rank %d: %s\n", r, board->failed[r]);
    munmap(board, sizeof *board);
}

static void scenario_run(const struct scenario *scenario)
{
    struct board *board = board_open();
    int failed = scenario_live(scenario, board);
    board_close(board);
    assert_int_equal(failed, 0);
}

/* As process 1 of a name space, with memory as each of its descriptors. */
static int scenario_live_with_decoys(const struct scenario *scenario, struct board *board,
                                     size_t bytes)
{
    int decoy = host_create_memory("decoy"); /* sealed as a barrier is */
    if (mount("proc", "/proc", "proc", 0, NULL) != 0)
        return CANNOT;
    if (decoy < 0 || ftruncate(decoy, (off_t)bytes) != 0)
        return 1;
    for (int fd = 3; fd < DECOYS - 2; fd++)
        if (fd != decoy && dup2(decoy, fd) != fd)
            return 1;
    return scenario_live(scenario, board);
}

/* The first rank of a host calls itself process 1, as the others call another process. */
static void foreign_file_is_no_barrier(size_t decoy)
{
    const struct scenario scenario = {
        .ranks = 3, .host = {0, 1, 1}, .first = {0, 1, 2}, .trouble = FOREIGN, .troubled = 1};
    struct board *board = board_open();
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
            _exit(CANNOT);
        pid = fork();
        if (pid == 0)
            _exit(scenario_live_with_decoys(&scenario, board, decoy));
        _exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    size_t node_barrier = board->bytes[scenario.troubled];
    board_close(board);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
        print_message("not tested: a foreign file as barrier (no namespaces here)\n");
        skip();
    }
    assert_int_equal(status, 0);
    assert_int_equal(node_barrier, NODE_BARRIER_BYTES); /* else that decoy is none */
}

static void a_foreign_file_is_no_barrier(void **state)
{
    (void)state;
    foreign_file_is_no_barrier(NODE_BARRIER_BYTES);
    foreign_file_is_no_barrier(0); /* which is not even to be looked at */
}

static void one_host(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ranks++)
        scenario_run(&(struct scenario){.ranks = ranks});
}

static void interleaved_hosts(void **state)
{
    (void)state;
    scenario_run(
        &(struct scenario){.ranks = 6, .host = {0, 1, 0, 1, 0, 1}, .first = {0, 1, 0, 1, 0, 1}});
}

/* Three, of which one has a single rank. */
static void unequal_hosts(void **state)
{
    (void)state;
    scenario_run(&(struct scenario){
        .ranks = 7, .host = {0, 1, 1, 2, 1, 0, 1}, .first = {0, 1, 1, 3, 1, 0, 1}, .lane = 1});
}

static void a_rank_that_cannot_join_is_alone(void **state)
{
    (void)state;
    for (int apart = 2; apart < 6; apart++) {
        struct scenario scenario = {.ranks = 6,
                                    .host = {0, 1, 0, 1, 0, 1},
                                    .first = {0, 1, 0, 1, 0, 1},
                                    .trouble = APART,
                                    .troubled = apart};
        scenario.first[apart] = apart;
        scenario_run(&scenario);
    }
}

static void without_a_barrier_all_are_alone(void **state)
{
    (void)state;
    scenario_run(&(struct scenario){.ranks = 6,
                                    .host = {0, 1, 0, 1, 0, 1},
                                    .first = {0, 1, 0, 3, 0, 5},
                                    .trouble = POOR,
                                    .troubled = 1});
}

/* It is named by the ranks at its barrier; its barrier's first rank by the first of the others. */
static void the_late_rank_is_named(void **state)
{
    (void)state;
    scenario_run(
        &(struct scenario){.ranks = 3, .trouble = LATE, .troubled = 1, .awaits = {1, 0, 1}});
    scenario_run(&(struct scenario){.ranks = 5,
                                    .host = {0, 1, 1, 1, 0},
                                    .first = {0, 1, 1, 1, 0},
                                    .trouble = LATE,
                                    .troubled = 2,
                                    .awaits = {1, 2, 0, 2, 0}});
}

/* Names of hosts are for root to give, or for whoever is root in a name space of users. */
static bool hosts_can_be(void)
{
    return unshare(CLONE_NEWUTS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWUTS) == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_host),
        cmocka_unit_test(interleaved_hosts),
        cmocka_unit_test(unequal_hosts),
        cmocka_unit_test(a_rank_that_cannot_join_is_alone),
        cmocka_unit_test(without_a_barrier_all_are_alone),
        cmocka_unit_test(a_foreign_file_is_no_barrier),
        cmocka_unit_test(the_late_rank_is_named),
    };
    if (!hosts_can_be()) {
        printf("SKIPPED: no host can be given a name of its own here: %s\n", strerror(errno));
        return 77;
    }
    if (!mkdtemp(nowhere)) {
        perror(nowhere);
        return 1;
    }
    int failed = cmocka_run_group_tests_name("start", tests, NULL, NULL);
    rmdir(nowhere);
    return failed;
}
