/*
 * links.h - one rank's links to all others: which transport serves which peer.
 *
 * For each pair of ranks the first transport of the user's list that works both ways is taken. The
 * order of calls, with an exchange of the encoded share after each encoding: links_open, links_wish,
 * links_encode_offers, links_decode_offers (of each rank), links_attach, links_encode_reach,
 * links_decode_reach (of each peer), links_choose, links_connect. A decoder returns false for
 * invalid data.
 */
#ifndef CCTEST_DATAPLANE_TRANSPORT_LINKS_H
#define CCTEST_DATAPLANE_TRANSPORT_LINKS_H

#include "base/bytes.h"
#include "dataplane/transport/fallback.h"
#include "dataplane/transport/transport.h"
#include "base/rank_state.h"

struct links;

/* `allowed`: transports in the order of preference, ended by a NULL transport; the texts of their
 * settings are valid until links_close(). STATUS_UNAVAILABLE if one that the user named cannot be
 * used here; another is no error. *links is to be closed even after an error; NULL if memory ran
 * out. */
enum status links_open(const struct transport_choice *allowed,
                       const struct transport_config *config, struct links **links);

#define LINKS_LANES_MOST 4096

/* What a rank wishes of a peer, as bits. */
#define LINKS_WISHED   1 /* the lanes */
#define LINKS_ONE_MORE 2 /* and a lane behind them */

/* The connections that this rank needs: `wishes`, by rank, on `lanes` lanes. A peer wishes the same
 * of this rank. */
void links_wish(struct links *links, const unsigned char *wishes, int lanes);

/* For each allowed transport, its address or the reason why it cannot be used; and what bounds the
 * wishes of all. */
void links_encode_offers(const struct links *links, struct bytes *share);
bool links_decode_offers(struct links *links, int rank, struct reader *reader);
/* Once all are decoded. STATUS_ERROR: there was no memory to keep one. */
enum status links_check_offers(const struct links *links);

/* Finds out which transports reach the peers that are wished for, from the offers. */
void links_attach(struct links *links);

/* The peers that are wished for, ascending, and for each the transports that reach it, as bits:
 * `peers` and `reach` have room for all ranks. Returns how many they are. */
int links_encode_reach(const struct links *links, int *peers, unsigned char *reach);
/* What the same peers say of this rank. */
void links_decode_reach(struct links *links, const int *peers, int count,
                        const unsigned char *reach);

/* Chooses the transport of each peer that is wished for. STATUS_UNAVAILABLE if none connects a pair
 * of ranks: names both and the reasons. */
enum status links_choose(struct links *links, const struct member *members);

/* How many of a lane's two channels to and from `peer` need rings (dataplane/execute/stage.h) for messages in
 * this kind of memory: 2 where the peer's transport does not reach it, 1 where it reaches it but
 * does not combine there what it receives, else 0. Between links_choose() and links_connect(). */
int links_ring_directions(const struct links *links, int peer, const struct memory_kind *kind);

/* Makes the connections; blocks. Called once, by all ranks together. Endpoints that serve no peer
 * are closed, and nothing listens any more. Errors: the transport's. */
enum status links_connect(struct links *links, const struct member *members);

/* The channel to or from `peer`; NULL if it is not connected. */
struct channel *links_channel(struct links *links, int peer, int lane, bool sends);

enum status links_progress(struct links *links); /* of all endpoints in use */
enum status links_check(struct links *links);
/* What the network does while nothing moves. */
struct idle_report links_idle_report(const struct links *links);

/* The words of the transport's describe() for the link to `peer`; "" if it has none; NULL: the peer
 * is not connected. */
const char *links_describe(struct links *links, int peer, uint64_t *ns);

/* Do messages to and from `peer` go through rings, since its transport does not reach the memory
 * of this rank's buffers? */
bool links_stages(const struct links *links, int peer);

/* Why peers that are connected are served by another transport than the one that comes first. Of
 * the two ends of a pair, one has it. Empty before links_connect(). */
const struct fallbacks *links_fallbacks(const struct links *links);

/* The transport that serves `peer`; NULL: it is not connected. */
const struct transport *links_transport(const struct links *links, int peer);

/* Endpoints that are open, also before it is known whom they serve: index 0, 1, ...; NULL when
 * there are no more. */
const struct endpoint *links_open_endpoint(const struct links *links, int index);

/* Endpoints in use, for their counters: index 0, 1, ...; NULL when there are no more. */
struct endpoint *links_endpoint(struct links *links, int index);

/* Connections that were rejected as not the job's, by all endpoints that there were. */
uint64_t links_rejected(const struct links *links);

/* Makes the endpoints note what their channels wait for, or not. */
void links_watch(struct links *links, bool watched);

void links_close(struct links *links); /* NULL is allowed */

#endif
