/*
 * exchange.h - an exchange from encoding to decoding: what ranks say of themselves before and
 * between the measurements.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_EXCHANGE_H
#define CCTEST_CONTROLPLANE_CONTROL_EXCHANGE_H

#include "controlplane/control/blobs.h"
#include "controlplane/control/control.h"

/* control_exchange(), then blobs_read(): nothing is decoded where the exchange gives nothing. */
enum status exchange_decode(struct control *control, enum exchange kind, struct bytes *share,
                            const char *what,
                            bool (*decode)(void *argument, int rank, struct reader *reader),
                            void *argument);

/* Writes this rank's words [first, first + count) to `to`. */
typedef void words_lay(const void *argument, size_t first, size_t count, uint64_t *to);

/* As control_maximum(), for any number of words: piece by piece, since each connection of a relay
 * holds one in its buffer. `words`: room for `count` maxima, at rank 0; the others hold a piece of
 * their words at a time. */
enum status exchange_maximum(struct control *control, words_lay *lay, const void *argument,
                             size_t count, const char *what, uint64_t *words);

/* Sends `each` bytes of <what> data to each of `peers`, in their order in `mine`, and receives as
 * many from each into `theirs`. Each parcel goes to its peer alone, so a few peers of each rank cost
 * little in jobs of any size. All ranks call it in the same order as their other exchanges, if need
 * be with no peers. Errors: a peer that does not exchange with this rank, naming it; else as
 * control_exchange(). */
enum status exchange_with_peers(struct control *control, const int *peers, int count,
                                const void *mine, size_t each, void *theirs, const char *what);

#endif
