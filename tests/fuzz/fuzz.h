/*
 * fuzz.h - shared by the fuzz targets. A target is a file with LLVMFuzzerTestOneInput() and
 * fuzz_seeds(); it runs under driver.c, or under libFuzzer if built with clang.
 *
 * Both accept the same options: folders and files with inputs, -max_total_time=SECONDS (the driver:
 * of CPU time), -seed=N, -artifact_prefix=PATH, -close_fd_mask=3 (drops stdout and stderr of the
 * target). With
 * FUZZ_SEEDS=FOLDER in the environment a target first writes its seeds there. The encoders of the
 * program make them, so they follow every change of a format. Inputs that found a fault and
 * resemble no seed are in corpus/TARGET/.
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

/* Defined by the target: calls fuzz_seed() for each seed. */
void fuzz_seeds(void);
void fuzz_seed(const char *name, const void *data, size_t size);

/* Must hold for every input. */
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

/* The next `size` bytes, or all that are left, in memory of their exact size, so that sanitizers
* see reads behind them. The caller frees it. */
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
