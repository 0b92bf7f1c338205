/*
 * gid_table.c - the GID table of an RDMA port, as sysfs shows it.
 *
 * An entry that is not set reads as zeros, and its type cannot be read. The kernel says "IB/RoCE
 * v1" for both: the port's link layer tells which.
 */
#include "host/host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>


const char *const gid_kind_names[GID_KINDS] = {"IB", "RoCE v1", "RoCE v2"};

static bool entry_read(const char *folder, bool is_ethernet, struct gid_entry *entry)
{
    static const unsigned char zeros[16];
    char text[64];
    if (!sysfs_text(text, sizeof text, "%s/gids/%d", folder, entry->index) ||
        inet_pton(AF_INET6, text, entry->raw) != 1 || memcmp(entry->raw, zeros, 16) == 0)
        return false;
    sysfs_text(text, sizeof text, "%s/gid_attrs/types/%d", folder, entry->index);
    entry->kind = strcmp(text, "RoCE v2") == 0 ? GID_KIND_ROCE_V2
                  : is_ethernet                ? GID_KIND_ROCE_V1
                                               : GID_KIND_IB;
    sysfs_text(entry->netdev, sizeof entry->netdev, "%s/gid_attrs/ndevs/%d", folder, entry->index);
    return true;
}

int gid_table_read(const char *sysfs, const char *nic, int port, struct gid_entry *entries,
                   int most)
{
    char folder[SYSFS_PATH_MOST], layer[32], **names;
    int filled = 0;
    snprintf(folder, sizeof folder, "%s/class/infiniband/%s/ports/%d", sysfs, nic, port);
    sysfs_text(layer, sizeof layer, "%s/link_layer", folder);
    int count = sysfs_names(&names, "%s/gids", folder);
    for (int i = 0; i < count && i < GID_TABLE_MOST && filled < most; i++) {
        struct gid_entry entry = {.index = i};
        if (entry_read(folder, strcmp(layer, "Ethernet") == 0, &entry))
            entries[filled++] = entry;
    }
    sysfs_names_free(names, count);
    return filled;
}

bool gid_is_ipv4(const unsigned char raw[16])
{
    static const unsigned char mapped[12] = {[10] = 255, [11] = 255};
    return memcmp(raw, mapped, sizeof mapped) == 0;
}

const char *gid_text(const unsigned char raw[16], char *text, size_t size)
{
    if (!inet_ntop(AF_INET6, raw, text, (socklen_t)size))
        text[0] = 0;
    return text;
}
