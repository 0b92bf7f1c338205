/*
 * kernels.c - measures reductions and copies, and the limits of the machine for them.
 *
 *   kernels [TYPE]...     e.g. build/tests/bench/kernels float int8; without one, all types
 *   kernels --shares [TYPE]...
 *
 * --shares: for every type and operator, the share of the memory bandwidth that a reduction of
 * large operands reaches, and the speed in the cache; half a minute. Otherwise, in minutes:
 *
 * First reductions: each kernel for the baseline of the architecture and as cctest uses it on this
 * machine; with operands inside and outside the cache; in place (the result replaces an operand)
 * and out of place; with stores past the cache (nontemporal_reduce); and a hand-written loop that
 * adds floats with such stores, as the limit. Then copies: memcpy and nontemporal_copy, in small
 * and in huge pages, to the same target each time, and to another part of 256 MiB each time, like
 * messages into a large buffer.
 *
 * All run in one process, then in two on cores of their own, which begin each measurement together.
 * Compared loops run in turn, so that noise affects all alike.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "base/clock.h"
#include "dataplane/memory/datatype.h"
#include "dataplane/memory/memory.h"

#define CACHED    ((size_t)16 << 10)  /* bytes of a result inside the cache */
#define LARGE     ((size_t)64 << 20)  /* bytes of a result outside the cache */
#define LARGEST   ((size_t)256 << 20) /* bytes of the largest copy */
#define HUGE_PAGE ((size_t)2 << 20)
#define LEAST     ((size_t)4 << 20) /* minimum bytes of a sample */

enum { ROUNDS = 15, MOST_WORKS = 12, PROCESSES = 2 };

/* One measured loop: a reduction with `reduce`, or else a copy. */
struct work {
    void (*run)(const struct work *work, size_t at); /* `at`: offset into `to` */
    reduce_function *reduce;
    finish_function *finish;
    size_t element;
    char *to;
    const char *a, *b;
    size_t bytes;  /* of one result */
    size_t travel; /* results lie side by side over so many bytes of `to`; `bytes`: in one place */
};

/* Shared by the processes. */
struct bench {
    int processes, self;
    struct together {
        atomic_int arrived;
        double seconds[PROCESSES][MOST_WORKS][ROUNDS];
    } * together;
    int meetings; /* of this process so far */
};

static void bench_meet(struct bench *bench)
{
    int all = ++bench->meetings * bench->processes;
    atomic_fetch_add(&bench->together->arrived, 1);
    while (atomic_load(&bench->together->arrived) < all)
        sched_yield();
}

static double work_run(const struct work *work)
{
    size_t results = work->travel > work->bytes ? work->travel / work->bytes : 1;
    size_t times = (LEAST + results * work->bytes - 1) / (results * work->bytes);
    double begin = clock_seconds();
    for (size_t time = 0; time < times; time++) {
        for (size_t result = 0; result < results; result++)
            work->run(work, result * work->bytes);
    }
    return (clock_seconds() - begin) / (double)(times * results);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Measures by turns and prints a cell for each: GB/s of results of the slower process. */
static void bench_row(struct bench *bench, const char *label, const struct work *works, int count)
{
    for (int round = -1; round < ROUNDS; round++) {
        for (int i = 0; i < count; i++) {
            bench_meet(bench);
            double seconds = work_run(&works[i]);
            if (round >= 0)
                bench->together->seconds[bench->self][i][round] = seconds;
        }
    }
    bench_meet(bench);
    if (bench->self == 0) {
        printf("%-14s", label);
        for (int i = 0; i < count; i++) {
            double *first = bench->together->seconds[0][i],
                   *second = bench->together->seconds[1][i];
            for (int round = 0; round < ROUNDS && bench->processes > 1; round++)
                first[round] = first[round] > second[round] ? first[round] : second[round];
            qsort(first, ROUNDS, sizeof *first, compare);
            double gigabytes = (double)works[i].bytes * 1e-9;
            printf(" %5.1f/%5.1f", gigabytes / first[0], gigabytes / first[ROUNDS / 2]);
        }
        printf("\n");
        fflush(stdout);
    }
    bench_meet(bench);
}

static void run_reduce(const struct work *work, size_t at)
{
    work->reduce(work->to + at, work->a, work->b, work->bytes / work->element);
}

static void run_stream_reduce(const struct work *work, size_t at)
{
    nontemporal_reduce(work->reduce, work->element, work->to + at, work->a, work->b,
                       work->bytes / work->element);
}

static void run_finish(const struct work *work, size_t at)
{
    work->finish(work->to + at, work->a, work->bytes / work->element, 3);
}

/* The limit: sums of floats, stored past the cache if the architecture has such stores. */
static void run_limit(const struct work *work, size_t at)
{
    float *to = (float *)(work->to + at);
    const float *a = (const float *)work->a, *b = (const float *)work->b;
    size_t count = work->bytes / sizeof *to;
#ifdef __x86_64__
    for (size_t i = 0; i < count; i += 4)
        _mm_stream_ps(to + i, _mm_add_ps(_mm_load_ps(a + i), _mm_load_ps(b + i)));
    _mm_sfence();
#else
    for (size_t i = 0; i < count; i++)
        to[i] = a[i] + b[i];
#endif
}

static void run_memcpy(const struct work *work, size_t at)
{
    memcpy(work->to + at, work->a, work->bytes);
}

static void run_stream_copy(const struct work *work, size_t at)
{
    nontemporal_copy(work->to + at, work->a, work->bytes);
}

/* Touched memory, aligned to a huge page, on huge pages or not. */
static char *place(size_t bytes, bool huge)
{
    char *space =
        mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED) {
        perror("kernels: mmap");
        exit(1);
    }
    char *base = space + -(uintptr_t)space % HUGE_PAGE;
    madvise(base, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(base, 1, bytes);
    return base;
}

/* Ones: sums grow slowly and products do not, so no value becomes denormal or infinite. */
static void fill(char *at, size_t bytes, const struct datatype *type)
{
    static const uint64_t ones[DATATYPES] = {
        [TYPE_FLOAT] = 0x3f800000, [TYPE_DOUBLE] = 0x3ff0000000000000,
        [TYPE_FLOAT16] = 0x3c00,   [TYPE_BFLOAT16] = 0x3f80,
        [TYPE_E4M3] = 0x38,        [TYPE_E5M2] = 0x3c,
    };
    if (type->kind != DATATYPE_FLOAT) {
        memset(at, 1, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += type->size)
        memcpy(at + i, &ones[type->id], type->size);
}

static bool chosen(const struct datatype *type, char **names)
{
    for (char **name = names; *name; name++) {
        if (datatype_find(*name) == type)
            return true;
    }
    return !*names;
}

/* Operands are offset by more than a multiple of a page, to avoid aliasing of their addresses. */
#define OPERANDS (LARGE + 8192)
#define LEFT     (OPERANDS + 1024)
#define RIGHT    (2 * OPERANDS + 2048)

static void bench_reductions(struct bench *bench, char *space, char **names)
{
    char *to = space, *a = space + LEFT, *b = space + RIGHT;
    if (bench->self == 0)
        printf("\nreductions, %d process%s: GB/s of results of each, best/median of %d\n"
               "%-14s %23s %23s %23s %35s\n"
               "%-14s %11s %11s %11s %11s %11s %11s %11s %11s %11s\n",
               bench->processes, bench->processes > 1 ? "es" : "", ROUNDS, "", "16 KiB in place",
               "16 KiB apart", "64 MiB in place", "64 MiB apart", "", "baseline", "here",
               "baseline", "here", "baseline", "here", "baseline", "here", "stream");
    for (const struct datatype *const *type = datatypes; *type; type++) {
        if (!chosen(*type, names))
            continue;
        fill(space, 3 * OPERANDS, *type);
        for (const struct reduction *const *op = reductions; *op; op++) {
            reduce_function *best = reduce_kernel(*type, *op), *baseline;
            if (!best)
                continue;
            baseline = reduce_kernel_from(KERNELS_BASELINE, *type, *op);
            struct work works[9];
            for (int i = 0; i < 9; i++)
                works[i] = (struct work){.run = i < 8 ? run_reduce : run_stream_reduce,
                                         .reduce = i % 2 || i == 8 ? best : baseline,
                                         .element = (*type)->size,
                                         .to = i & 2 || i == 8 ? to : a,
                                         .a = a,
                                         .b = b,
                                         .bytes = i < 4 ? CACHED : LARGE};
            char label[32];
            snprintf(label, sizeof label, "%s %s", (*type)->name, (*op)->name);
            bench_row(bench, label, works, 9);
        }
    }
    fill(space, 3 * OPERANDS, datatype_find("float"));
    struct work limit = {.run = run_limit, .to = to, .a = a, .b = b, .bytes = LARGE};
    bench_row(bench, "by hand, 64 MiB apart, stores past the cache:", &limit, 1);
}

/* Seconds of the best round of each work, in turn. */
static void bench_best(const struct work *works, int count, double *seconds)
{
    enum { TURNS = 6 };
    for (int turn = 0; turn <= TURNS; turn++) {
        for (int i = 0; i < count; i++) {
            double now = work_run(&works[i]);
            seconds[i] = turn < 2 || now < seconds[i] ? now : seconds[i];
        }
    }
}

/* A row of one type: the share of the limit of each operator, or GB/s of results in the cache. For
* avg it measures the division only, with operands of the same size. */
static void shares_row(const struct datatype *type, char *space, bool cached)
{
    struct work works[REDUCTIONS + 1];
    double seconds[REDUCTIONS + 1];
    bool made[REDUCTIONS] = {false};
    char *to = space, *a = space + LEFT, *b = space + RIGHT;
    int count = 0;
    fill(space, 3 * OPERANDS, type);
    for (int op = 0; op < REDUCTIONS; op++) {
        struct work work = {.run = cached ? run_reduce : run_stream_reduce,
                            .reduce = reduce_kernel(type, reductions[op]),
                            .finish = finish_kernel(type, reductions[op]),
                            .element = type->size,
                            .to = cached ? a : to,
                            .a = a,
                            .b = b,
                            .bytes = cached ? CACHED : LARGE};
        made[op] = work.reduce != NULL;
        if (work.finish) {
            work.run = run_finish;
            work.to = to;
        }
        if (made[op])
            works[count++] = work;
    }
    works[count] = (struct work){.run = run_limit, .to = to, .a = a, .b = b, .bytes = LARGE};
    bench_best(works, count + 1, seconds);
    printf("%-13s", type->name);
    for (int op = 0, i = 0; op < REDUCTIONS; op++) {
        if (!made[op])
            printf("       -");
        else if (cached)
            printf(" %7.1f", (double)CACHED * 1e-9 / seconds[i]);
        else
            printf(" %6.0f%%", 100 * seconds[count] / seconds[i]);
        i += made[op];
    }
    if (!cached)
        printf(" %9.1f", (double)LARGE * 1e-9 / seconds[count]);
    printf("\n");
    fflush(stdout);
}

static void bench_shares(char *space, char **names)
{
    for (int cached = 0; cached < 2; cached++) {
        printf(cached
                   ? "\nGB/s of results, 16 KiB in place, in the cache (avg: the division, apart)"
                     "\n\n%-13s"
                   : "\nresults of 64 MiB, apart, stored past the cache: share of what a loop by "
                     "hand that adds up\nfloats so gives at the same time (its GB/s in the last "
                     "column); avg: the division, by ordinary\nstores\n\n%-13s",
               "");
        for (const struct reduction *const *op = reductions; *op; op++)
            printf(" %7s", (*op)->name);
        printf("%s\n", cached ? "" : "   by hand");
        for (const struct datatype *const *type = datatypes; *type; type++)
            if (chosen(*type, names))
                shares_row(*type, space, cached);
    }
}

static void bench_copies(struct bench *bench)
{
    static const struct {
        const char *label;
        size_t bytes, travel;
    } rows[] = {
        {"64 KiB", (size_t)64 << 10, 0},
        {"1 MiB", (size_t)1 << 20, 0},
        {"4 MiB", (size_t)4 << 20, 0},
        {"8 MiB", (size_t)8 << 20, 0},
        {"16 MiB", (size_t)16 << 20, 0},
        {"256 MiB", LARGEST, 0},
        {"64 KiB, on", (size_t)64 << 10, LARGEST},
        {"1 MiB, on", (size_t)1 << 20, LARGEST},
        {"16 MiB, on", (size_t)16 << 20, LARGEST},
    };
    char *to[2], *from[2];
    for (int huge = 0; huge < 2; huge++) {
        to[huge] = place(LARGEST, huge);
        from[huge] = place(LARGEST, huge);
    }
    if (bench->self == 0)
        printf("\ncopies, %d process%s: GB/s copied by each, best/median of %d; on: to another "
               "part of "
               "256 MiB each time\n%-14s %23s %23s\n%-14s %11s %11s %11s %11s\n",
               bench->processes, bench->processes > 1 ? "es" : "", ROUNDS, "", "small pages",
               "huge pages", "", "memcpy", "stream_copy", "memcpy", "stream_copy");
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct work works[4];
        for (int i = 0; i < 4; i++)
            works[i] = (struct work){.run = i % 2 ? run_stream_copy : run_memcpy,
                                     .to = to[i / 2],
                                     .a = from[i / 2],
                                     .bytes = rows[row].bytes,
                                     .travel = rows[row].travel};
        bench_row(bench, rows[row].label, works, 4);
    }
}

/* Binds this process to the `nth` core that it may use; false if there are fewer. */
static bool bind_to(int nth)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return false;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &allowed) && nth-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            return !sched_setaffinity(0, sizeof one, &one);
        }
    }
    return false;
}

/* One of `processes`, from its binding to its end. */
static int bench_process(int processes, int self, struct together *together, char **names)
{
    struct bench bench = {.processes = processes, .self = self, .together = together};
    if (!bind_to(self))
        return 1;
    bench_reductions(&bench, place(3 * OPERANDS + HUGE_PAGE, true), names);
    bench_copies(&bench);
    return 0;
}

static int bench_processes(int processes, char **names)
{
    struct together *together =
        mmap(NULL, sizeof *together, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (together == MAP_FAILED)
        return 1;
    fflush(stdout);
    pid_t pids[PROCESSES];
    for (int self = 0; self < processes; self++) {
        pids[self] = fork();
        if (pids[self] < 0) {
            perror("kernels: fork");
            exit(1);
        }
        if (pids[self] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* it would wait for the others for ever */
            exit(bench_process(processes, self, together, names));
        }
    }
    int bad = 0, status;
    while (wait(&status) > 0) {
        bad |= status;
        for (int other = 0; status && other < processes; other++)
            kill(pids[other], SIGKILL); /* they would wait for the one that has failed */
    }
    munmap(together, sizeof *together);
    return bad != 0;
}

int main(int argc, char **argv)
{
    bool shares = argc > 1 && strcmp(argv[1], "--shares") == 0;
    char **names = argv + 1 + shares;
    for (char **name = names; *name; name++) {
        if (!datatype_find(*name)) {
            fprintf(stderr, "usage: kernels [--shares] [TYPE]...  (there is no type '%s')\n",
                    *name);
            return 2;
        }
    }
    cpu_set_t allowed;
    int cores = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
    printf("kernels here: %s\n", kernel_set_best() == KERNELS_AVX2 ? "AVX2" : "baseline");
    if (shares) {
        bind_to(0);
        bench_shares(place(3 * OPERANDS + HUGE_PAGE, true), names);
        return 0;
    }
    int bad = bench_processes(1, names);
    if (cores >= PROCESSES)
        bad |= bench_processes(PROCESSES, names);
    else
        printf("\nonly one core: nothing about two processes\n");
    return bad;
}
