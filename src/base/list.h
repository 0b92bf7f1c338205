/*
 * list.h - memory for small control structures, and arrays that grow.
 *
 * Nothing here fails. A process without memory for a list of options or a table of hosts cannot go
 * on: it says "out of memory" and ends with STATUS_ERROR. The job's other ranks see its connection
 * close, as they see that a rank was killed.
 *
 * The rule: memory whose size the user chooses does not come from here. Buffers of messages,
 * counts, samples, schedules, proofs, the simulator's tables, and files of the user come from
 * malloc() or list_reserve(), and their owner refuses in a sentence that says what to make smaller.
 */
#ifndef CCTEST_BASE_LIST_H
#define CCTEST_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed; the caller frees it with free(). Not NULL, also for a count of 0. */
void *new_array(size_t count, size_t size) __attribute__((malloc, returns_nonnull));

/* A copy; likewise. */
char *new_text(const char *text) __attribute__((malloc, returns_nonnull));

/* Ends the process: a library had no memory. */
_Noreturn void memory_end(void);

/* The array with room for one more item, which is zeroed. It is full where its length is a power
 * of two, so that it needs no member for its room: only LIST_ADD makes it longer. */
void *list_extend(void *items, size_t count, size_t size);

/* Appends a zeroed item to an array that began as NULL, and returns its address. Items may move. */
#define LIST_ADD(items, count)                                                                     \
    ((items) = list_extend((items), (size_t)(count), sizeof *(items)), &(items)[(count)++])

/* The same for memory whose size the user chooses: gives an array that began as NULL room for one
 * more item, which is not zeroed. `items`: where the pointer to it stands. False: there is no
 * memory, and the array is as before. */
bool list_reserve(void *items, size_t count, size_t size);

#endif
