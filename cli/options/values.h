/*
 * values.h - option values that are numbers, sizes, words or files.
 */
#ifndef CCTEST_CLI_OPTIONS_VALUES_H
#define CCTEST_CLI_OPTIONS_VALUES_H

#include "cli/options/option.h"

extern const struct option_kind kind_switch, kind_whole, kind_size, kind_real, kind_duration, kind_device,
    kind_file, kind_words, kind_root, kind_chunk, kind_channels, kind_iterations, kind_check,
    kind_address, kind_memory_devices, kind_command;

/* "--np '0'" or "CCTEST_NP='0'", for sentences. Returns `text`. */
#define LABEL_MOST 256
const char *argument_label(const struct argument *argument, char text[LABEL_MOST]);

/* Fails with "<label> <why>: <advice>". */
enum status argument_refuse(const struct argument *argument, const char *why, const char *advice);

#endif
