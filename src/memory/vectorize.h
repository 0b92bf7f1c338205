/*
 * vectorize.h - loops that are to become vector code.
 *
 * gcc makes it of them from -O3 on only, hence -O3 for the whole of a file that includes this;
 * clang does from -O2 on. INDEPENDENT in front of a loop tells each of them in its own words that
 * no element depends on another one.
 */
#ifndef CCTEST_MEMORY_VECTORIZE_H
#define CCTEST_MEMORY_VECTORIZE_H

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* of loops that AddressSanitizer keeps scalar */
#define VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#pragma GCC optimize("O3")
#define VECTORIZE _Pragma("GCC ivdep")
#endif

#endif
