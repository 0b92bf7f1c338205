/*
 * halves_stage.h - the stage halves: what shows only when many pairs of hosts exchange at once.
 *
 * The hosts that are good are halved, and each exchanges with one of the other half: first some of
 * these pairs, then all at the same time. Halves are random, and by switch where --switches tells
 * the switches: hosts behind half of them exchange with hosts behind the others.
 */
#ifndef CCTEST_ACCEPT_HALVES_STAGE_H
#define CCTEST_ACCEPT_HALVES_STAGE_H

#include "accept/acceptance.h"

enum status halves_stage_run(struct acceptance *acceptance, struct stage_result *result);

#endif
