/*
 * host.h - which machine this is: what ranks compare to find out whether they share one.
 */
#ifndef CCTEST_BASE_HOST_H
#define CCTEST_BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HOST_NAME_BYTES 64
#define HOST_BOOT_BYTES 40

/* What to do where a process or a thread cannot be started. */
#define HOST_START_ADVICE                                                                          \
    "start fewer ranks, or raise the limits of processes (ulimit -u) and address space (ulimit "   \
    "-v)"

/* The host's name, cut off at `size`; "unnamed" if it has none. */
void host_name(char *text, size_t size);

/* The kernel's boot id, which tells hosts of the same name apart. False, and "", if it cannot be
 * had: then nothing follows from it. */
bool host_boot(char *text, size_t size);

/* Opens, with open()'s flags, what another process of this host has open as `fd`. -1 with errno. By
 * then it may be anything: look before it is used. */
int host_open_descriptor(pid_t pid, int fd, int flags);

#endif
