/*
 * root.h - the helper thread of rank 0.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_ROOT_H
#define CCTEST_CONTROLPLANE_CONTROL_ROOT_H

#include "controlplane/control/mailbox.h"

/* Its whole life: returns when rank 0 may close. */
void root_run(struct control *control);

#endif
