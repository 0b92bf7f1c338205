/*
 * table_gpus.c - prints which ranks use which GPU: host by host, by PCI address.
 *
 * Ranks that share one are named: they also share its time.
 */
#include "cli/run/internal.h"

#include <stdlib.h>

#include "base/rank_list.h"

#define GPUS_SHOWN 8 /* of many */

/* By host, then by GPU, then by rank. */
static int places_compare(const void *a, const void *b, void *argument)
{
    const struct participants *participants = argument;
    int x = *(const int *)a, y = *(const int *)b;
    int order = participants->members[x].node - participants->members[y].node;
    if (order == 0)
        order = memory_device_compare(&participants->devices[x], &participants->devices[y]);
    return order ? order : x - y;
}

/* The end of the ranks in `order` that use the GPU of the one at `begin`. */
static int group_end(const struct participants *participants, const int *order, int begin)
{
    const struct memory_device *devices = participants->devices;
    int end = begin, first = order[begin];
    while (end < participants->ranks &&
           participants->members[order[end]].node == participants->members[first].node &&
           memory_device_compare(&devices[order[end]], &devices[first]) == 0)
        end++;
    return end;
}

static void group_print(FILE *out, const struct participants *participants, const int *order,
                        int count)
{
    const struct memory_device *device = &participants->devices[order[0]];
    char list[RANK_LIST_MOST], gpu[MEMORY_DEVICE_TEXT];
    struct text text = text_in(list, sizeof list);
    struct rank_list ranks = {0};
    for (int i = 0; i < count; i++)
        rank_list_put(&ranks, order[i]);
    rank_list_end(&ranks, &text);
    fprintf(out, "# %s %s %s of host %s: %s\n", list, count > 1 ? "share" : "uses",
            memory_device_text(device, gpu), participants->members[order[0]].host, device->name);
}

/* What is not shown GPU by GPU: the ranks from `begin` on in `order`. */
static void rest_print(FILE *out, const struct participants *participants, const int *order,
                       int begin)
{
    bool *shares = calloc((size_t)participants->ranks, sizeof *shares);
    int gpus = 0, shared = 0;
    char list[RANK_LIST_MOST];
    for (int at = begin, end; shares && at < participants->ranks; at = end, gpus++) {
        end = group_end(participants, order, at);
        for (int i = at; i < end; i++)
            shares[order[i]] = end - at > 1;
        shared += end - at > 1;
    }
    fprintf(out, "# %d ranks use %d more GPUs (-v lists them)", participants->ranks - begin, gpus);
    if (shared > 0)
        fprintf(out, "; %s share %d of these",
                rank_list_text(shares, participants->ranks, list, sizeof list), shared);
    fputc('\n', out);
    free(shares);
}

void gpus_print(FILE *out, const struct participants *participants, bool all)
{
    int ranks = participants->ranks, shown = 0;
    int *order = participants->devices ? calloc((size_t)ranks, sizeof *order) : NULL;
    if (!order)
        return;
    for (int r = 0; r < ranks; r++)
        order[r] = r;
    qsort_r(order, (size_t)ranks, sizeof *order, places_compare, (void *)(uintptr_t)participants);
    for (int at = 0, end; at < ranks; at = end, shown++) {
        end = group_end(participants, order, at);
        if (shown == GPUS_SHOWN && !all && end < ranks) {
            rest_print(out, participants, order, at);
            break;
        }
        group_print(out, participants, order + at, end - at);
    }
    free(order);
}
