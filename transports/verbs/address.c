/*
 * address.c - how a rail is addressed, and whether the rails of two ranks reach each other.
 *
 * InfiniBand addresses a port by its LID, and by its GID at index 0 where the port or a second
 * subnet asks for a global route header. RoCE has GIDs only. Of these cctest takes one of version 2
 * that maps an IPv4 address: it is routable, and the subnet tells which ports belong together. A
 * port with addresses in several subnets (VLANs, aliases) names a few, and both ends take one that
 * they have in common.
 */
#include "transports/verbs/internal.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "host/host.h"

/* The length of the subnet prefix of this host's IPv4 address `gid`; 0: not an address of this
 * network namespace. */
static uint8_t gid_prefix(const union ibv_gid *gid)
{
    struct ifaddrs *list;
    uint8_t prefix = 0;
    if (!gid_is_ipv4(gid->raw) || getifaddrs(&list) != 0)
        return 0;
    for (const struct ifaddrs *one = list; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !one->ifa_netmask)
            continue;
        const struct sockaddr_in *address = (const void *)one->ifa_addr;
        const struct sockaddr_in *mask = (const void *)one->ifa_netmask;
        if (memcmp(&address->sin_addr, gid->raw + 12, 4) == 0)
            prefix = (uint8_t)__builtin_popcount(mask->sin_addr.s_addr);
    }
    freeifaddrs(list);
    return prefix;
}

/* Sysfs shows GIDs that the library hides in a container. */
static int gids_read(const struct verbs_rail *rail, struct ibv_gid_entry *entries)
{
    struct gid_entry table[GID_TABLE_MOST];
    int count = gid_table_read("/sys", ibv_get_device_name(rail->context->device),
                               rail->port_number, table, GID_TABLE_MOST);
    for (int i = 0; i < count; i++) {
        entries[i] = (struct ibv_gid_entry){.gid_index = (uint32_t)table[i].index,
                                            .gid_type = table[i].kind == GID_KIND_ROCE_V2
                                                            ? IBV_GID_TYPE_ROCE_V2
                                                            : IBV_GID_TYPE_ROCE_V1};
        memcpy(entries[i].gid.raw, table[i].raw, sizeof table[i].raw);
    }
    return count;
}

static int gids_list(const struct verbs_rail *rail, struct ibv_gid_entry *entries)
{
    ssize_t count = ibv_query_gid_table(rail->context, entries, GID_TABLE_MOST, 0);
    int kept = 0;
    for (ssize_t i = 0; i < count; i++)
        if (entries[i].port_num == rail->port_number)
            entries[kept++] = entries[i];
    return kept > 0 ? kept : gids_read(rail, entries);
}

/* The network interface whose MAC address begins the GID; NULL: none. */
static const char *gid_interface(const union ibv_gid *gid, const struct ifaddrs *list)
{
    for (; list; list = list->ifa_next) {
        const struct sockaddr_ll *address = (const void *)list->ifa_addr;
        if (address && address->sll_family == AF_PACKET && address->sll_halen == 6 &&
            memcmp(address->sll_addr, gid->raw, 6) == 0)
            return list->ifa_name;
    }
    return NULL;
}

static void gid_from_interface(union ibv_gid *gid)
{
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0)
        return;
    const char *name = gid_interface(gid, list);
    for (const struct ifaddrs *one = list; name && one; one = one->ifa_next) {
        const struct sockaddr_in *address = (const void *)one->ifa_addr;
        if (!address || address->sin_family != AF_INET || strcmp(one->ifa_name, name) != 0)
            continue;
        *gid = (union ibv_gid){.raw = {[10] = 255, [11] = 255}};
        memcpy(gid->raw + 12, &address->sin_addr, 4);
        break;
    }
    freeifaddrs(list);
}

/* iWARP has no GIDs, and shows MAC addresses in their place. port.gid is the IPv4 address by which
 * librdmacm reaches the port, as RoCE maps it. If it has none, the MAC address stays. */
static void gid_for_iwarp(struct verbs_rail *rail)
{
    struct ibv_gid_entry entries[GID_TABLE_MOST];
    int count = gids_list(rail, entries), i = 0;
    while (i < count && !gid_is_ipv4(entries[i].gid.raw))
        i++;
    if (i < count)
        rail->port.gid = entries[i].gid;
    else if (ibv_query_gid(rail->context, rail->port_number, 0, &rail->port.gid) == 0)
        gid_from_interface(&rail->port.gid);
    rail->port.prefix = gid_prefix(&rail->port.gid);
}

static bool gid_is_link_local(const union ibv_gid *gid)
{
    return gid->raw[12] == 169 && gid->raw[13] == 254;
}

union ibv_gid verbs_port_gid(const struct verbs_port *port, int number)
{
    union ibv_gid gid = {.raw = {[10] = 255, [11] = 255}};
    if (number == 0)
        return port->gid;
    memcpy(gid.raw + 12, port->others[number - 1].address, 4);
    return gid;
}

static uint8_t prefix_of(const struct verbs_port *port, int number)
{
    return number == 0 ? port->prefix : port->others[number - 1].prefix;
}

/* The address without the bits of the host. */
static uint32_t subnet_of(const struct verbs_port *port, int number)
{
    union ibv_gid gid = verbs_port_gid(port, number);
    uint8_t prefix = prefix_of(port, number);
    uint32_t address;
    memcpy(&address, gid.raw + 12, sizeof address);
    return prefix ? ntohl(address) >> (32 - prefix) : 0;
}

static bool subnets_equal(const struct verbs_port *a, int of_a, const struct verbs_port *b,
                          int of_b)
{
    return prefix_of(a, of_a) == prefix_of(b, of_b) && subnet_of(a, of_a) == subnet_of(b, of_b);
}

/* Is `a` the lower one of two subnets? A shorter prefix is lower than a longer one of the same
 * address. */
static bool subnet_is_lower(const struct verbs_port *a, int of_a, const struct verbs_port *b,
                            int of_b)
{
    uint64_t first = (uint64_t)subnet_of(a, of_a) << (32 - prefix_of(a, of_a));
    uint64_t second = (uint64_t)subnet_of(b, of_b) << (32 - prefix_of(b, of_b));
    return first < second || (first == second && prefix_of(a, of_a) < prefix_of(b, of_b));
}

/* Names the GID to peers, too, if its subnet is known and none of theirs yet. */
static void gid_add(struct verbs_rail *rail, const struct ibv_gid_entry *entry)
{
    struct verbs_port *port = &rail->port;
    int number = port->other_count;
    uint8_t prefix = gid_prefix(&entry->gid);
    if (number == VERBS_OTHERS_MOST || prefix == 0)
        return;
    memcpy(port->others[number].address, entry->gid.raw + 12, 4);
    port->others[number].prefix = prefix;
    rail->other_indices[number] = (uint8_t)entry->gid_index;
    for (int i = 0; i <= number; i++)
        if (subnets_equal(port, i, port, number + 1))
            return;
    port->other_count++;
}

static void gid_use(struct verbs_rail *rail, const struct ibv_gid_entry *entry)
{
    rail->gid_index = (uint8_t)entry->gid_index;
    rail->port.gid = entry->gid;
    rail->port.gid_kind = GID_KIND_ROCE_V2 + 1;
    rail->port.prefix = gid_prefix(&entry->gid);
}

/* A link-local address only if there is no other: each network has the same ones. */
static bool gid_choose(struct verbs_rail *rail, char *reason)
{
    struct ibv_gid_entry entries[GID_TABLE_MOST];
    const struct ibv_gid_entry *link_local = NULL;
    int count = gids_list(rail, entries);
    for (int i = 0; i < count; i++) {
        const struct ibv_gid_entry *entry = &entries[i];
        if (entry->gid_type != IBV_GID_TYPE_ROCE_V2 || !gid_is_ipv4(entry->gid.raw))
            continue;
        if (gid_is_link_local(&entry->gid))
            link_local = link_local ? link_local : entry;
        else if (rail->port.gid_kind)
            gid_add(rail, entry);
        else
            gid_use(rail, entry);
    }
    if (!rail->port.gid_kind && link_local)
        gid_use(rail, link_local);
    if (rail->port.gid_kind)
        return true;
    snprintf(reason, TRANSPORT_REASON_MOST,
             "NIC %s has no GID of RoCE v2 that maps an IPv4 address: give its network interface "
             "an IPv4 address, or choose one of its GIDs with gid=INDEX (cctest info lists them)",
             rail->port.name);
    return false;
}

/* The kind of the GID at an index, + 1; 0: not known. */
static uint8_t gid_kind_at(const struct verbs_rail *rail, long index)
{
    struct ibv_gid_entry entries[GID_TABLE_MOST];
    int count = gids_list(rail, entries);
    for (int i = 0; i < count; i++)
        if (entries[i].gid_index == (uint32_t)index && entries[i].gid_type < GID_KINDS)
            return (uint8_t)(entries[i].gid_type + 1);
    return 0;
}

static bool gid_take(struct verbs_rail *rail, long index, char *reason)
{
    if (index < rail->attr.gid_tbl_len &&
        ibv_query_gid(rail->context, rail->port_number, (int)index, &rail->port.gid) == 0 &&
        rail->port.gid.global.interface_id != 0) {
        rail->gid_index = (uint8_t)index;
        rail->port.gid_kind = gid_kind_at(rail, index);
        rail->port.prefix = gid_prefix(&rail->port.gid);
        return true;
    }
    snprintf(reason, TRANSPORT_REASON_MOST,
             "NIC %s has no GID at index %ld (gid=): its table has %d entries, and cctest info "
             "lists the ones in use",
             rail->port.name, index, rail->attr.gid_tbl_len);
    return false;
}

static bool pkey_take(struct verbs_rail *rail, long index, char *reason)
{
    __be16 key = 0;
    if (index < rail->attr.pkey_tbl_len &&
        ibv_query_pkey(rail->context, rail->port_number, (int)index, &key) == 0 && key != 0) {
        rail->pkey_index = (uint16_t)index;
        rail->port.pkey = ntohs(key);
        return true;
    }
    snprintf(reason, TRANSPORT_REASON_MOST,
             "NIC %s has no P_Key at index %ld (pkey=): its table has %d entries; ask the subnet "
             "manager's administrator for a partition",
             rail->port.name, index, rail->attr.pkey_tbl_len);
    return false;
}

bool verbs_rail_address(struct verbs_rail *rail, const struct transport_setting *settings,
                        char *reason)
{
    struct verbs_port *port = &rail->port;
    bool roce = rail->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    bool given = settings[VERBS_GID].given, good = true;
    port->link_layer = rail->attr.link_layer;
    port->mtu = (uint8_t)rail->attr.active_mtu;
    port->lid = rail->attr.lid;
    if (port->iwarp)
        gid_for_iwarp(rail);
    else if (given || !roce)
        good = gid_take(rail, settings[VERBS_GID].number, reason);
    else
        good = gid_choose(rail, reason);
    /* iWARP has no partitions, and some RoCE drivers an empty table. */
    if (good && !port->iwarp && (!roce || settings[VERBS_PKEY].given))
        good = pkey_take(rail, settings[VERBS_PKEY].number, reason);
    return good;
}

/* Encoding. */

static void put_fixed(struct bytes *bytes, const char *text, size_t size)
{
    char room[VERBS_HOST_MOST] = "";
    snprintf(room, size, "%s", text);
    bytes_put(bytes, room, size);
}

static bool get_fixed(struct reader *reader, char *text, size_t size)
{
    const unsigned char *there = read_bytes(reader, size);
    if (!there)
        return false;
    memcpy(text, there, size);
    text[size - 1] = '\0';
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return true;
}

size_t verbs_address_encode(const struct verbs_address *address, void *blob)
{
    struct bytes bytes = {0};
    bytes_put_u64(&bytes, address->nonce);
    put_fixed(&bytes, address->host, VERBS_HOST_MOST);
    bytes_put_u32(&bytes,
                  (uint32_t)(address->rail_count | address->home << 8 | address->direct << 16));
    for (int i = 0; i < address->rail_count; i++) {
        const struct verbs_port *port = &address->ports[i];
        put_fixed(&bytes, port->name, VERBS_NAME_MOST);
        bytes_put_u32(&bytes, (uint32_t)(port->link_layer | port->iwarp << 8 | port->mtu << 16 |
                                         port->prefix << 24));
        bytes_put_u32(&bytes, (uint32_t)(port->lid | (uint32_t)port->pkey << 16));
        bytes_put_u32(&bytes,
                      (uint32_t)(port->cm_port | port->gid_kind << 16 | port->other_count << 24));
        bytes_put(&bytes, port->gid.raw, sizeof port->gid.raw);
        for (int other = 0; other < port->other_count; other++)
            bytes_put(&bytes, &port->others[other], sizeof port->others[other]);
    }
    size_t size = bytes.size > TRANSPORT_ADDRESS_MOST ? 0 : bytes.size;
    if (size > 0)
        memcpy(blob, bytes.data, size);
    bytes_free(&bytes);
    return size;
}

static bool port_decode(struct verbs_port *port, struct reader *reader)
{
    bool good = get_fixed(reader, port->name, VERBS_NAME_MOST);
    uint32_t kinds = read_u32(reader), keys = read_u32(reader), cm_port = read_u32(reader);
    const unsigned char *gid = read_bytes(reader, sizeof port->gid.raw);
    port->link_layer = (uint8_t)kinds;
    port->iwarp = kinds >> 8 & 255;
    port->mtu = kinds >> 16 & 255;
    port->prefix = (uint8_t)(kinds >> 24);
    port->lid = (uint16_t)keys;
    port->pkey = (uint16_t)(keys >> 16);
    port->cm_port = (uint16_t)cm_port;
    port->gid_kind = cm_port >> 16 & 255;
    port->other_count = (uint8_t)(cm_port >> 24);
    if (gid)
        memcpy(port->gid.raw, gid, sizeof port->gid.raw);
    good = good && port->other_count <= VERBS_OTHERS_MOST;
    for (int i = 0; good && i < port->other_count; i++) {
        const unsigned char *other = read_bytes(reader, sizeof port->others[i]);
        good = other && other[4] >= 1 && other[4] <= 32;
        if (good)
            memcpy(&port->others[i], other, sizeof port->others[i]);
    }
    return good && gid && port->iwarp <= 1 && port->mtu >= IBV_MTU_256 &&
           port->mtu <= IBV_MTU_4096 && port->prefix <= 32 && port->gid_kind <= GID_KINDS;
}

bool verbs_address_decode(const void *blob, size_t size, struct verbs_address *address)
{
    struct reader reader = {.at = blob, .left = size};
    *address = (struct verbs_address){.nonce = read_u64(&reader)};
    bool good = get_fixed(&reader, address->host, VERBS_HOST_MOST);
    uint32_t count = read_u32(&reader);
    address->home = count >> 8 & 255;
    address->direct = count >> 16 & 1;
    good = good && count >> 17 == 0;
    count &= 255;
    good = good && count > 0 && count <= VERBS_RAILS_MOST && address->home < (int)count;
    for (uint32_t i = 0; good && i < count; i++)
        good = port_decode(&address->ports[i], &reader);
    address->rail_count = (int)count;
    return good && !reader.bad && reader.left == 0;
}

/* Comparing. */

static const char *layer_name(const struct verbs_port *port)
{
    return port->iwarp                                   ? "iWARP"
           : port->link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet (RoCE)"
                                                         : "InfiniBand";
}

/* The GIDs by which two RoCE ports reach each other, by number. Both ends find the same: the first
 * ones, or those of the lowest subnet that both have. False: they have none in common, and the
 * first ones stand here. */
static bool gids_find(const struct verbs_port *mine, const struct verbs_port *port, int *here,
                      int *there)
{
    *here = *there = 0;
    bool found = !mine->prefix || !port->prefix || subnets_equal(mine, 0, port, 0);
    if (found)
        return true;
    for (int i = 0; i <= mine->other_count; i++)
        for (int k = 0; k <= port->other_count; k++)
            if (subnets_equal(mine, i, port, k) &&
                (!found || subnet_is_lower(mine, i, mine, *here))) {
                *here = i;
                *there = k;
                found = true;
            }
    return found;
}

/* Names both ends in front of what differs: "NIC mlx5_0:1 here ... and NIC mlx5_1:1 on b". */
static const char *differ(const struct verbs_port *here, const char *value_here,
                          const struct verbs_port *there, const char *host, const char *value_there,
                          const char *advice, char *reason)
{
    snprintf(reason, TRANSPORT_REASON_MOST,
             "NIC %s of this rank has %s, and NIC %s of the other, on %s, has %s: %s", here->name,
             value_here, there->name, host, value_there, advice);
    return reason;
}

const char *verbs_port_compare(const struct verbs_rail *rail, const struct verbs_port *port,
                               const char *host, const struct transport_setting *settings,
                               char *reason)
{
    const struct verbs_port *mine = &rail->port;
    char here[96], there[96], gid[2][INET6_ADDRSTRLEN];
    bool roce = mine->link_layer == IBV_LINK_LAYER_ETHERNET;
    int own, theirs;
    if (mine->link_layer != port->link_layer || mine->iwarp != port->iwarp)
        return differ(mine, layer_name(mine), port, host, layer_name(port),
                      "name NICs of one kind with nic=", reason);
    if (mine->mtu != port->mtu && !settings[VERBS_MTU].given && !mine->iwarp) {
        snprintf(here, sizeof here, "MTU %d", verbs_mtu_bytes(mine->mtu));
        snprintf(there, sizeof there, "MTU %d", verbs_mtu_bytes(port->mtu));
        return differ(mine, here, port, host, there,
                      "set both alike, or choose the smaller with mtu=", reason);
    }
    if (((mine->pkey ^ port->pkey) & 0x7fff) != 0) {
        snprintf(here, sizeof here, "P_Key 0x%04x", mine->pkey);
        snprintf(there, sizeof there, "P_Key 0x%04x", port->pkey);
        return differ(mine, here, port, host, there, "choose one that both have with pkey=INDEX",
                      reason);
    }
    if (!roce && !((mine->pkey | port->pkey) & 0x8000)) {
        snprintf(here, sizeof here, "P_Key 0x%04x of a limited member", mine->pkey);
        return differ(
            mine, here, port, host, "the same",
            "two limited members do not reach each other; choose another with pkey=INDEX, "
            "or ask the subnet manager's administrator for full membership",
            reason);
    }
    if (roce && mine->gid_kind && port->gid_kind && mine->gid_kind != port->gid_kind) {
        snprintf(here, sizeof here, "a GID of %s", gid_kind_names[mine->gid_kind - 1]);
        snprintf(there, sizeof there, "a GID of %s", gid_kind_names[port->gid_kind - 1]);
        return differ(mine, here, port, host, there,
                      "choose an index with gid= that is of one type on all hosts, or leave gid= "
                      "out (cctest info lists them)",
                      reason);
    }
    if (roce && !settings[VERBS_GID].given && !gids_find(mine, port, &own, &theirs)) {
        snprintf(here, sizeof here, "GID %s/%d", gid_text(mine->gid.raw, gid[0], sizeof gid[0]),
                 mine->prefix);
        snprintf(there, sizeof there, "GID %s/%d", gid_text(port->gid.raw, gid[1], sizeof gid[1]),
                 port->prefix);
        return differ(mine, here, port, host, there,
                      settings[VERBS_RAILS].given && settings[VERBS_RAILS].number
                          ? "the subnets differ; rails=match takes the NICs of all hosts in their "
                            "order: name them in the same one with nic="
                          : "the subnets differ; if rails do not meet, use rails=match; if a "
                            "router joins them, say so with gid=INDEX",
                      reason);
    }
    return NULL;
}

void verbs_port_meet(struct verbs_rail *rail, const struct verbs_port *port, int *own, int *theirs)
{
    *own = *theirs = 0;
    if (port->link_layer == IBV_LINK_LAYER_ETHERNET)
        gids_find(&rail->port, port, own, theirs);
    if (*own > 0)
        rail->other_used[*own - 1] = true;
}

void verbs_port_route(struct verbs_rail *rail, const struct verbs_port *port,
                      const struct transport_setting *settings, struct ibv_qp_attr *attr)
{
    uint8_t mtu = rail->port.mtu < port->mtu ? rail->port.mtu : port->mtu;
    bool roce = port->link_layer == IBV_LINK_LAYER_ETHERNET;
    int own, theirs;
    verbs_port_meet(rail, port, &own, &theirs);
    attr->path_mtu = verbs_mtu_asked(settings, (enum ibv_mtu)mtu);
    attr->ah_attr = (struct ibv_ah_attr){
        .dlid = port->lid, .sl = (uint8_t)settings[VERBS_SL].number, .port_num = rail->port_number};
    attr->ah_attr.is_global = roce || rail->attr.flags & IBV_QPF_GRH_REQUIRED ||
                              rail->port.gid.global.subnet_prefix != port->gid.global.subnet_prefix;
    if (attr->ah_attr.is_global)
        attr->ah_attr.grh = (struct ibv_global_route){
            .dgid = verbs_port_gid(port, theirs),
            .sgid_index = own ? rail->other_indices[own - 1] : rail->gid_index,
            .hop_limit = 64,
            .traffic_class = (uint8_t)settings[VERBS_TCLASS].number};
}
