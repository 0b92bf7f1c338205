/*
 * pci.h - where a device stands in the PCI hierarchy, and how fast its link is.
 */
#ifndef CCTEST_HOST_PCI_H
#define CCTEST_HOST_PCI_H

#include <sched.h>

#include "host/device.h"
#include "host/host_place.h"
#include "host/sysfs.h"

/* The PCI device behind a path of sysfs, which may be a link: of `path` itself, or the nearest one
 * above it (above virtio0 stands the PCI function). Its address goes to `bus`, at least 16 bytes;
 * false, and "": there is none. */
bool pci_of_path(const char *path, char *bus);

/* What a device stands below, from its host bridge ("0000:3a") on over each bridge down to the
 * device itself. Returns how many; 0: this is not known. */
#define PCI_CHAIN_MOST 32
int pci_chain(const char *sysfs, const char *bus, char chain[PCI_CHAIN_MOST][16]);

/* The address as a number of a place, "0000:3b:00.0" or that of a host bridge. */
uint32_t pci_number(const char *address);

/* How far two PCI devices are apart, nearest first; the words of `nvidia-smi topo -m`. Those before
 * PCI_SYS are the levels of a place, too. */
enum pci_distance {
    PCI_SAME,    /* one device */
    PCI_PIX,     /* one switch, or one bridge */
    PCI_PXB,     /* several bridges */
    PCI_PHB,     /* the host bridge of a processor */
    PCI_NODE,    /* two host bridges of a NUMA node */
    PCI_SYS,     /* the connection between NUMA nodes */
    PCI_UNKNOWN, /* one of them is not there */
    PCI_DISTANCES
};
extern const char *const pci_distance_names[PCI_DISTANCES]; /* "same", "PIX", ... "unknown" */
enum pci_distance pci_distance(const char *sysfs, const char *bus, const char *other);

/* The parts of the host that have the device: itself, its switch or bridge, the port of the host
 * bridge, the host bridge, the NUMA node. Nothing is known of a device that is not there. */
struct host_place pci_place(const char *sysfs, const char *bus);

/* The lowest bridge above the device that redirects requests from device to device upwards (ACS,
 * access control services); at least 16 bytes. False, and "": none does, so far as this process may
 * read their configuration, which takes root. */
bool pci_redirecting(const char *sysfs, const char *bus, char *bridge);

/* The port of the bridge that the device stands in, its slot; at least 16 bytes. False, and "": it
 * stands in none. */
bool pci_slot(const char *sysfs, const char *bus, char *slot);

struct pci_link {
    int width;    /* lanes */
    double speed; /* GT/s of a lane */
};
/* `when`: "current" or "max". False: unknown. */
bool pci_link_read(const char *sysfs, const char *bus, const char *when, struct pci_link *link);

/* Errors of its link since the host started, by Advanced Error Reporting. */
struct pci_errors {
    uint64_t correctable, nonfatal, fatal;
};
/* False: the device, or the kernel, does not report them. */
bool pci_errors_read(const char *sysfs, const char *bus, struct pci_errors *errors);

/* The CPUs that are near the device. False: unknown. */
bool pci_cpus(const char *sysfs, const char *bus, cpu_set_t *cpus);

/* -1: unknown. */
int pci_numa_node(const char *sysfs, const char *bus);

/* Fills in the NUMA node of device->bus, and adds the facts "PCIe link" and "PCIe link at most". */
void pci_describe(const char *sysfs, struct device_list *list, struct device *device);

/* Adds the NVIDIA GPUs of this host, found by vendor and class, in the order of their addresses: no
 * driver is needed. */
void pci_gpus(const char *sysfs, struct device_list *list);

#endif
