/*
 * slot.h - short messages, and messages that are combined: through the receiver's slots.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_SLOT_H
#define CCTEST_TRANSPORTS_VERBS_SLOT_H

#include "transports/verbs/block.h"

/* Is there room to send a slot? If not, completions or credits may bring it. */
bool verbs_slot_is_free(struct verbs_sender *out);

/* Sends `bytes` bytes of the message at `from` (at most a slot, not 0), and advances. A slot is
 * free. */
enum status verbs_slot_send(struct verbs_sender *out, struct cursor *from, size_t bytes);

/* Receiver: the next slot is the one that slots_taken says. */
void verbs_slot_await(struct verbs_receiver *in);

/* Has the next slot arrived? */
static inline bool verbs_slot_is_there(const struct verbs_receiver *in)
{
    return in->polls ? verbs_word_read(in->trailer) >> 32 == in->slots_taken + 1
                     : in->slots_arrived != in->slots_taken;
}

/* The bytes of the next slot that has arrived, *bytes of them; NULL: none has. */
const char *verbs_slot_arrived(struct verbs_receiver *in, size_t *bytes);

/* The next slot is taken. There is room for control (lane.h). */
enum status verbs_slot_taken(struct verbs_receiver *in);

#endif
