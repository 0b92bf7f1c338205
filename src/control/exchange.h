/*
 * exchange.h - an exchange from encoding to decoding: what ranks say of themselves before and
 * between the measurements.
 */
#ifndef CCTEST_CONTROL_EXCHANGE_H
#define CCTEST_CONTROL_EXCHANGE_H

#include "control/blobs.h"
#include "control/control.h"

/* Sends `share` to all ranks, and decodes the share of each as blobs_read() does. Called by all
 * ranks together; blocks. Frees the bytes of `share`. */
enum status exchange_all(struct control *control, struct bytes *share, const char *what,
                         bool (*decode)(void *argument, int rank, struct reader *reader),
                         void *argument);

/* The same to rank 0 only: no other rank decodes anything. */
enum status exchange_root(struct control *control, struct bytes *share, const char *what,
                          bool (*decode)(void *argument, int rank, struct reader *reader),
                          void *argument);

#endif
