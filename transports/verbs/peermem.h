/*
 * peermem.h - modules of the kernel by which NICs reach the memory of GPUs at its addresses.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_PEERMEM_H
#define CCTEST_TRANSPORTS_VERBS_PEERMEM_H

/* The name of a module that is loaded; NULL: none. `sysfs`: PORT_SYSFS, but in tests. */
const char *peermem_module(const char *sysfs);

#endif
