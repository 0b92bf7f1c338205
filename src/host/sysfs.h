/*
 * sysfs.h - reads the small files in which the kernel describes devices.
 *
 * A file may be missing, unreadable, or hold anything: its reader then has no answer, and that is
 * no error. Paths are printf formats. Their first argument is the root of the tree, "/sys" but in
 * tests.
 */
#ifndef CCTEST_HOST_SYSFS_H
#define CCTEST_HOST_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYSFS_PATH_MOST 512

/* The first line, without blanks around it; control characters become '?'. False, and "": there is
 * none. */
bool sysfs_text(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The number that the first line is, decimal or 0x...; false, and 0: it is none. */
bool sysfs_number(uint64_t *value, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The whole text, cut off at `most` bytes, with a 0 behind it; to be freed. NULL: there is none. */
char *sysfs_whole(size_t most, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number behind `word` in such a text, "MemTotal:" of "MemTotal:  16 kB"; false: it has none.
 */
bool sysfs_number_behind(const char *text, const char *word, uint64_t *value);

/* The names in a folder, sorted with numbers in the order of their values ("gid2" before "gid10"),
 * without those that begin with a dot. *names is to be freed with sysfs_names_free(). Returns how
 * many; 0: the folder cannot be read, or memory ran out. */
int sysfs_names(char ***names, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sysfs_names_free(char **names, int count);

#endif
