/*
 * pmi.h - PMI-1, the process manager's protocol of MPICH's mpiexec.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_PMI_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_PMI_H

#include "controlplane/bootstrap/process_manager.h"

/* Connects to the manager, which has `seconds` for each answer. Errors as for pmix_open(). */
enum status pmi_open(double seconds, struct process_manager **manager, char *why, size_t size);

#endif
