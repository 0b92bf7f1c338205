/*
 * device_report.c - what the devices of all ranks have counted, as a report shows it.
 */
#include "run/results/results.h"

#include <stdlib.h>

bool device_sums_open(struct device_sums *sums, const struct device_table *table)
{
    *sums = (struct device_sums){.table = table,
                                 .of = calloc((size_t)table->row_count + 1, sizeof *sums->of)};
    return sums->of != NULL;
}

void device_sums_close(struct device_sums *sums)
{
    for (int i = 0; sums->of && i < sums->table->row_count; i++)
        counter_list_free(&sums->of[i]);
    free(sums->of);
    *sums = (struct device_sums){0};
}

/* The reading of a row; a new one is empty. NULL: out of memory. */
static struct device_reading *reading_of(struct device_readings *readings,
                                         const struct device_table *table, int row)
{
    const struct device *device = table->rows[row].device;
    for (int i = 0; i < readings->count; i++)
        if (readings->of[i].device == device)
            return &readings->of[i];
    struct device_reading *more =
        realloc(readings->of, ((size_t)readings->count + 1) * sizeof *more);
    if (!more)
        return NULL;
    readings->of = more;
    more[readings->count] = (struct device_reading){
        .host = table->members[table->rows[row].rank].host, .device = device};
    return &more[readings->count++];
}

static bool readings_put(struct device_readings *readings, const struct device_table *table,
                         int row, const struct counter_list *counters)
{
    struct device_reading *reading = reading_of(readings, table, row);
    if (reading)
        counters_sum(&reading->counters, counters);
    return reading && !reading->counters.failed;
}

bool device_sums_add(struct device_sums *sums, int rank, const struct device_changes *changes,
                     struct device_readings *readings)
{
    bool memory = true;
    for (int i = 0; sums->of && memory && i < changes->count; i++) {
        const struct device_change *change = &changes->of[i];
        int row = device_table_find(sums->table, rank, change->name);
        if (row < 0)
            continue;
        counters_sum(&sums->of[row], &change->counters);
        memory =
            !sums->of[row].failed && (change->counters.count == 0 ||
                                      readings_put(readings, sums->table, row, &change->counters));
    }
    return memory;
}

bool device_sums_of_class(const struct device_sums *sums, enum counter_class class,
                          struct device_readings *readings)
{
    bool memory = true;
    for (int i = 0; sums->of && memory && i < sums->table->row_count; i++)
        if (counters_of_class(&sums->of[i], class) > 0)
            memory = readings_put(readings, sums->table, i, &sums->of[i]);
    return memory;
}

void device_readings_free(struct device_readings *readings)
{
    for (int i = 0; i < readings->count; i++)
        counter_list_free(&readings->of[i].counters);
    free(readings->of);
    *readings = (struct device_readings){0};
}
