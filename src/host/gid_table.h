/*
 * gid_table.h - the GID table of an RDMA port, as sysfs shows it.
 */
#ifndef CCTEST_HOST_GID_TABLE_H
#define CCTEST_HOST_GID_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define GID_TABLE_MOST 256

enum gid_kind { GID_KIND_IB, GID_KIND_ROCE_V1, GID_KIND_ROCE_V2, GID_KINDS };
extern const char *const gid_kind_names[GID_KINDS]; /* "IB", "RoCE v1", "RoCE v2" */

struct gid_entry {
    int index;
    enum gid_kind kind;
    unsigned char raw[16]; /* in network order */
    char netdev[16];       /* "eth0"; "": none, or it is hidden */
};

/* Fills in the entries that are set, at most `most`; returns how many. `sysfs`: "/sys". */
int gid_table_read(const char *sysfs, const char *nic, int port, struct gid_entry *entries,
                   int most);

/* Does it map an IPv4 address? */
bool gid_is_ipv4(const unsigned char raw[16]);

/* "fe80::1", "::ffff:10.0.0.1"; returns `text`. */
const char *gid_text(const unsigned char raw[16], char *text, size_t size);

#endif
