/*
 * find_root.h - the addresses that lead to rank 0, and where this rank listens itself.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_FIND_ROOT_H
#define CCTEST_CONTROLPLANE_CONTROL_FIND_ROOT_H

#include "controlplane/control/mailbox.h"

/* Rank 0 listens, unless it does already. Any other rank finds its routes to rank 0, and listens if
 * it may get children. Fails with a sentence. */
enum status control_prepare(struct control *control);

#endif
