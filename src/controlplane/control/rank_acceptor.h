/*
 * rank_acceptor.h - accepts the connections of ranks, and decodes their join requests.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_RANK_ACCEPTOR_H
#define CCTEST_CONTROLPLANE_CONTROL_RANK_ACCEPTOR_H

#include <stdbool.h>

#include "controlplane/control/frame.h"
#include "controlplane/control/join_request.h"
#include "controlplane/control/mailbox.h"
#include "base/net/acceptor.h"

typedef void rank_acceptor_admit(void *argument, struct wire *wire,
                                 const struct join_request *request);
struct rank_acceptor {
    struct acceptor acceptor;   /* at the control's listeners */
    rank_acceptor_admit *admit; /* takes the wire of a process that knows the secret */
    void *argument;
};
#define RANK_ACCEPTOR_POLLS 144 /* that its acceptor_watch() takes at most */
/* False: out of memory. */
bool rank_acceptor_open(struct rank_acceptor *rank_acceptor, struct control *control,
                        rank_acceptor_admit *admit, void *argument);
/* Closes the listeners and drops all pending connections. Allowed more than once; it was open. */
void rank_acceptor_close(struct rank_acceptor *rank_acceptor);

#endif
