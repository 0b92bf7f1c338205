/*
 * text_file.h - a small file of the user, as one string.
 */
#ifndef CCTEST_BASE_TEXT_FILE_H
#define CCTEST_BASE_TEXT_FILE_H

#include "base/status.h"

/* The whole text, without the byte order mark of UTF-8; the caller frees *text. STATUS_USAGE for a
 * file that cannot be read, holds a zero byte or is larger than 1G; STATUS_ERROR for a FIFO without
 * a writer, or whose writer neither writes nor ends for some time. */
enum status text_file_read(const char *path, char **text);

#endif
