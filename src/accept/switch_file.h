/*
 * switch_file.h - which hosts stand behind which switches (--switches FILE).
 *
 * predict/topology/switch_tree.h has the form of the file.
 */
#ifndef CCTEST_ACCEPT_SWITCH_FILE_H
#define CCTEST_ACCEPT_SWITCH_FILE_H

#include "base/status.h"
#include "accept/judge/switches.h"

/* Finds the switches of `hosts`: those that they are cabled to, and those above at the highest level
 * at which the hosts still stand in two parts or more; `above` has none (count 0) if these are the
 * same. A host is named as here, or without its domain; one whose name is empty stands behind no
 * switch. Hosts of the file that are not among them are left out. Free both with
 * switch_level_free(), also after an error. STATUS_USAGE if the file cannot be read, is wrong or
 * lacks a host; STATUS_ERROR: out of memory. */
enum status switch_file_read(const char *path, const char *const *hosts, int count,
                             struct switch_level *leaves, struct switch_level *above);

#endif
