/*
 * memory_check.h - is there memory for what all ranks of a host are going to take?
 */
#ifndef CCTEST_RUN_MEMORY_CHECK_H
#define CCTEST_RUN_MEMORY_CHECK_H

#include "control/control.h"
#include "memory/memory.h"

/* All ranks call it, before any of them allocates: this one will take `bytes` bytes of memory of
 * that kind. STATUS_ERROR where the ranks of this host together will find less than that; else what
 * one rank alone cannot have is for allocate() to say. */
enum status memory_check_host(struct control *control, const struct memory_kind *memory,
                              size_t bytes);

#endif
