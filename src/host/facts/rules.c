/*
 * rules.c - which facts of a host there are, and what a difference in each means.
 *
 * bad: the host cannot do what its like do, or soon will not. suspect: it may be slower, or behave
 * otherwise. note: an operator may want to know it.
 */
#include "host/facts/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const part_kind_names[PART_KINDS] = {"", "numa", "nic", "interface", "gpu", "drive"};
const char *const severity_names[SEVERITIES] = {"note", "suspect", "bad"};

/* Reserved memory differs by some MiB from host to host; a lost module is more than this share. */
#define MEMORY_TOLERANCE 0.01
/* The least free share of /dev/shm, where segments of jobs and of MPI libraries stand. */
#define SHM_SHARE 0.1

/* A row in short: what is compared, with which severity; the words around the value; and further
 * members, by name. */
#define ROW(part, name, in, compared, weight, ...)                                                 \
    {                                                                                              \
        .kind = PART_##part, .key = name, .unit = VALUE_##in, .comparison = COMPARE_##compared,    \
        .severity = SEVERITY_##weight, __VA_ARGS__                                                 \
    }
#define MODULE(name) ROW(HOST, "module." name, TEXT, SAME, SUSPECT, "has the module " name, "")

/* The speed of a GPU's link is not compared with its best: an idle GPU slows its link down. A
 * device that could do more than its slot is a note: many machines are built so. */
#define PCIE(kind)                                                                                 \
    ROW(kind, "pcie.width", LANES, LEAST, BAD, "has a PCIe link of", "", .best_share = 1,          \
        .best_severity = SEVERITY_BAD),                                                            \
        ROW(kind, "pcie.slot_speed", TRANSFERS, NOTHING, NOTE, "stands in a slot of PCIe", "",     \
            .best_share = 1, .best_severity = SEVERITY_NOTE),                                      \
        ROW(kind, "pcie.slot_width", LANES, NOTHING, NOTE, "stands in a slot of PCIe", "",         \
            .best_share = 1, .best_severity = SEVERITY_NOTE),                                      \
        ROW(kind, "aer.fatal", COUNT, ZERO, SUSPECT, "has counted",                                \
            "fatal PCIe error* since its host started"),                                           \
        ROW(kind, "aer.nonfatal", COUNT, ZERO, NOTE, "has counted",                                \
            "nonfatal PCIe error* since its host started"),                                        \
        ROW(kind, "aer.correctable", COUNT, ZERO, NOTE, "has counted",                             \
            "correctable PCIe error* since its host started")
#define PCIE_SPEED(kind)                                                                           \
    ROW(kind, "pcie.speed", TRANSFERS, LEAST, BAD, "has a PCIe link at", "", .best_share = 1,      \
        .best_severity = SEVERITY_BAD)

const struct fact_rule fact_rules[] = {
    ROW(HOST, "silent", TEXT, SILENCE, BAD, "cannot be asked:", ""),
    ROW(HOST, "cpu.model", TEXT, SAME, SUSPECT, "has the CPU", ""),
    ROW(HOST, "cpu.sockets", COUNT, LEAST, BAD, "has", "CPU socket*"),
    ROW(HOST, "cpu.cores", COUNT, LEAST, BAD, "has", "core*"),
    ROW(HOST, "cpu.threads", COUNT, LEAST, BAD, "has", "hardware thread*"),
    ROW(HOST, "cpu.smt", TEXT, SAME, SUSPECT, "has SMT", ""),
    ROW(HOST, "cpu.governor", TEXT, SAME, SUSPECT, "has the CPU governor", ""),
    ROW(HOST, "cpu.clock_limit", MHZ, LEAST, SUSPECT, "limits its CPU clock to", "",
        .best_share = 1, .best_severity = SEVERITY_SUSPECT),
    ROW(HOST, "cpu.throttled", COUNT, ZERO, NOTE, "has throttled its CPUs",
        "time* for heat since it started"),
    ROW(HOST, "memory.bytes", BYTES, LEAST, BAD, "has", "of memory", .tolerance = MEMORY_TOLERANCE),
    ROW(HOST, "memory.available", BYTES, LEAST, SUSPECT, "has", "of free memory", .tolerance = 0.5),
    ROW(HOST, "memory.huge_pages", COUNT, SAME, SUSPECT, "has", "huge page*"),
    ROW(HOST, "memory.transparent_huge_pages", TEXT, SAME, NOTE, "has transparent huge pages", ""),
    ROW(HOST, "edac.uncorrected", COUNT, ZERO, BAD, "has counted",
        "uncorrected memory error* since it started"),
    ROW(HOST, "edac.corrected", COUNT, ZERO, NOTE, "has counted",
        "corrected memory error* since it started"),
    ROW(HOST, "shm.bytes", BYTES, LEAST, SUSPECT, "has", "of /dev/shm",
        .tolerance = MEMORY_TOLERANCE),
    ROW(HOST, "shm.free", BYTES, NOTHING, NOTE, "has", "free in /dev/shm", .best_share = SHM_SHARE,
        .best_severity = SEVERITY_BAD),
    ROW(HOST, "kernel", TEXT, SAME, NOTE, "runs the kernel", ""),
    ROW(HOST, "os", TEXT, SAME, NOTE, "runs", ""),
    ROW(HOST, "limit.memlock", BYTES, LEAST, SUSPECT, "has a limit of locked memory of", ""),
    ROW(HOST, "limit.files", COUNT, LEAST, NOTE, "has a limit of", "open file*"),
    ROW(HOST, "numa.count", COUNT, LEAST, BAD, "has", "NUMA node*"),
    ROW(HOST, "nic.count", COUNT, LEAST, BAD, "has", "RDMA port*"),
    ROW(HOST, "interface.count", COUNT, LEAST, BAD, "has", "network interface*"),
    ROW(HOST, "gpu.count", COUNT, LEAST, BAD, "has", "GPU*"),
    ROW(HOST, "drive.count", COUNT, LEAST, SUSPECT, "has", "NVMe drive*"),
    MODULE("mlx5_core"),
    MODULE("mlx5_ib"),
    MODULE("nvidia"),
    MODULE("gdrdrv"),
    MODULE("nvidia_peermem"),
    MODULE("irdma"),
    MODULE("bnxt_re"),
    MODULE("efa"),
    MODULE("hns_roce_hw_v2"),
    MODULE("ib_core"),

    ROW(NUMA, "memory", BYTES, LEAST, BAD, "has", "of memory", .tolerance = MEMORY_TOLERANCE),

    ROW(NIC, "state", TEXT, SAME, BAD, "is", "", .right = "ACTIVE"),
    ROW(NIC, "rate", GBITS, LEAST, BAD, "runs at", ""),
    ROW(NIC, "width", TEXT, SAME, BAD, "has a link width of", ""),
    ROW(NIC, "link_layer", TEXT, SAME, BAD, "has the link layer", ""),
    ROW(NIC, "mtu", COUNT, SAME, BAD, "has an MTU of", ""),
    ROW(NIC, "gids", TEXT, SAME, SUSPECT, "has GIDs of", ""),
    ROW(NIC, "model", TEXT, SAME, SUSPECT, "is a", ""),
    ROW(NIC, "firmware", TEXT, SAME, SUSPECT, "has firmware", ""),
    ROW(NIC, "numa_node", COUNT, SAME, NOTE, "stands at NUMA node", ""),
    PCIE_SPEED(NIC),
    PCIE(NIC),

    ROW(INTERFACE, "state", TEXT, SAME, BAD, "is", "", .right = "up"),
    ROW(INTERFACE, "speed", GBITS, LEAST, BAD, "runs at", ""),
    ROW(INTERFACE, "duplex", TEXT, SAME, BAD, "has duplex", "", .right = "full"),
    ROW(INTERFACE, "mtu", COUNT, SAME, BAD, "has an MTU of", ""),
    ROW(INTERFACE, "driver", TEXT, SAME, SUSPECT, "has the driver", ""),
    ROW(INTERFACE, "firmware", TEXT, SAME, SUSPECT, "has firmware", ""),
    PCIE_SPEED(INTERFACE),
    PCIE(INTERFACE),

    ROW(GPU, "nvml", TEXT, SAME, BAD, "has NVML", ""),
    ROW(GPU, "product", TEXT, SAME, SUSPECT, "is a", ""),
    ROW(GPU, "memory", BYTES, LEAST, BAD, "has", "of memory", .tolerance = MEMORY_TOLERANCE),
    ROW(GPU, "ecc", TEXT, SAME, BAD, "has ECC", "", .right = "on"),
    ROW(GPU, "row_remapping", TEXT, SAME, BAD, "has row remapping", "", .right = "none pending"),
    ROW(GPU, "nvlinks_up", TEXT, SAME, BAD, "has NVLinks up:", ""),
    ROW(GPU, "power_limit", WATTS, LEAST, SUSPECT, "has a power limit of", ""),
    ROW(GPU, "sm_clock_at_most", MHZ, LEAST, SUSPECT, "limits its SM clock to", ""),
    ROW(GPU, "memory_clock_at_most", MHZ, LEAST, SUSPECT, "limits its memory clock to", ""),
    ROW(GPU, "mig", TEXT, SAME, SUSPECT, "has MIG", ""),
    ROW(GPU, "driver", TEXT, SAME, SUSPECT, "has the driver", ""),
    ROW(GPU, "vbios", TEXT, SAME, SUSPECT, "has the VBIOS", ""),
    ROW(GPU, "ecc_uncorrected", COUNT, ZERO, BAD, "has counted",
        "uncorrected memory error* since its driver was loaded"),
    ROW(GPU, "row_remap_failed", COUNT, ZERO, BAD, "has", "failed remapping* of rows"),
    ROW(GPU, "nvlinks_down", COUNT, ZERO, SUSPECT, "has", "NVLink* down"),
    ROW(GPU, "pcie.speed", TRANSFERS, NOTHING, NOTE, "has a PCIe link at", ""),
    PCIE(GPU),

    ROW(DRIVE, "model", TEXT, SAME, NOTE, "is a", ""),
    ROW(DRIVE, "firmware", TEXT, SAME, NOTE, "has firmware", ""),
    PCIE_SPEED(DRIVE),
    PCIE(DRIVE),
    {.key = NULL},
};

const struct fact_rule *fact_rule_find(enum part_kind kind, const char *key)
{
    for (const struct fact_rule *rule = fact_rules; rule->key; rule++)
        if (rule->kind == kind && strcmp(rule->key, key) == 0)
            return rule;
    return NULL;
}

const char *fact_rule_name(const struct fact_rule *rule, char text[RULE_KEY_MOST])
{
    snprintf(text, RULE_KEY_MOST, "%s%s%s", part_kind_names[rule->kind],
             rule->kind == PART_HOST ? "" : ".", rule->key);
    return text;
}

const struct fact_rule *fact_rule_named(const char *name)
{
    size_t length = strcspn(name, ".");
    for (int kind = PART_HOST + 1; kind < PART_KINDS; kind++) {
        const struct fact_rule *rule = NULL;
        if (strlen(part_kind_names[kind]) == length && name[length] &&
            strncmp(part_kind_names[kind], name, length) == 0)
            rule = fact_rule_find((enum part_kind)kind, name + length + 1);
        if (rule)
            return rule;
    }
    return fact_rule_find(PART_HOST, name); /* "nic.count", too */
}

static void bytes_text(double bytes, char text[VALUE_TEXT_MOST])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    snprintf(text, VALUE_TEXT_MOST, "%.*f %s", unit > 0 && bytes < 100 ? 1 : 0, bytes, units[unit]);
}

const char *const value_unit_names[VALUE_UNITS] = {[VALUE_TEXT] = "",
                                                   [VALUE_COUNT] = "",
                                                   [VALUE_BYTES] = "bytes (64G)",
                                                   [VALUE_GBITS] = "Gb/s",
                                                   [VALUE_MHZ] = "MHz",
                                                   [VALUE_WATTS] = "W",
                                                   [VALUE_TRANSFERS] = "GT/s",
                                                   [VALUE_LANES] = "lanes (x16)",
                                                   [VALUE_MICROSECONDS] = "us",
                                                   [VALUE_GBYTES] = "GB/s",
                                                   [VALUE_STEPS] = "million steps/s",
                                                   [VALUE_PERCENT] = "%"};

const char *value_text(enum value_unit unit, double number, char text[VALUE_TEXT_MOST])
{
    const char *name = value_unit_names[unit];
    if (isinf(number))
        snprintf(text, VALUE_TEXT_MOST, "unlimited");
    else if (unit == VALUE_BYTES)
        bytes_text(number, text);
    else if (unit == VALUE_LANES)
        snprintf(text, VALUE_TEXT_MOST, "x%.0f", number);
    else
        snprintf(text, VALUE_TEXT_MOST, "%.10g%s%s", number, name[0] ? " " : "", name);
    return text;
}
