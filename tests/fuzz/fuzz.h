/*
 * fuzz.h - what the fuzz targets share. Each is a file with LLVMFuzzerTestOneInput() and
 * fuzz_seeds(); it runs under driver.c everywhere, and under libFuzzer where there is clang.
 *
 * Both take the same words: folders and files with inputs, -max_total_time=SECONDS, -seed=N,
 * -artifact_prefix=PATH, -close_fd_mask=3 (what a target writes to stdout and stderr is dropped).
 * With FUZZ_SEEDS=FOLDER in the environment a target first writes its seeds there: they are made by
 * the tool's own encoders, so that they follow every change of a format. Inputs that found
 * something and are like no seed lie in corpus/TARGET/.
 */
#ifndef CCTEST_FUZZ_H
#define CCTEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Of the target: calls fuzz_seed() for each. */
void fuzz_seeds(void);
void fuzz_seed(const char *name, const void *data, size_t size);

/* What must hold whatever the input is. */
#define require(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_fail(#condition, __FILE__, __LINE__);                                             \
    } while (0)
_Noreturn void fuzz_fail(const char *condition, const char *file, int line);

static inline unsigned input_u8(struct reader *input)
{
    const unsigned char *byte = read_bytes(input, 1);
    return byte ? *byte : 0;
}

static inline unsigned input_u16(struct reader *input)
{
    unsigned low = input_u8(input);
    return low | input_u8(input) << 8;
}

/* The next `size` bytes, or as many as there are, in memory of exactly their size: a look behind
 * them is seen. The caller's to free. */
static inline unsigned char *input_copy(struct reader *input, size_t *size)
{
    *size = *size < input->left ? *size : input->left;
    unsigned char *copy = malloc(*size ? *size : 1);
    if (!copy)
        abort();
    const unsigned char *bytes = read_bytes(input, *size);
    if (bytes && *size > 0)
        memcpy(copy, bytes, *size);
    return copy;
}

#endif
