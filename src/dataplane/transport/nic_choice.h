/*
 * nic_choice.h - which NIC ports a transport may use.
 */
#ifndef CCTEST_DATAPLANE_TRANSPORT_NIC_CHOICE_H
#define CCTEST_DATAPLANE_TRANSPORT_NIC_CHOICE_H

#include "dataplane/transport/transport.h"

/* May the transport use this port, "mlx5_2" (its port 1) or "mlx5_2:2"? Its nic= names it, or is not given. */
bool choice_allows_nic(const struct transport_choice *choice, const char *nic);

#endif
