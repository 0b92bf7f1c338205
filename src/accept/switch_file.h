/*
 * switch_file.h - which hosts stand behind which switches (--switches FILE).
 *
 * A line of the file is Slurm's, as in topology.conf, or a switch and its hosts:
 *
 *     SwitchName=s1 Nodes=n[1-16]             s1: n[1-16,18]
 *     SwitchName=spine Switches=s[1-4]
 *
 * '#' begins a comment; a line whose last character is a backslash goes on in the next one. Case
 * matters in names, and not in Slurm's keys. Other keys than these three are skipped. Switches of
 * several parents are allowed, as in a fat tree.
 */
#ifndef CCTEST_ACCEPT_SWITCH_FILE_H
#define CCTEST_ACCEPT_SWITCH_FILE_H

#include "base/status.h"
#include "screening/switches.h"

/* Finds the switches of `hosts`: those that they are cabled to, and those above at the highest level
 * at which the hosts still stand in two parts or more; `above` has none (count 0) if these are the
 * same. A host is named as here, or without its domain; one whose name is empty stands behind no
 * switch. Hosts of the file that are not among them are left out. Free both with
 * switch_level_free(), also after an error. STATUS_USAGE if the file cannot be read, is wrong or
 * lacks a host; STATUS_ERROR: out of memory. */
enum status switch_file_read(const char *path, const char *const *hosts, int count,
                             struct switch_level *leaves, struct switch_level *above);

#endif
