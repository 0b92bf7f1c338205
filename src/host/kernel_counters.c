/*
 * kernel_counters.c - counters and records of the kernel: memory errors, drivers of network
 * devices, Xids of GPUs.
 */
#include "host/host.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"

/*
 * Errors of the host's memory, and how often its CPUs were too hot.
 */
#define EDAC "%s/devices/system/edac/mc"
#define CPU  "%s/devices/system/cpu"

bool memory_errors_read(const char *sysfs, struct memory_errors *errors)
{
    char **names;
    uint64_t number;
    bool counts = false;
    int count = sysfs_names(&names, EDAC, sysfs);
    *errors = (struct memory_errors){0};
    for (int i = 0; i < count; i++) {
        if (sysfs_number(&number, EDAC "/%s/ce_count", sysfs, names[i])) {
            errors->corrected += number;
            counts = true;
        }
        if (sysfs_number(&number, EDAC "/%s/ue_count", sysfs, names[i]))
            errors->uncorrected += number;
    }
    sysfs_names_free(names, count);
    return counts;
}

bool cpu_throttles_read(const char *sysfs, uint64_t *throttles)
{
    char **names;
    bool counts = false;
    int count = sysfs_names(&names, CPU, sysfs);
    *throttles = 0;
    for (int i = 0; i < count; i++) {
        uint64_t number;
        if (!sysfs_number(&number, CPU "/%s/thermal_throttle/core_throttle_count", sysfs, names[i]))
            continue;
        *throttles += number;
        counts = true;
    }
    sysfs_names_free(names, count);
    return counts;
}

/*
 * Counters that the driver of a network device tells, by the ioctls of ethtool.
 */
#define STATISTICS_MOST 65536 /* mlx5 has some for each of its queues */

static bool ethtool_ask(int fd, const char *netdev, void *question)
{
    struct ifreq request = {.ifr_data = question};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", netdev);
    return ioctl(fd, SIOCETHTOOL, &request) == 0;
}

static uint32_t statistics_count(int fd, const char *netdev)
{
    struct {
        struct ethtool_sset_info info;
        uint32_t count;
    } question = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = (uint64_t)1 << ETH_SS_STATS}};
    bool known = ethtool_ask(fd, netdev, &question) && question.info.sset_mask != 0;
    return known && question.count <= STATISTICS_MOST ? question.count : 0;
}

static bool holds_one(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

void statistic_add(const char *text, uint64_t value, const char *const *words,
                   struct counter_list *list)
{
    char name[ETH_GSTRING_LEN + 1] = "";
    memcpy(name, text, ETH_GSTRING_LEN);
    if (holds_one(name, words))
        counter_add(list, name, COUNTER_CONGESTED, value);
}

/* The kernel writes as many as the driver has now: should they be more, neither call says so. The
 * room is for twice as many. */
static void statistics_add(int fd, const char *netdev, uint32_t count, const char *const *words,
                           struct counter_list *list)
{
    struct ethtool_gstrings *names =
        new_array(1, sizeof *names + 2 * (size_t)count * ETH_GSTRING_LEN);
    struct ethtool_stats *values =
        new_array(1, sizeof *values + 2 * (size_t)count * sizeof values->data[0]);
    *names = (struct ethtool_gstrings){
        .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
    *values = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = count};
    bool known = ethtool_ask(fd, netdev, names) && ethtool_ask(fd, netdev, values) &&
                 names->len == count && values->n_stats == count;
    for (uint32_t i = 0; known && i < count; i++)
        statistic_add((const char *)names->data + (size_t)i * ETH_GSTRING_LEN, values->data[i],
                      words, list);
    free(names);
    free(values);
}

void netdev_counters(const char *netdev, const char *const *words, struct counter_list *list)
{
    int fd = netdev[0] ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return;
    uint32_t count = statistics_count(fd, netdev);
    if (count > 0)
        statistics_add(fd, netdev, count, words, list);
    close(fd);
}

bool netdev_firmware(const char *netdev, char *text, size_t size)
{
    struct ethtool_drvinfo question = {.cmd = ETHTOOL_GDRVINFO};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && ethtool_ask(fd, netdev, &question);
    if (fd >= 0)
        close(fd);
    question.fw_version[sizeof question.fw_version - 1] = '\0';
    for (char *at = question.fw_version; *at; at++)
        *at = iscntrl((unsigned char)*at) ? '?' : *at;
    snprintf(text, size, "%s", known ? question.fw_version : "");
    return text[0] && strcmp(text, "N/A") != 0;
}

const char *const pause_words[] = {"pause", "discards_phy", "buf_discard", "ecn_mark", NULL};

void pause_counters(const char *netdev, struct counter_list *list)
{
    netdev_counters(netdev, pause_words, list);
}

/*
 * The newest Xid of a GPU, from records of the kernel's log:
 * "6,1032,98765432,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus."
 */
#define RECORD_MOST 8192 /* as the kernel has it */

/* The Xid in a record; 0: it has none of this GPU, or is older. */
static int record_xid(const char *record, const char *bus, uint64_t since)
{
    static const char mark[] = "NVRM: Xid (PCI:";
    const char *at = strstr(record, mark);
    uint64_t time;
    if (!at || sscanf(record, "%*u,%*u,%" SCNu64, &time) != 1 || time < since)
        return 0;
    at += strlen(mark);
    const size_t slot = strcspn(bus, "."); /* the log names no function */
    if (strncasecmp(at, bus, slot) != 0 || strncmp(at + slot, "): ", 3) != 0)
        return 0;
    return atoi(at + slot + 3);
}

int xid_newest(const char *log, const char *bus, uint64_t since)
{
    char record[RECORD_MOST + 1];
    int xid = 0, fd = open(log, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return 0;
    for (;;) {
        ssize_t bytes = read(fd, record, RECORD_MOST); /* one record */
        if (bytes < 0 && errno == EPIPE) /* the oldest ones were overwritten meanwhile */
            continue;
        if (bytes <= 0)
            break;
        record[bytes] = '\0';
        int found = record_xid(record, bus, since);
        xid = found ? found : xid;
    }
    close(fd);
    return xid;
}
