/*
 * root_join.h - which ranks may join at rank 0, where they get a place, and why a job does not
 * begin.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_ROOT_JOIN_H
#define CCTEST_CONTROLPLANE_CONTROL_ROOT_JOIN_H

#include "controlplane/control/root_state.h"

void root_begin(struct root *root);
/* A rank_acceptor_admit: takes in the process at the other end, sends it to a parent or refuses
 * it. */
void root_admit(void *root, struct wire *wire, const struct join_request *request);
/* A rank that was sent to a parent has arrived there. */
void root_attach(struct root *root, int rank);
/* While ranks join: begins the job when all have, gives it up when one fails or is late. */
void root_check_joining(struct root *root);

#endif
