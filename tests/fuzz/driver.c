/*
 * driver.c - runs a fuzz target without libFuzzer: with any compiler that has AddressSanitizer.
 *
 * It runs all given inputs, then random changes of them for -max_total_time seconds of CPU time, so
 * that a busy machine tries as many; a target that sleeps ends after SLACK times as long. If the
 * code is compiled with -fsanitize-coverage=trace-pc (`make fuzz`), an input that reaches new code
 * is kept and changed further. An input that crashes, or takes longer than TOO_LONG, is written to
 * -artifact_prefix.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MOST  ((size_t)1 << 16) /* bytes */
#define INPUTS_MOST 4096
#define TOO_LONG    20  /* seconds for one input */
#define SLACK       5   /* seconds on the clock for each of CPU time */
#define LEAK_LOOKS  512 /* inputs between two checks for leaks */

struct input {
    unsigned char *data;
    size_t size;
};

/* Global, because handlers of signals and of sanitizers need it. */
static struct {
    const unsigned char *data;
    size_t size;
    const char *prefix;
    int report; /* standard error, as it was */
} current = {.prefix = "./", .report = STDERR_FILENO};

struct fuzz {
    struct input inputs[INPUTS_MOST];
    size_t count;
    uint64_t random;
    double seconds;
    bool quiet;
};

/* ---- coverage ---- */

#define EDGES (1u << 16)
static unsigned char edges[EDGES];
static bool edge_is_new;
static uintptr_t edge_last;

/* Instrumented code calls this at each branch, even before the sanitizers are ready. The build
* does not instrument this file. */
void __sanitizer_cov_trace_pc(void);
__attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc(void)
{
    uintptr_t here = (uintptr_t)__builtin_return_address(0) * 0x9e3779b97f4a7c15u >> 20;
    unsigned char *edge = &edges[(here ^ edge_last) % EDGES];
    edge_last = here >> 1;
    if (!*edge)
        *edge = edge_is_new = true;
}

/* ---- the end ---- */

static void artifact_write(void)
{
    char path[4096];
    int size = snprintf(path, sizeof path, "%scrash-%ld", current.prefix, (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (size < 0 || fd < 0 || write(fd, current.data, current.size) != (ssize_t)current.size)
        return;
    close(fd);
    dprintf(current.report, "the input is in %s (%zu bytes)\n", path, current.size);
}

static void too_long(int signal)
{
    (void)signal;
    dprintf(current.report, "an input took longer than %d s\n", TOO_LONG);
    __sanitizer_print_stack_trace();
    artifact_write();
    _exit(1);
}

/* ---- one input ---- */

static uint64_t draw(struct fuzz *fuzz, uint64_t below)
{
    fuzz->random = fuzz->random * 6364136223846793005u + 1442695040888963407u;
    return below ? (fuzz->random >> 33) % below : 0;
}

static void keep(struct fuzz *fuzz, const unsigned char *data, size_t size)
{
    size_t place = fuzz->count < INPUTS_MOST ? fuzz->count++ : draw(fuzz, INPUTS_MOST);
    free(fuzz->inputs[place].data);
    fuzz->inputs[place] = (struct input){malloc(size ? size : 1), size};
    if (!fuzz->inputs[place].data)
        abort();
    memcpy(fuzz->inputs[place].data, data, size);
}

/* Copies the input to memory of its exact size, so that sanitizers see reads behind it. */
static void run(const unsigned char *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    current.data = data;
    current.size = size;
    alarm(TOO_LONG);
    edge_last = 0;
    LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    free(copy);
}

static void look_for_leaks(void)
{
    if (!__lsan_do_recoverable_leak_check())
        return;
    dprintf(current.report, "leaked by one of the last %d inputs\n", LEAK_LOOKS);
    artifact_write();
    _exit(1);
}

/* ---- changes ---- */

static void put_interesting(struct fuzz *fuzz, unsigned char *at, size_t left)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      7,
                                      8,
                                      63,
                                      64,
                                      127,
                                      128,
                                      255,
                                      256,
                                      1023,
                                      1024,
                                      4096,
                                      32767,
                                      32768,
                                      65535,
                                      65536,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0x7fffffffffffffff,
                                      0x8000000000000000,
                                      UINT64_MAX};
    uint64_t value = values[draw(fuzz, sizeof values / sizeof values[0])];
    size_t width = (size_t)1 << draw(fuzz, 4);
    for (size_t i = 0; i < width && i < left; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

/* Moves the bytes from `at` on to make room for up to `more` bytes; returns how many. */
static size_t open_gap(unsigned char *data, size_t *size, size_t at, size_t more)
{
    more = more < INPUT_MOST - *size ? more : INPUT_MOST - *size;
    memmove(data + at + more, data + at, *size - at);
    *size += more;
    return more;
}

static void put_part(struct fuzz *fuzz, unsigned char *data, size_t *size, size_t at)
{
    const struct input *other = &fuzz->inputs[draw(fuzz, fuzz->count)];
    size_t from = draw(fuzz, other->size + 1);
    size_t length = draw(fuzz, other->size - from + 1);
    length = open_gap(data, size, at, length);
    memcpy(data + at, other->data + from, length);
}

static void change(struct fuzz *fuzz, unsigned char *data, size_t *size)
{
    size_t at = draw(fuzz, *size + 1), left = *size - at, some = draw(fuzz, 16) + 1;
    switch (draw(fuzz, 8)) {
    case 0:
        if (left > 0)
            data[at] ^= (unsigned char)(1u << draw(fuzz, 8));
        break;
    case 1:
        if (left > 0)
            data[at] = (unsigned char)draw(fuzz, 256);
        break;
    case 2:
    case 3:
        put_interesting(fuzz, data + at, left);
        break;
    case 4: /* some bytes less */
        some = some < left ? some : left;
        memmove(data + at, data + at + some, left - some);
        *size -= some;
        break;
    case 5: /* some bytes more */
        some = open_gap(data, size, at, some);
        memset(data + at, (int)draw(fuzz, 256), some);
        break;
    case 6:
        put_part(fuzz, data, size, at);
        break;
    case 7:
        if (draw(fuzz, 4) == 0)
            *size = at;
        break;
    }
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t fuzz_run(struct fuzz *fuzz)
{
    static unsigned char data[INPUT_MOST];
    uint64_t runs = 0;
    double end = now(CLOCK_PROCESS_CPUTIME_ID) + fuzz->seconds;
    double last = now(CLOCK_MONOTONIC) + SLACK * fuzz->seconds;
    for (; now(CLOCK_PROCESS_CPUTIME_ID) < end && now(CLOCK_MONOTONIC) < last; runs++) {
        const struct input *input = &fuzz->inputs[draw(fuzz, fuzz->count)];
        size_t size = input->size;
        memcpy(data, input->data, size);
        for (uint64_t changes = draw(fuzz, 6) + 1; changes > 0; changes--)
            change(fuzz, data, &size);
        edge_is_new = false;
        run(data, size);
        if (edge_is_new)
            keep(fuzz, data, size);
        if (runs % LEAK_LOOKS == 0)
            look_for_leaks();
    }
    return runs;
}

/* ---- given inputs ---- */

static void load_file(struct fuzz *fuzz, const char *path)
{
    unsigned char data[INPUT_MOST];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    keep(fuzz, data, fread(data, 1, sizeof data, file));
    fclose(file);
}

static void load(struct fuzz *fuzz, const char *path)
{
    struct dirent **list;
    int count = scandir(path, &list, NULL, alphasort);
    if (count < 0) {
        load_file(fuzz, path);
        return;
    }
    for (int i = 0; i < count; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, list[i]->d_name);
        if (list[i]->d_name[0] != '.')
            load_file(fuzz, file);
        free(list[i]);
    }
    free(list);
}

static void read_word(struct fuzz *fuzz, const char *word)
{
    if (strncmp(word, "-max_total_time=", 16) == 0)
        fuzz->seconds = strtod(word + 16, NULL);
    else if (strncmp(word, "-seed=", 6) == 0)
        fuzz->random = strtoull(word + 6, NULL, 10);
    else if (strncmp(word, "-artifact_prefix=", 17) == 0)
        current.prefix = word + 17;
    else if (strcmp(word, "-close_fd_mask=3") == 0)
        fuzz->quiet = true;
    else if (word[0] != '-')
        load(fuzz, word);
    else {
        fprintf(stderr, "unknown option %s\n", word);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct fuzz fuzz = {.random = 1};
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++)
        read_word(&fuzz, argv[i]);
    current.report = dup(STDERR_FILENO);
    if (fuzz.quiet) {
        __sanitizer_set_report_fd((void *)(intptr_t)current.report);
        int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
    }
    signal(SIGALRM, too_long);
    __sanitizer_set_death_callback(artifact_write);
    size_t given = fuzz.count;
    for (size_t i = 0; i < given; i++)
        run(fuzz.inputs[i].data, fuzz.inputs[i].size);
    look_for_leaks();
    if (given == 0)
        keep(&fuzz, (const unsigned char *)"", 0);
    uint64_t runs = fuzz_run(&fuzz);
    look_for_leaks();
    dprintf(current.report, "%zu inputs, then %llu changes of them in %g s; %zu kept\n", given,
            (unsigned long long)runs, fuzz.seconds, fuzz.count);
    for (size_t i = 0; i < fuzz.count; i++)
        free(fuzz.inputs[i].data);
    return 0;
}
