/*
 * address.h - how a rail is addressed, and whether the rails of two ranks reach each other.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_ADDRESS_H
#define CCTEST_TRANSPORTS_VERBS_ADDRESS_H

#include "transports/verbs/verbs.h"

/* Bytes of an MTU; 0: it is none. */
static inline int verbs_mtu_bytes(unsigned mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

/* The MTU that mtu= asks for; else `otherwise`. */
static inline enum ibv_mtu verbs_mtu_asked(const struct transport_setting *settings,
                                           enum ibv_mtu otherwise)
{
    return settings[VERBS_MTU].given ? (enum ibv_mtu)(IBV_MTU_256 + settings[VERBS_MTU].number)
                                     : otherwise;
}

/* Chooses the GID and the P_Key of an open rail, and fills rail->port. False: `reason`. */
bool verbs_rail_address(struct verbs_rail *rail, const struct transport_setting *settings,
                        char *reason);

size_t verbs_address_encode(const struct verbs_address *address, void *blob);
bool verbs_address_decode(const void *blob, size_t size, struct verbs_address *address);

/* NULL if the rail reaches `port` of a rank on `host`. Else why not, written into `reason` with the
 * values of both ends. */
const char *verbs_port_compare(const struct verbs_rail *rail, const struct verbs_port *port,
                               const char *host, const struct transport_setting *settings,
                               char *reason);

/* A GID of the port by its number: 0 is port->gid, the others follow. */
union ibv_gid verbs_port_gid(const struct verbs_port *port, int number);

/* By which GIDs, by number, the rail and the peer's port reach each other. Both ends find the same,
 * since it follows from the two ports alone. A port whose GID is given (gid=) has no other. Notes
 * which one the rail uses. */
void verbs_port_meet(struct verbs_rail *rail, const struct verbs_port *port, int *own, int *theirs);

/* The address of the peer's port for a queue pair of the rail, and its MTU. Notes which address of
 * the rail it uses. */
void verbs_port_route(struct verbs_rail *rail, const struct verbs_port *port,
                      const struct transport_setting *settings, struct ibv_qp_attr *attr);

#endif
