/*
 * rail.h - rail-optimised networks of hosts with several GPUs, each with a NIC.
 *
 *      spines                 o   o   o       GPU i of each host of a pod reaches leaf i of the pod
 *                             |\ /|\ /|       through its own NIC. Inside a host a switch (NVSwitch)
 *      leaves: rail 0, 1, 2   o   o   o       joins the GPUs. A message between two rails goes to the
 *                             |   |   |       receiver's rail inside the sender's host (NCCL's PXN),
 *      GPUs of a host         o   o   o       or over a spine.
 *                              \  |  /
 *      inside it                 [ ]
 *
 * Source: NVIDIA DGX SuperPOD, reference architecture; for PXN: "Doubling all2all performance with
 * NVIDIA Collective Communication Library 2.12", 2022.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_RAIL_H
#define CCTEST_PREDICT_TOPOLOGY_RAIL_H

#include "predict/topology/family.h"

extern const struct topology_family family_rail;

#endif
