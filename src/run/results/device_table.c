/*
 * device_table.c - rank 0's table of the devices that the ranks use.
 *
 * Several ranks of a host may use one device: it has one row.
 */
#include "run/results/results.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

int device_table_find(const struct device_table *table, int rank, const char *device)
{
    for (int i = 0; i < table->row_count; i++)
        if (table->rows[i].node == table->members[rank].node &&
            strcmp(table->devices.devices[i].name, device) == 0)
            return i;
    return -1;
}

/* Room for `more` rows and uses; false: out of memory. */
static bool table_reserve(struct device_table *table, int more)
{
    struct device_row *rows =
        realloc(table->rows, (size_t)(table->row_count + more + 1) * sizeof *rows);
    if (rows)
        table->rows = rows;
    struct device_use *uses =
        realloc(table->uses, (size_t)(table->use_count + more + 1) * sizeof *uses);
    if (uses)
        table->uses = uses;
    table->devices.failed |= !rows || !uses;
    return rows && uses;
}

bool device_table_decode(struct device_table *table, int rank, struct reader *reader)
{
    int first = table->devices.count;
    bool good = device_list_decode(&table->devices, reader);
    int behind = table->devices.count;
    good = table_reserve(table, behind - first) && good && !table->devices.failed;
    table->devices.count = first;
    for (int i = first; i < behind; i++) {
        struct device device = table->devices.devices[i];
        int row = good ? device_table_find(table, rank, device.name) : -1;
        if (good && row < 0) {
            row = table->row_count++;
            table->rows[row] = (struct device_row){.rank = rank, .node = table->members[rank].node};
            table->devices.devices[table->devices.count++] = device;
        } else {
            free(device.facts);
        }
        if (good)
            table->uses[table->use_count++] = (struct device_use){.rank = rank, .row = row};
    }
    if (table->devices.failed)
        fail(STATUS_ERROR, "out of memory for the devices of %d ranks", rank + 1);
    return good;
}

void device_table_complete(struct device_table *table)
{
    for (int i = 0; i < table->row_count; i++)
        table->rows[i].device = &table->devices.devices[i];
}

void device_table_free(struct device_table *table)
{
    device_list_free(&table->devices);
    free(table->rows);
    free(table->uses);
    *table = (struct device_table){0};
}
