/*
 * proofs.h - every algorithm, proved: by the verifier and, where there are few ranks, by the
 * shaker, in all the trials of sweep.h. A new algorithm is proved without being named here.
 *
 * One process for each core takes one number of ranks of one algorithm after the other, small ones
 * first. What fails is said once for each algorithm, and so is the trial in which a process crashed
 * or stood still.
 */
#ifndef CCTEST_TEST_PROOFS_H
#define CCTEST_TEST_PROOFS_H

#include "tests/unit/sweep.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROWS_MOST    1024 /* pairs of algorithm and collective */
#define WORKERS_MOST 64
#define UNIT_SECONDS 60 /* of CPU time; then it stands still */
#define RUNS_SHAKEN  3  /* of each trial */

/* The numbers of ranks, and the algorithms whose "COLLECTIVE ALGORITHM" contains these words. */
static int proved_from, proved_to;
static const char *wanted = "";

/* The trials of an algorithm, and their results. */
struct row {
    const struct algorithm *algorithm;
    const struct collective *collective;
    long planned; /* trials */
    int ranks;    /* the most */
    atomic_long verified, shaken, refused, nanoseconds;
    atomic_bool failed;
    char why[TRIAL_TEXT + TRIAL_WHY];
};

struct worker {
    pid_t pid;
    struct row *row;
    char at[TRIAL_TEXT]; /* the trial at hand */
};

/* Shared by all processes. */
struct board {
    struct row rows[ROWS_MOST];
    struct worker workers[WORKERS_MOST];
    atomic_long next; /* unit to be taken */
};

static void row_fails(struct row *row, const char *at, const char *why)
{
    if (!atomic_exchange(&row->failed, true))
        snprintf(row->why, sizeof(row->why), "%s: %s", at, why);
}

static bool verifies(struct program *program, bool idempotent, char why[TRIAL_WHY])
{
    struct verification verification;

    verify(PROGRAM(program), idempotent, &verification);
    snprintf(why, TRIAL_WHY, "%s", verification.error);
    verification_free(&verification);
    return verification.right;
}

/* By the verifier, and by the shaker where there are few ranks. */
static bool is_right(struct row *row, const struct trial *trial, long number, char why[TRIAL_WHY])
{
    struct program program;

    if (!trial_build(trial, &program, why))
        return false;
    bool right = verifies(&program, trial_idempotent(trial), why);
    row->verified += right;
    for (int i = 0; i < RUNS_SHAKEN && program.ranks <= SHAKEN_MOST && right; i++) {
        uint64_t seed = ((uint64_t)program.ranks << 32) + (uint64_t)(number * RUNS_SHAKEN + i);

        right = shake(PROGRAM(&program), seed, why, TRIAL_WHY);
        row->shaken += right;
    }
    program_free(&program);
    return right;
}

/* Returns whether the algorithm stands so far. */
static bool prove(void *context, const struct trial *planned, long number)
{
    struct worker *worker = context;
    struct trial trial = *planned;
    char why[TRIAL_WHY];

    trial_text(&trial, worker->at);
    enum refusal refusal = trial_refused(&trial, why);
    if (refusal == REFUSED) {
        worker->row->refused++;
        return true;
    }
    struct counts *counts = problem_counts(&trial.problem, &trial.choice, &trial.spec);
    bool right = refusal == SERVED && is_right(worker->row, &trial, number, why);
    counts_free(counts);
    if (!right)
        row_fails(worker->row, worker->at, why);
    return right;
}

static long nanoseconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void work(struct board *board, struct worker *self, const struct unit *units, long count)
{
    for (long i = board->next++; i < count; i = board->next++) {
        long began = nanoseconds_now();

        self->row = &board->rows[units[i].row];
        if (self->row->failed)
            continue;
        limit_cpu_time(UNIT_SECONDS);
        sweep_unit(&units[i], prove, self);
        self->row->nanoseconds += nanoseconds_now() - began;
    }
}

/* The parent. */

static bool count_trial(void *context, const struct trial *trial, long number)
{
    struct row *row = context;

    (void)trial;
    (void)number;
    row->planned++;
    return true;
}

static int plan_rows(struct board *board)
{
    int count = 0;

    for (int c = 0; collectives[c]; c++)
        for (int a = 0; algorithms[a]; a++) {
            char name[128];

            snprintf(name, sizeof(name), "%s %s", collectives[c]->name, algorithms[a]->name);
            if (!algorithm_serves(algorithms[a], collectives[c]->id) || algorithms[a]->vendor ||
                !strstr(name, wanted))
                continue;
            assert_true(count < ROWS_MOST);
            board->rows[count].algorithm = algorithms[a];
            board->rows[count++].collective = collectives[c];
        }
    return count;
}

/* All units, small ones first; returns how many. */
static long plan_units(struct board *board, int rows, struct unit *units)
{
    long count = 0;

    for (int p = proved_from; p <= proved_to; p++)
        for (int i = 0; i < rows; i++) {
            struct row *row = &board->rows[i];

            if (!ranks_wanted(row->algorithm, p))
                continue;
            row->ranks = p;
            units[count] = (struct unit){
                .algorithm = row->algorithm, .collective = row->collective, .ranks = p, .row = i};
            sweep_unit(&units[count++], count_trial, row);
        }
    return count;
}

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};

static void worker_start(struct board *board, struct worker *worker, const struct unit *units,
                         long count)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid) {
        worker->pid = pid;
        return;
    }
    for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
        signal(crashes[i], SIG_DFL);    /* cmocka's handler goes on with its next test */
    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* what a trial gives back is for the next one: */
    mallopt(M_TRIM_THRESHOLD, 1 << 30); /* else a seventh of the time goes into page faults */
    work(board, worker, units, count);
    exit(0);
}

/* Waits for the end of a worker; false: there was none. One that did not end well has a successor.
 */
static bool worker_ends(struct board *board, const struct unit *units, long count)
{
    int status;
    pid_t pid = wait(&status);
    struct worker *worker = board->workers;
    char why[TRIAL_WHY];

    if (pid < 0)
        return false;
    while (worker->pid != pid)
        worker++;
    if (!status)
        return true;
    if (WIFSIGNALED(status))
        snprintf(why, sizeof(why), "%s (signal %d)", strsignal(WTERMSIG(status)), WTERMSIG(status));
    else
        snprintf(why, sizeof(why), "ended with status %d", WEXITSTATUS(status));
    row_fails(worker->row, worker->at, why);
    worker_start(board, worker, units, count);
    return true;
}

static int worker_count(void)
{
    cpu_set_t cores;
    int count = sched_getaffinity(0, sizeof(cores), &cores) ? 1 : CPU_COUNT(&cores);

    return count < WORKERS_MOST ? count : WORKERS_MOST;
}

/* Prints what was done; returns how many algorithms failed. Of one that did not, every trial was
 * either verified or refused. */
static int report(struct board *board, int rows)
{
    long verified = 0, shaken = 0, refused = 0, nanoseconds = 0;
    int failed = 0;

    for (int i = 0; i < rows; i++) {
        struct row *row = &board->rows[i];

        if (!row->planned && proved_from > 1)
            continue; /* under sanitizers, which have fewer ranks */
        if (!row->failed && (!row->verified || row->verified + row->refused != row->planned))
            row_fails(row, "not all of its trials", "some were passed over, or all were refused");
        print_message("    %-14s %-20s %d .. %3d ranks: %5ld trials, %5ld verified, %4ld refused, "
                      "%5ld runs shaken, %.2f s\n",
                      row->collective->name, row->algorithm->name, proved_from, row->ranks,
                      row->planned, row->verified, row->refused, row->shaken,
                      (double)row->nanoseconds * 1e-9);
        if (row->failed)
            print_message("    WRONG: %s\n", row->why);
        failed += row->failed;
        verified += row->verified;
        shaken += row->shaken;
        refused += row->refused;
        nanoseconds += row->nanoseconds;
    }
    print_message("coverage: %d algorithms, %ld trials verified, %ld refused with a reason, %ld "
                  "runs shaken, %d wrong, %.1f s of CPU time\n",
                  rows, verified, refused, shaken, failed, (double)nanoseconds * 1e-9);
    return failed;
}

static inline void every_algorithm(void **state)
{
    struct board *board =
        mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(board != MAP_FAILED);
    int rows = plan_rows(board);
    struct unit *units = malloc((size_t)rows * RANKS_MOST * sizeof(*units));
    assert_non_null(units);
    long count = plan_units(board, rows, units);

    for (int i = 0; i < worker_count(); i++)
        worker_start(board, &board->workers[i], units, count);
    while (worker_ends(board, units, count))
        continue;
    int failed = report(board, rows);
    free(units);
    munmap(board, sizeof(*board));
    assert_true(rows > 0);
    assert_int_equal(failed, 0);
}

#endif
