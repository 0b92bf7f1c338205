/*
 * scratch.h - leaves out the scratch memory that no operation touches.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_SCRATCH_H
#define CCTEST_COLLECTIVE_SCHEDULE_SCRATCH_H

struct builder;
struct operation;

/* Moves the touched parts of scratch together: changes the spans of the b->count finished
 * `operations`, and the schedule's extent of scratch. May fail the builder. */
void scratch_compact(struct builder *b, struct operation *operations);

#endif
