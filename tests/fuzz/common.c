/*
 * common.c - linked with every fuzz target, under either driver.
 */
#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"

/* A failed allocation returns NULL instead of ending the program. A failed `require` prints a
* trace, like a finding of a sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:handle_abort=1:detect_leaks=1";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}

void fuzz_seed(const char *name, const void *data, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("FUZZ_SEEDS"), name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        _exit(1);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (getenv("FUZZ_SEEDS"))
        fuzz_seeds();
    return 0;
}

void fuzz_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}
