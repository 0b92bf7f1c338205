/*
 * host.h - the interface of host/.
 */
#ifndef CCTEST_HOST_HOST_H
#define CCTEST_HOST_HOST_H

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* ---- device.c ---- */

#define COUNTER_NAME_MOST  48
#define COUNTERS_SENT_MOST 1024 /* of one device */

enum counter_class {
    COUNTER_FAULTY,    /* healthy devices do not count these: errors, and what is sent again */
    COUNTER_CONGESTED, /* the network is busy, or a GPU at its power limit */
    COUNTER_OTHER,     /* traffic, and names that the device's driver alone knows */
    COUNTER_GAUGE,     /* counts nothing: a temperature, a clock */
    COUNTER_CLASSES
};

struct counter {
    char name[COUNTER_NAME_MOST]; /* "local_ack_timeout_err" */
    enum counter_class class;
    uint64_t value;
    bool since_open; /* it was 0 when its meter was opened, and may be listed later */
};

struct counter_list {
    struct counter *counters;
    int count;
};

/* A name that is there already keeps its first value. */
void counter_add(struct counter_list *list, const char *name, enum counter_class class,
                 uint64_t value);

/* Likewise one that was 0 when its meter was opened. */
void counter_add_since_open(struct counter_list *list, const char *name, enum counter_class class,
                            uint64_t value);

/* Adds what each counter of `now` has grown by since `before`, if at all, and gauges as they are.
 * Counters that one of the two lacks, or that went back (the device was reset), are left out. */
void counters_change(const struct counter_list *before, const struct counter_list *now,
                     struct counter_list *change);

/* Adds the values of `more` to the counters of the same names. Of a gauge the later value stays. */
void counters_sum(struct counter_list *sum, const struct counter_list *more);

/* The number of counters of a class. */
int counters_of_class(const struct counter_list *list, enum counter_class class);

/* "symbol_error 3, link_downed 1": those of a class, in the order of the list; cut off at `size`.
 * Returns `text`. */
const char *counters_text(const struct counter_list *list, enum counter_class class, char *text,
                          size_t size);

/* `classes`: the first of enum counter_class that travel. */
void counters_encode(const struct counter_list *list, int classes, struct bytes *share);
/* Appends to the list; false: invalid. */
bool counters_decode(struct counter_list *list, struct reader *reader);

void counter_list_free(struct counter_list *list);

/* ---- A device that carries a job's data, such as a port of a NIC, as a list of facts.
 *
 * A transport or a kind of memory fills in the facts. `cctest info` prints them, and rank 0
 * compares those of all ranks.
 * ---- */

#define DEVICE_NAME_MOST   80
#define DEVICE_REASON_MOST 320
#define FACT_NAME_MOST     24
#define FACT_TEXT_MOST     128
#define FACTS_SENT_MOST    32 /* of one device, to rank 0 */
#define DEVICES_SENT_MOST  64 /* of one rank */

/* The devices of a kind that should agree in a fact. */
enum fact_scope {
    FACT_SHOWN,    /* none: `cctest info` shows it */
    FACT_ALL,      /* all */
    FACT_MODEL,    /* all of one model */
    FACT_IDENTITY, /* none: it tells which device of a host it is, beside its name */
    FACT_SCOPES
};

struct fact {
    char name[FACT_NAME_MOST]; /* "rate" */
    char text[FACT_TEXT_MOST]; /* "400 Gb/s" */
    enum fact_scope scope;
};

struct device {
    char name[DEVICE_NAME_MOST]; /* "mlx5_0:1" */
    char kind[16];               /* "port" */
    char model[32];              /* "MT4129"; "": unknown */
    char bus[16];                /* PCI address "0000:3b:00.0"; "": it has none */
    int numa_node;               /* -1: unknown */
    bool usable;
    char why_not[DEVICE_REASON_MOST]; /* one clause, with what to do; "": it is usable */
    struct fact *facts;
    int fact_count;
};

struct inquiry;

struct device_list {
    struct device *devices;
    int count;
    struct inquiry *inquiry; /* is told of each device that is added; NULL: none is */
};

/* A device with no facts, usable, appended to the list, which owns it; valid until the next one is
 * added. It comes before the questions to the device's driver. */
struct device *device_add(struct device_list *list, const char *kind, const char *name);

/* An empty text is no fact. */
void device_fact(struct device *device, enum fact_scope scope, const char *name, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* Has the list a device at this PCI address? */
bool device_is_listed(const struct device_list *list, const char *bus);

/* The text of a fact; NULL: there is none of this name. */
const char *device_find_fact(const struct device *device, const char *name);

/* "index 3, serial 1650123000042": the facts of FACT_IDENTITY; "": it has none. Returns `text`. */
const char *device_identity(const struct device *device, char *text, size_t size);

/* Kind, name, model, and all facts but FACT_SHOWN. At most DEVICES_SENT_MOST devices travel. */
void device_list_encode(const struct device_list *list, struct bytes *share);
/* Appends to the list; false: invalid. */
bool device_list_decode(struct device_list *list, struct reader *reader);

/* Appends the devices of `from`, which is empty then. */
void device_list_move(struct device_list *list, struct device_list *from);

void device_list_free(struct device_list *list);

/* ---- device.c ---- */

/* The counters of a device. */
struct device_change {
    char name[DEVICE_NAME_MOST];
    struct counter_list counters;
};

struct device_changes {
    struct device_change *devices;
    int count;
};

/* `classes`: the first of enum counter_class that travel. */
void device_changes_encode(const struct device_changes *changes, int classes, struct bytes *share);
/* Begins with *changes empty. False: invalid. */
bool device_changes_decode(struct device_changes *changes, struct reader *reader);
void device_changes_free(struct device_changes *changes); /* all zero is allowed */

/* The counters of a device of this name, which is added to the list, at most DEVICES_SENT_MOST.
 * NULL: there is no room. */
struct counter_list *device_changes_add(struct device_changes *changes, const char *name);

/* Appends what each device of `now` has counted since `before`, and leaves out gauges, and devices
 * that have counted nothing. */
void device_changes_since(const struct device_changes *before, const struct device_changes *now,
                          struct device_changes *grown);

/* ---- Errors of the host's memory, and how often its CPUs were too hot, since it started. ---- */

struct memory_errors {
    uint64_t corrected, uncorrected; /* of all memory controllers */
};

/* False: the kernel has no driver for them (EDAC). `sysfs`: "/sys", but in tests. */
bool memory_errors_read(const char *sysfs, struct memory_errors *errors);

/* How often cores have slowed down for heat; false: the CPUs do not count it. */
bool cpu_throttles_read(const char *sysfs, uint64_t *throttles);

/* ---- What the driver of a network device tells of it: its firmware, and pause frames. Over
 * RoCE, Ethernet's flow control stops senders.
 * ---- */

/* Adds the driver's statistics (those of `ethtool -S`) whose names hold one of `words`, ended by
 * NULL, as COUNTER_CONGESTED. A device that is not in this network namespace, or has none, adds
 * nothing. */
void netdev_counters(const char *netdev, const char *const *words, struct counter_list *list);

/* The version of its firmware; false: the driver tells none. */
bool netdev_firmware(const char *netdev, char *text, size_t size);

/* netdev_counters() for one statistic; `text` has 32 bytes, as the driver gives them: a 0 ends a
 * shorter name. */
void statistic_add(const char *text, uint64_t value, const char *const *words,
                   struct counter_list *list);

/* Pause frames, for all traffic (rx_pause_ctrl_phy) or a priority (tx_prio3_pause), packets that
 * the port dropped for want of buffers, and those that it marked as congested (ECN). */
extern const char *const pause_words[];
void pause_counters(const char *netdev, struct counter_list *list);

/* ---- The GID table of an RDMA port, as sysfs shows it. ---- */

#define GID_TABLE_MOST 256

enum gid_kind { GID_KIND_IB, GID_KIND_ROCE_V1, GID_KIND_ROCE_V2, GID_KINDS };
extern const char *const gid_kind_names[GID_KINDS]; /* "IB", "RoCE v1", "RoCE v2" */

struct gid_entry {
    int index;
    enum gid_kind kind;
    unsigned char raw[16]; /* in network order */
    char netdev[16];       /* "eth0"; "": none, or it is hidden */
};

/* Fills in the entries that are set, at most `most`; returns how many. `sysfs`: "/sys". */
int gid_table_read(const char *sysfs, const char *nic, int port, struct gid_entry *entries,
                   int most);

/* Does it map an IPv4 address? */
bool gid_is_ipv4(const unsigned char raw[16]);

/* "fe80::1", "::ffff:10.0.0.1"; returns `text`. */
const char *gid_text(const unsigned char raw[16], char *text, size_t size);

/* ---- The parts of a host as a tree: packages, NUMA nodes, third-level caches and cores,
 * as hwloc tells them, and PCI bridges, GPUs and NICs, as sysfs does. How far GPUs, NICs and cores
 * are apart on it.
 * ---- */

enum map_kind {
    MAP_PACKAGE,
    MAP_NODE,  /* NUMA node */
    MAP_CACHE, /* of the third level */
    MAP_CORE,
    MAP_HOST_BRIDGE,
    MAP_BRIDGE,
    MAP_GPU,
    MAP_NIC,
    MAP_KINDS
};
extern const char *const map_kind_names[MAP_KINDS]; /* "package", "node", ... */

struct map_part {
    enum map_kind kind;
    int above;      /* the part that it belongs to, an index; -1: none */
    int number;     /* of packages and NUMA nodes the kernel's, of others of its kind from 0 */
    int node;       /* the first NUMA node that has all of it; -1: none has, or unknown */
    uint64_t bytes; /* of a NUMA node or a cache; 0: unknown */
    char *cpus;     /* "0-7,64-71"; NULL: it has none */
    char *names;    /* of a NIC: "mlx5_0, ens1f0"; else NULL */
    char bus[16];   /* PCI address; "": it has none */
};

struct host_map {
    struct map_part *parts; /* each behind the one that it belongs to */
    int count;
};

/* `sysfs`: "/sys", or of another host, whose processors hwloc reads then (HWLOC_FSROOT). To be
 * freed. */
void host_map_make(const char *sysfs, struct host_map *map);
void host_map_free(struct host_map *map);

/* Is it an end of distances: a GPU, a NIC, or a part that has cores directly? */
bool host_map_is_end(const struct host_map *map, int part);

/* How far two ends are apart, in the words of pci_distance_names; "X": they are one. Cores and
 * devices are NODE on one NUMA node, else SYS. */
const char *host_map_distance(const struct host_map *map, const char *sysfs, int a, int b);

/* ---- Where a rank or a device stands in its host: the parts of the host that have it,
 * from the smallest up. Two of them are the nearer, the smaller the part is that both stand in.
 *
 * Which parts these are depends on what the places are of: CPUs (run/run.h) or PCI devices
 * (host/host.h). Only places of one kind, and of one host, compare.
 * ---- */

#define PLACE_LEVELS  6
#define PLACE_UNKNOWN UINT32_MAX /* which part it is: several, or not known */

struct host_place {
    uint32_t at[PLACE_LEVELS];
};

/* A place of which nothing is known. */
struct host_place host_place_unknown(void);

/* The smallest part that both share, a level; PLACE_LEVELS: none that is known. */
int host_place_shared(const struct host_place *a, const struct host_place *b);

/* Negative, 0 or positive: an order in which the places of each part stand together. */
int host_place_compare(const struct host_place *a, const struct host_place *b);

/* Any number may stand in a place, so none is invalid. */
void host_place_code(struct codec codec, struct host_place *place);

/* ---- Which device's driver a thread asks, and since when. A driver that hangs does not
 * return: another thread, which waits with a limit (base/timed_call.h), then names the device.
 * ---- */

#define INQUIRY_DEVICE_MOST 128
#define INQUIRY_TEXT_MOST   320

/* Advice for a driver that hangs. */
#define INQUIRY_ADVICE                                                                             \
    "it hangs; look at the kernel's log (for Xid, of a GPU), then reset the device or restart "    \
    "the "                                                                                         \
    "host"

struct inquiry {
    pthread_mutex_t lock;
    char device[INQUIRY_DEVICE_MOST]; /* "GPU 0000:3b:00.0" */
    double since;                     /* clock_seconds() */
};

/* `devices`: what is asked before the first device is known, "the GPUs". */
void inquiry_init(struct inquiry *inquiry, const char *devices);

/* Called by the thread before it asks a device: "GPU", "port"; its name; its PCI address, or "".
 * NULL is allowed: none waits. */
void inquiry_asks(struct inquiry *inquiry, const char *kind, const char *name, const char *bus);

/* For how many seconds the device has been asked. */
double inquiry_seconds(struct inquiry *inquiry);

/* "the driver of GPU 0000:3b:00.0 of host n7 has not answered for 33 s". Returns `text`. */
const char *inquiry_text(struct inquiry *inquiry, const char *host, char text[INQUIRY_TEXT_MOST]);

/* ---- host_map.c ---- */

/* Packages, NUMA nodes, third-level caches, cores and hardware threads. Of the whole machine, so
 * that ranks that may use different parts of it number the cores alike. To be destroyed; false:
 * hwloc cannot tell. */
bool machine_load(hwloc_topology_t *topology);

/* ---- How much memory this process can still get. ---- */

#define MEMORY_WHERE_MOST 256 /* bytes of a pool's name, with its 0 */

/* Something that memory is taken from: a machine, a control group, a device. */
struct memory_pool {
    uint64_t which; /* identifies it among the pools of all ranks of a host; 0: there is none */
    size_t left;    /* bytes; SIZE_MAX: no limit */
    bool is_exact;  /* no more than that can be had; else `left` is an estimate */
    char where[MEMORY_WHERE_MOST]; /* for sentences: "this machine", "GPU 0 (0000:3b:00.0)" */
    const char *limit_file;        /* of a control group, static: what sets its limit; else NULL */
};
#define MEMORY_POOLS 2 /* that a rank takes from, at most */

/* The machine, and the control group of this process, or the one above it that has the least left.
 * Of the machine a reserve for other processes is taken off. A group has none: its limit is there
 * to be used. */
void memory_look(struct memory_pool pools[MEMORY_POOLS]);

/* The pool that has less left. */
const struct memory_pool *memory_scarcer(const struct memory_pool pools[MEMORY_POOLS]);

/* Bytes that this process can still get: the lesser of both. */
size_t memory_available(void);

/* The most bytes that the control groups of this process may take; SIZE_MAX: no limit. False:
 * unknown, because version 1 counts them or this system shows no groups. */
bool memory_group_limit(size_t *bytes);

/* ---- Reads the counters of a device. ---- */

/* Belongs to one device. A kind of meter may count by itself, from when it was opened. */
struct meter {
    /* Adds the counters, as they are now. Called between measurements only, by one thread at a
     * time. Both may block, for ever if the driver hangs. */
    void (*read)(struct meter *meter, struct counter_list *list);
    void (*close)(struct meter *meter);
};

/* A meter that calls `read` with the name of the device, which it copies. */
struct meter *meter_open(const char *device,
                         void (*read)(const char *device, struct counter_list *list));

/* ---- Which of several PCI devices are nearest to the cores of a thread. ---- */

#define NEARNESS_UNKNOWN UINT64_MAX

/* Fills `distances` for the PCI addresses ("0000:3b:00.0") of `count` devices, from `cpus` (NULL:
 * those that the calling thread may run on). Less is nearer, equal is equally near. A device that
 * hwloc does not know, as one without an address (""), is NEARNESS_UNKNOWN. Loads the topology,
 * which takes some 10 ms. */
void nearness_distances(const char *const *buses, int count, const cpu_set_t *cpus,
                        uint64_t *distances);

/* Fills `order` with 0 .. count - 1, the nearest first; ties keep their order. */
void nearness_order(const uint64_t *distances, int count, int *order);

/* ---- What sysfs says of a port of an RDMA NIC. A port is named "mlx5_0:1": the NIC, and
 * the port's number there.
 * ---- */

#define RDMA_NIC_MOST 64 /* bytes of a NIC's name, with its 0: the kernel's IB_DEVICE_NAME_MAX */

/* Texts are "" where sysfs has none. */
struct rdma_port {
    char model[32];               /* "MT4129" */
    char firmware[64];            /* "28.39.1002" */
    char node_type[32];           /* "CA", "RNIC" */
    char link_layer[32];          /* "InfiniBand", "Ethernet" */
    char state[32], physical[32]; /* "ACTIVE", "LinkUp" */
    char rate_text[64];           /* "400 Gb/sec (4X NDR)" */
    double rate;                  /* Gb/s; 0: the text is none of this form */
    char width[16];               /* "4X"; "": likewise */
    struct gid_entry gids[GID_TABLE_MOST];
    int gid_count;
};

/* `sysfs`: "/sys", but in tests. A port that is not there has no texts. */
void rdma_port_read(const char *sysfs, const char *nic, int number, struct rdma_port *port);

/* The network device of the first GID that has one; "": none has. */
const char *rdma_port_netdev(const struct rdma_port *port);

/* Takes "mlx5_0:1" apart; false: it is no name of a port. */
bool rdma_port_parse(const char *name, char nic[RDMA_NIC_MOST], int *number);

/* The PCI address of a NIC, to at least 16 bytes: of a virtual one (rxe, siw) that of the network
 * device that it stands on. "": it has none. */
void rdma_nic_bus(const char *sysfs, const char *nic, char *bus);

/* Calls `each` for all ports of this machine's NICs, in the order of their names. */
void rdma_ports_each(const char *sysfs, void (*each)(void *context, const char *nic, int number),
                     void *context);

/* ---- The NICs of a host: RDMA devices and network interfaces of hardware, by what sysfs says.
 * ---- */

#define NIC_INTERFACES_MOST 64
#define RAILS_MOST          64 /* ports of a host that the jobs of a fleet use, each by itself */

struct nic {
    char name[RDMA_NIC_MOST];             /* "mlx5_0", or that of an interface: "eth0" */
    char interfaces[NIC_INTERFACES_MOST]; /* at its PCI device, of an RDMA NIC: "ens1f0, ens1f1" */
    char bus[16];                         /* PCI address; "": it has none */
    bool is_rdma;
    bool is_up; /* the interface, or a port of the RDMA NIC */
};

/* All of them, RDMA NICs first, as an array that the caller frees; *nics is NULL where there are
 * none. An interface that stands at the PCI device of an RDMA NIC is named there. Returns how many.
 */
int nics_find(const char *sysfs, struct nic **nics);

/* Does a network interface stand on hardware of this host, or join such (a bond)? Those of
 * containers and virtual machines (veth, bridges, taps), and virtual functions, come and go from
 * host to host. */
bool interface_is_hardware(const char *sysfs, const char *netdev);

/* The names of the interfaces of a host that are compared and counted: those of hardware. A network
 * namespace may have none of them: then all but loopback. To be freed with sysfs_names_free();
 * returns how many. */
int interfaces_find(const char *sysfs, char ***names);

/* ---- The NVIDIA GPUs that a process may use, counted by files. ---- */

/* How many GPUs CUDA shows to a process: those with a device file, of which `visible`, the text of
 * CUDA_VISIBLE_DEVICES, leaves some (NULL: all). Of a GPU that MIG divides CUDA shows one part. An
 * estimate: CUDA itself is not asked, so that the process may still fork. `root`: "", but in tests.
 */
int nvidia_visible(const char *root, const char *visible);

/* ---- Reads the small files in which the kernel describes devices.
 *
 * A file may be missing, unreadable, or hold anything: its reader then has no answer, and that is
 * no error. Paths are printf formats. Their first argument is the root of the tree, "/sys" but in
 * tests.
 * ---- */

#define SYSFS_PATH_MOST 512

/* The first line, without blanks around it; control characters become '?'. False, and "": there is
 * none. */
bool sysfs_text(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The number that the first line is, decimal or 0x...; false, and 0: it is none. */
bool sysfs_number(uint64_t *value, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The whole text, cut off at `most` bytes, with a 0 behind it; to be freed. NULL: there is none. */
char *sysfs_whole(size_t most, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number behind `word` in such a text, "MemTotal:" of "MemTotal:  16 kB"; false: it has none.
 */
bool sysfs_number_behind(const char *text, const char *word, uint64_t *value);

/* The names in a folder, sorted with numbers in the order of their values ("gid2" before "gid10"),
 * without those that begin with a dot. *names is to be freed with sysfs_names_free(). Returns how
 * many; 0: the folder cannot be read, or memory ran out. */
int sysfs_names(char ***names, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sysfs_names_free(char **names, int count);

/* ---- Where a device stands in the PCI hierarchy, and how fast its link is. ---- */

/* The PCI device behind a path of sysfs, which may be a link: of `path` itself, or the nearest one
 * above it (above virtio0 stands the PCI function). Its address goes to `bus`, at least 16 bytes;
 * false, and "": there is none. */
bool pci_of_path(const char *path, char *bus);

/* The chain down to a device: its host bridge ("0000:3a"), each bridge on the way, and the device
 * itself. Returns how many; 0: this is not known. */
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
 * read their configuration, which takes root; or its chain is not known. */
bool pci_redirecting(const char *sysfs, const char *bus, char *bridge);

/* The port of the bridge that the device stands in, its slot; at least 16 bytes. False, and "": it
 * stands in none, or its chain is not known. */
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
void pci_describe(const char *sysfs, struct device *device);

/* Adds the NVIDIA GPUs of this host, found by vendor and class, in the order of their addresses: no
 * driver is needed. */
void pci_gpus(const char *sysfs, struct device_list *list);

/* ---- The counters of an RDMA port, read from sysfs, and what they tell. ---- */

/* Adds the counters of the port that is named "mlx5_0:1", and of its NIC. `sysfs`: "/sys". */
void port_counters(const char *sysfs, const char *name, struct counter_list *list);

/* ---- Xid errors, which NVIDIA's driver writes to the kernel's log. ---- */

/* The number of the newest Xid of the GPU at this PCI address ("0000:3b:00.0"), not older than
 * `since` (us since the start of the machine). 0: there is none, or the log cannot be read, which
 * may take root. `log`: "/dev/kmsg" but in tests. Source: NVIDIA, "XID Errors". */
int xid_newest(const char *log, const char *bus, uint64_t since);

#endif
