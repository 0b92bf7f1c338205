/*
 * shared_memory.c - the sentence about garbage in memory that ranks share.
 */
#include "dataplane/transport/transport.h"

#include "base/log.h"

enum status fail_garbage(int peer, const char *what)
{
    return fail_peer(
        REASON_PEER_INVALID, peer,
        "the memory that rank %d and this rank share holds %s that no rank writes: another process "
        "writes there, or memory fails; look for memory errors in the kernel's log (dmesg), and "
        "compare with -x tcp",
        peer, what);
}
