/*
 * internal.h - for the files of dataplane/memory/ alone.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_INTERNAL_H
#define CCTEST_DATAPLANE_MEMORY_INTERNAL_H

#include <stdint.h>

#include "dataplane/memory/memory.h"
#include "dataplane/memory/input_element.h"
#include "dataplane/memory/reduce_element.h"

/* The kind "host", whose hooks tests borrow for kinds of their own. */
extern const struct memory_kind memory_host;

/* ---- A pragma for loops that are to become vector code.
 *
 * VECTORIZE before a loop tells the compiler that no element depends on another one. gcc vectorizes
 * such loops from -O3 on, hence -O3 for the whole of a file that includes this; clang does from
 * -O2.
 * ---- */

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* of loops that AddressSanitizer keeps scalar */
#define VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#pragma GCC optimize("O3")
#define VECTORIZE _Pragma("GCC ivdep")
#endif

#endif
