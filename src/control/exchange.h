/*
 * exchange.h - an exchange from encoding to decoding: what ranks say of themselves before and
 * between the measurements.
 */
#ifndef CCTEST_CONTROL_EXCHANGE_H
#define CCTEST_CONTROL_EXCHANGE_H

#include "control/blobs.h"
#include "control/control.h"

/* control_exchange(), then blobs_read(): nothing is decoded where the exchange gives nothing. */
enum status exchange_decode(struct control *control, enum exchange kind, struct bytes *share,
                            const char *what,
                            bool (*decode)(void *argument, int rank, struct reader *reader),
                            void *argument);

#endif
