/*
 * tree.h - a folder of made-up files, such as of sysfs, for a test.
 */
#ifndef CCTEST_TEST_TREE_H
#define CCTEST_TEST_TREE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tree[PATH_MAX];

static inline void tree_begin(void)
{
    snprintf(tree, sizeof tree, "%s/cctest-tree-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(tree));
}

/* For cmocka, at the end. */
static inline int tree_remove(void **state)
{
    char command[PATH_MAX + 16];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", tree);
    return system(command);
}

static inline void folders_make(const char *path)
{
    char part[PATH_MAX];
    for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        assert_true(mkdir(part, 0755) == 0 || errno == EEXIST);
    }
}

/* `path`: below the tree. */
static inline void file_make(const char *path, const char *text)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s/%s", tree, path);
    folders_make(full);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(0, fclose(file));
}

/* `path`: below the folder `folder` of the tree. */
static inline void file_of(const char *path, const char *folder, const char *text)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s/%s", folder, path);
    file_make(full, text);
}

/* A link from `path` to `target`, both below the tree. */
static inline void link_make(const char *path, const char *target)
{
    char full[PATH_MAX], to[PATH_MAX + 64];
    snprintf(full, sizeof full, "%s/%s", tree, path);
    snprintf(to, sizeof to, "%s/%s", tree, target);
    folders_make(full);
    assert_int_equal(0, symlink(to, full));
}

/* A PCI device below /sys/devices: "pci0000:3a/0000:3a:00.0". */
static inline void pci_make(const char *path, const char *node, const char *width,
                            const char *speed)
{
    char folder[256], link[256];
    snprintf(folder, sizeof folder, "devices/%s", path);
    snprintf(link, sizeof link, "bus/pci/devices/%s", strrchr(path, '/') + 1);
    file_of("numa_node", folder, node);
    file_of("current_link_width", folder, width);
    file_of("current_link_speed", folder, speed);
    file_of("max_link_width", folder, "16\n");
    file_of("max_link_speed", folder, "32.0 GT/s PCIe\n");
    link_make(link, folder);
}

#endif
