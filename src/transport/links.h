/*
 * links.h - one rank's links to all others: which transport serves which peer.
 *
 * links_open() is called by all ranks together. For each pair of ranks the first transport of the
 * user's list that can reach both ways is taken.
 */
#ifndef CCTEST_TRANSPORT_LINKS_H
#define CCTEST_TRANSPORT_LINKS_H

#include "control/control.h"
#include "transport/transport.h"

struct links;

/* `allowed`: transports in the order of preference, ended by NULL. Errors: STATUS_UNAVAILABLE if a
 * transport cannot be used here or none reaches a peer, naming both and the reasons. */
enum status links_open(const struct transport *const *allowed,
                       const struct transport_config *config, struct control *control,
                       struct links **links);

#define LINKS_LANES_MOST 4096

/* What a rank wishes of a peer, as bits. */
#define LINKS_WISHED   1 /* the lanes */
#define LINKS_ONE_MORE 2 /* and a lane behind them */

/* Connects this rank to those of whom it wishes that (`wishes`: by rank), on `lanes` lanes. Called
 * once, by all ranks together; the wishes need not be mutual, they are made so. Endpoints that
 * serve nobody are closed, and nothing listens any more. */
enum status links_connect(struct links *links, struct control *control, const unsigned char *wishes,
                          int lanes);

/* The channel to or from `peer`; NULL if it is not connected. */
struct channel *links_channel(struct links *links, int peer, int lane, bool sends);

enum status links_progress(struct links *links); /* of all endpoints in use */
enum status links_check(struct links *links);
/* What the network is at while nothing moves. */
struct idle_report links_idle_report(const struct links *links);

/* What the transport says of the link to `peer`, as its describe(); "" if it says nothing; NULL:
 * the peer is not connected. */
const char *links_describe(struct links *links, int peer, uint64_t *ns);

/* The transport that serves `peer`; NULL for this rank itself. */
const struct transport *links_transport(const struct links *links, int peer);

/* Endpoints in use, for their counters: index 0, 1, ...; NULL when there are no more. */
struct endpoint *links_endpoint(struct links *links, int index);

/* Connections that were none of the job's and were dropped, by all endpoints that there were. */
uint64_t links_strangers(const struct links *links);

/* Do the endpoints note what their channels wait for? */
void links_watch(struct links *links, bool watched);

void links_close(struct links *links); /* NULL is allowed */

#endif
