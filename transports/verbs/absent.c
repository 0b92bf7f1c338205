/*
 * absent.c - the verbs transport of a cctest that was built without the headers of libibverbs.
 */
#include "transports/transports.h"
#include "transports/verbs/facts.h"

static const char *absent_unavailable(void)
{
    return "this cctest was built without infiniband/verbs.h: build it where libibverbs-dev and "
           "librdmacm-dev (RHEL: rdma-core-devel) are installed";
}

static bool absent_present(void)
{
    return ports_present(PORT_SYSFS);
}

static void absent_devices(struct device_list *list)
{
    const struct port_source source = {
        .sysfs = PORT_SYSFS, .dev = PORT_DEV, .library = absent_unavailable()};
    ports_add(&source, list);
}

static void absent_close(struct endpoint *endpoint)
{
    (void)endpoint; /* there is none */
}

const struct transport transport_verbs = {
    .name = "verbs",
    .summary = "RDMA NICs: InfiniBand, RoCE, iWARP",
    .options = verbs_options,
    .accepts = verbs_accepts,
    .unavailable = absent_unavailable,
    .present = absent_present,
    .devices = absent_devices,
    .close = absent_close,
};
