/*
 * relay.h - the helper thread of every rank but 0.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_RELAY_H
#define CCTEST_CONTROLPLANE_CONTROL_RELAY_H

#include "controlplane/control/mailbox.h"

/* Its whole life: returns when the rank may close. */
void relay_run(struct control *control);

#endif
