/*
 * fault_kind.h - the faults that are injected (--inject). C11 and C++17.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_FAULT_KIND_H
#define CCTEST_DATAPLANE_EXECUTE_FAULT_KIND_H

enum fault_kind {
    FAULT_NONE,
    FAULT_CORRUPT, /* one bit of one of its elements flips on arrival */
    FAULT_DROP,    /* it is received and ignored */
};

#endif
