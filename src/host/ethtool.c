/*
 * ethtool.c - what the driver of a network device tells of it, by the ioctls of ethtool.
 */
#include "host/host.h"

#include <ctype.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

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
    struct ethtool_gstrings *names = calloc(1, sizeof *names + 2 * (size_t)count * ETH_GSTRING_LEN);
    struct ethtool_stats *values =
        calloc(1, sizeof *values + 2 * (size_t)count * sizeof values->data[0]);
    if (names && values) {
        *names = (struct ethtool_gstrings){
            .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
        *values = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = count};
    }
    bool known = names && values && ethtool_ask(fd, netdev, names) &&
                 ethtool_ask(fd, netdev, values) && names->len == count && values->n_stats == count;
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
