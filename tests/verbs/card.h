/*
 * card.h - memory of a card that no CPU reads (../unit/card_memory.h), as the provider's NICs
 * reach it: by a descriptor, or by their peer memory module.
 */
#ifndef CCTEST_TEST_VERBS_CARD_H
#define CCTEST_TEST_VERBS_CARD_H

#include "dataplane/memory/memory.h"

/* share() gives a dmabuf; flush() calls provider_flush(). No engine. */
extern const struct memory_kind memory_card;

/* Where a test reads and writes what lies at this address of a card's region. For other memory it
 * is the address itself. */
char *card_view(const void *address);

/* Calls of flush() so far, by all threads. */
size_t card_flushes(void);

#endif
