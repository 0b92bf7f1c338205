/*
 * bind.h - a core for each rank of a host, and what lies around it.
 */
#ifndef CCTEST_BIND_H
#define CCTEST_BIND_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* Where a rank runs on its host. */
struct place {
    bool bound;
    int sharing; /* bound: ranks on its core, itself among them, */
    int threads; /* and hardware threads of the core that some of them may use */
};

/* Deals the host's cores out to its ranks and binds the calling thread to what it was dealt.
 * `masks`: what each of the `count` ranks may use, in the order of ranks; all of them call it with
 * the same ones, so that all deal alike. `me`: the caller's. Where binding is not possible nothing
 * has changed. */
void bind_to_core(const cpu_set_t *masks, int count, int me, struct place *place);

#endif
