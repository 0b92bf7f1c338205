/*
 * switch_tree.h - a file of switches: which hosts and which switches are below each.
 *
 * A line of the file is Slurm's, as in topology.conf, or a switch and its hosts:
 *
 *     SwitchName=s1 Nodes=n[1-16]             s1: n[1-16,18]
 *     SwitchName=spine Switches=s[1-4] LinkSpeed=4
 *
 * '#' begins a comment; a line whose last character is a backslash goes on in the next one. Case
 * matters in names, and not in Slurm's keys. Other keys than these are skipped. Switches of several
 * parents are allowed, as in a fat tree.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_SWITCH_TREE_H
#define CCTEST_PREDICT_TOPOLOGY_SWITCH_TREE_H

#include <stdbool.h>

#include "base/status.h"

#define SWITCH_LEVELS_MOST 16 /* above the leaves: more is a circle */

struct tree_switch {
    const char *name;
    const char *hosts; /* a list; NULL: it has switches */
    const char *below; /* a list of switches; NULL: it has hosts */
    long line;
    int level;    /* 0: it has hosts; else one above the highest that is below it */
    double speed; /* LinkSpeed=, in units of the user; 0: not given */
};

struct tree_cable {
    int above, below; /* switches */
};

struct switch_tree {
    const char *path;
    char *text; /* that names and lists point into */
    struct tree_switch *switches;
    int switch_count, switch_room;
    int *by_name; /* switches */
    struct tree_cable *cables;
    int cable_count, cable_room;
};

/* Reads the text of the file `path`, of which it becomes the owner: allocated, and free to be
 * changed. STATUS_USAGE with file and line. To be freed with switch_tree_free(), also after an error;
 * `path` must live as long. */
enum status switch_tree_parse(const char *path, char *text, struct switch_tree *tree);
void switch_tree_free(struct switch_tree *tree); /* zeroed is allowed */

/* Calls `each` with each host of a switch. It returns STATUS_OK to go on, or what it has failed with.
 * STATUS_USAGE if the list is wrong. */
enum status switch_tree_hosts(const struct switch_tree *tree, int number,
                              enum status (*each)(void *argument, const char *host),
                              void *argument);

#endif
