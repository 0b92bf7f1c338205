/*
 * card.h - a kind of memory for tests that stands in for a GPU's: no CPU reads it at its addresses,
 * which are not mapped for access, so that whoever does is ended by a signal. NICs reach it by a
 * descriptor, or by their peer memory module.
 */
#ifndef CCTEST_TEST_VERBS_CARD_H
#define CCTEST_TEST_VERBS_CARD_H

#include "memory/memory.h"

/* share() gives a dmabuf; flush() calls provider_flush(). No engine. */
extern const struct memory_kind memory_card;

/* Where a test reads and writes what lies at this address of a card's region. For other memory it
 * is the address itself. */
char *card_view(const void *address);

/* Calls of flush() so far, by all threads. */
size_t card_flushes(void);

#endif
