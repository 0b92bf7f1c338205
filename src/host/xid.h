/*
 * xid.h - Xid errors, which NVIDIA's driver writes to the kernel's log.
 */
#ifndef CCTEST_HOST_XID_H
#define CCTEST_HOST_XID_H

#include <stdint.h>

/* The number of the newest Xid of the GPU at this PCI address ("0000:3b:00.0"), not older than
 * `since` (us since the start of the machine). 0: there is none, or the log cannot be read, which
 * may take root. `log`: "/dev/kmsg" but in tests. Source: NVIDIA, "XID Errors". */
int xid_newest(const char *log, const char *bus, uint64_t since);

#endif
