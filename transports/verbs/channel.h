/*
 * channel.h - the data path of verbs: which way a message goes.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_CHANNEL_H
#define CCTEST_TRANSPORTS_VERBS_CHANNEL_H

#include "transports/verbs/verbs.h"

/* Moves what the channel's transfers can move now. */
enum status verbs_send_progress(struct verbs_sender *out);
enum status verbs_receive_progress(struct verbs_receiver *in);

#endif
