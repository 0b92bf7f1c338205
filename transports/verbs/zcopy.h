/*
 * zcopy.h - long messages: offers by the receiver, and segments that the sender writes into place.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_ZCOPY_H
#define CCTEST_TRANSPORTS_VERBS_ZCOPY_H

#include "transports/verbs/verbs.h"

/* Does the receiver let this message of the zcopy path come through slots? */
bool verbs_takes_slots(const struct channel *channel, const struct transfer *transfer);

/* Offers the memory of posted transfers, as far as the ring of offers goes, and tells the sender
 * how far limits have moved. */
enum status verbs_offers_make(struct verbs_receiver *in);

/* All of the transfer has come. */
void verbs_offers_end(struct verbs_receiver *in, const struct transfer *transfer);

/* Takes the next segment. *bytes: its length; 0: none has come. */
enum status verbs_segment_receive(struct verbs_receiver *in, struct transfer *transfer,
                                  size_t *bytes);

/* Sender: is there an offer for the next byte of the transfer, in out->offer? */
bool verbs_offer_take(struct verbs_sender *out, const struct transfer *transfer,
                      enum status *status);

/* Writes the next segment. *bytes: its length; 0: no room, or a limit. */
enum status verbs_segment_send(struct verbs_sender *out, struct transfer *transfer, size_t *bytes);

#endif
