/*
 * table_devices.c - what the table says of the NICs and GPUs that the ranks use.
 */
#include "cli/run/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/rank_list.h"

#define SENTENCES_MOST 16 /* in the head; more are counted */
#define SICK_MOST      32 /* devices in the footer; likewise */
#define NICS_MOST      64 /* whose ranks are told */
#define LINE_MOST     1024

void differences_print(FILE *out, const struct connectivity *connectivity)
{
    int count = 0;
    const struct difference *difference = connectivity->differences;
    for (; difference && difference->text; difference++)
        if (++count <= SENTENCES_MOST)
            fprintf(out, "# %s\n", difference->text);
    if (count > SENTENCES_MOST)
        fprintf(out, "# %d more differences between devices: see --json\n", count - SENTENCES_MOST);
}

/* The ranks that use the NIC of a row. False: out of memory. */
static bool use_print(FILE *out, const struct connectivity *connectivity, int row)
{
    const struct device_table *table = &connectivity->devices;
    const struct device_row *nic = &table->rows[row];
    bool *uses = calloc((size_t)connectivity->ranks, sizeof *uses);
    char words[LINE_MOST];
    for (int i = 0; uses && i < table->use_count; i++)
        if (table->uses[i].row == row)
            uses[table->uses[i].rank] = true;
    if (uses)
        fprintf(out, "# NIC %s of host %s: %s\n", nic->device->name, table->members[nic->rank].host,
                rank_list_text(uses, connectivity->ranks, words, sizeof words));
    free(uses);
    return uses != NULL;
}

void uses_print(FILE *out, const struct connectivity *connectivity)
{
    const struct device_table *table = &connectivity->devices;
    int nics = 0;
    for (int row = 0; row < table->row_count; row++)
        if (strcmp(table->rows[row].device->kind, "port") == 0 && ++nics <= NICS_MOST &&
            !use_print(out, connectivity, row))
            return;
    if (nics > NICS_MOST)
        fprintf(out, "# %d more NICs: see --json\n", nics - NICS_MOST);
}

/* Below a line: the counters of a class, one device a line. Prints nothing where there are none. */
static void readings_print(FILE *out, const struct device_readings *readings,
                           enum counter_class class)
{
    char words[LINE_MOST];
    for (int i = 0; i < readings->count; i++) {
        const struct device_reading *reading = &readings->of[i];
        if (counters_of_class(&reading->counters, class) > 0)
            fprintf(out, "#   %s %s of host %s: %s\n", reading->device->kind, reading->device->name,
                    reading->host, counters_text(&reading->counters, class, words, sizeof words));
    }
}

char *readings_text(const struct device_readings *readings, enum counter_class class)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    readings_print(stream, readings, class);
    if (fclose(stream) == 0 && size > 0)
        return text;
    free(text);
    return NULL;
}

void sick_print(FILE *out, const struct device_readings *sick)
{
    char words[LINE_MOST], identity[LINE_MOST];
    if (sick->count > 0)
        fputs("#\n", out);
    for (int i = 0; i < sick->count && i < SICK_MOST; i++) {
        const struct device_reading *of = &sick->of[i];
        device_identity(of->device, identity, sizeof identity);
        fprintf(out, "# %s %s of host %s%s%s%s counted %s\n", of->device->kind, of->device->name,
                of->host, identity[0] ? " (" : "", identity, identity[0] ? ")" : "",
                counters_text(&of->counters, COUNTER_SICK, words, sizeof words));
    }
    if (sick->count > SICK_MOST)
        fprintf(out, "# %d more devices counted errors: see --json\n", sick->count - SICK_MOST);
}
