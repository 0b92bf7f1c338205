/*
 * table_notes.c - parts of the table: columns, sampling, profile, GPUs and NICs.
 */
#include "cli/run/internal.h"

#include "base/list.h"
#include "base/parse.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/*
 * The columns of the table that name what a line runs.
 */
const char *const column_titles[COLUMNS] = {"collective", "type", "op", "algorithm"};

void column_texts(const struct candidate *candidate, const char *texts[COLUMNS])
{
    bool sized = candidate->collective->sized;
    texts[COLUMN_COLLECTIVE] = candidate->collective->name;
    texts[COLUMN_DATATYPE] = sized ? candidate->datatype->name : "-";
    texts[COLUMN_OPERATOR] = sized && candidate->reduction ? candidate->reduction->name : "-";
    texts[COLUMN_ALGORITHM] = candidate->text;
}

void columns_find(const struct job *job, struct columns *columns)
{
    const char *first[COLUMNS] = {NULL}, *texts[COLUMNS];
    bool varies[COLUMNS] = {[COLUMN_ALGORITHM] = job_contest_end(job, 0) > 1};
    int most[COLUMNS];
    for (int column = 0; column < COLUMNS; column++)
        most[column] = (int)strlen(column_titles[column]);
    for (int i = 0; i < job->candidate_count; i++) {
        column_texts(&job->candidates[i], texts);
        for (int column = 0; column < COLUMNS; column++) {
            int length = (int)strlen(texts[column]);
            most[column] = length > most[column] ? length : most[column];
            if (strcmp(texts[column], "-") == 0)
                continue;
            varies[column] |= first[column] && strcmp(texts[column], first[column]) != 0;
            first[column] = texts[column];
        }
    }
    for (int column = 0; column < COLUMNS; column++)
        columns->widths[column] = varies[column] ? most[column] : 0;
}

void columns_print(FILE *out, const struct columns *columns, const char *const texts[COLUMNS])
{
    for (int column = 0; column < COLUMNS; column++)
        if (columns->widths[column])
            fprintf(out, "  %-*s", columns->widths[column], texts ? texts[column] : "");
}

void samples_remark(FILE *out, const struct result *result)
{
    const struct modes *modes = &result->timing.modes;
    if (modes->median[0] > 0)
        fprintf(out,
                "#   two modes: %.0f%% of the iterations around %.2f us, %.0f%% around %.2f us\n",
                modes->share[0] * 100, modes->median[0], modes->share[1] * 100, modes->median[1]);
    if (result->timing.trend.change != 0)
        fprintf(out,
                "#   trend: the median of the last third is %.0f%% %s than that of the first\n",
                (result->timing.trend.change < 0 ? -result->timing.trend.change
                                                 : result->timing.trend.change) *
                    100,
                result->timing.trend.change < 0 ? "shorter" : "longer");
}

/*
 * Prints the ranks' time by activity, below a line of the table.
 *
 *     #   profile of ring, 64K:  rank    copy  reduce    peer  credit   other          us
 *     #                             0   31.2%   22.9%   41.0%    0.0%    4.9%       28.11
 *
 * One row a rank. Of many ranks: the spread, and the ranks at its ends.
 */
#define RANKS_SHOWN 16 /* more than these are summed up */
#define COLUMNS     (ACTIVITIES + 1)

static const struct {
    const char *title;
    enum activity activity;
} activities[ACTIVITIES] = {
    {"copy", PROFILE_COPY},     {"reduce", PROFILE_REDUCE},     {"peer", PROFILE_PEER},
    {"credit", PROFILE_CREDIT}, {"other", PROFILE_BOOKKEEPING},
};

/* A number of a column: a share, or in the last one the microseconds. */
static double column_value(const struct rank_profile *profile, int column)
{
    return column < ACTIVITIES ? profile->share[activities[column].activity] : profile->time_us;
}

static void print_value(FILE *out, int column, double value)
{
    if (column < ACTIVITIES)
        fprintf(out, "  %5.1f%%", value * 100);
    else
        fprintf(out, " %11.2f", value);
}

static void print_titles(FILE *out)
{
    for (int column = 0; column < ACTIVITIES; column++)
        fprintf(out, "  %6s", activities[column].title);
    fprintf(out, " %11s\n", "us");
}

/* A rank and its number in one column. */
struct rank_value {
    int rank;
    double value;
};

static int compare_values(const void *a, const void *b)
{
    const struct rank_value *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->rank - y->rank;
}

static void print_spread(FILE *out, int indent, const struct result *result)
{
    static const char *const rows[] = {"least", "median", "most", "least at", "most at"};
    struct rank_value *sorted = new_array((size_t)result->ranks, sizeof *sorted);
    struct rank_value picked[COLUMNS][3];
    for (int column = 0; column < COLUMNS; column++) {
        for (int r = 0; r < result->ranks; r++)
            sorted[r] = (struct rank_value){r, column_value(&result->profile[r], column)};
        qsort(sorted, (size_t)result->ranks, sizeof *sorted, compare_values);
        picked[column][0] = sorted[0];
        picked[column][1] = sorted[(result->ranks - 1) / 2];
        picked[column][2] = sorted[result->ranks - 1];
    }
    free(sorted);
    for (int row = 0; row < 5; row++) {
        fprintf(out, "# %*s", indent, rows[row]);
        for (int column = 0; column < COLUMNS; column++) {
            if (row < 3)
                print_value(out, column, picked[column][row].value);
            else
                fprintf(out, column < ACTIVITIES ? "  %6d" : " %11d",
                        picked[column][row == 3 ? 0 : 2].rank);
        }
        fputc('\n', out);
    }
}

void profile_print(FILE *out, const struct job *job, const struct result *result)
{
    if (!result->profile)
        return;
    const struct candidate *candidate = &job->candidates[result->choice];
    char size[SIZE_TEXT_MOST] = "", title[CANDIDATE_TITLE_MOST];
    bool sized = candidate->collective->sized, many = result->ranks > RANKS_SHOWN;
    candidate_title(job, candidate, title);
    int indent =
        fprintf(out, "#   profile of %s%s%s:", job_is_one_contest(job) ? candidate->text : title,
                sized ? ", " : "", sized ? size_format(result->bytes, size) : "");
    indent += fprintf(out, "  %s", many ? "ranks" : "rank") - 2;
    print_titles(out);
    if (many) {
        print_spread(out, indent, result);
        return;
    }
    for (int r = 0; r < result->ranks; r++) {
        fprintf(out, "# %*d", indent, r);
        for (int column = 0; column < COLUMNS; column++)
            print_value(out, column, column_value(&result->profile[r], column));
        fputc('\n', out);
    }
}

/*
 * Prints which ranks use which GPU: host by host, by PCI address.
 *
 * Ranks that share one are named: they also share its time.
 */
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

/* The ranks from `begin` on in `order`, which are not shown GPU by GPU. */
static void rest_print(FILE *out, const struct participants *participants, const int *order,
                       int begin)
{
    bool *shares = new_array((size_t)participants->ranks, sizeof *shares);
    int gpus = 0, shared = 0;
    char list[RANK_LIST_MOST];
    for (int at = begin, end; at < participants->ranks; at = end, gpus++) {
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
    if (!participants->devices)
        return;
    int *order = new_array((size_t)ranks, sizeof *order);
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

/*
 * The NICs and GPUs that the ranks use, in the table.
 */
#define SENTENCES_MOST 16 /* in the head; more are counted */
#define SICK_MOST      32 /* devices in the footer; likewise */
#define NICS_MOST      64 /* whose ranks are told */
#define LINE_MOST      1024

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

/* The ranks that use the NIC of a row. */
static void use_print(FILE *out, const struct connectivity *connectivity, int row)
{
    const struct device_table *table = &connectivity->devices;
    const struct device_row *nic = &table->rows[row];
    bool *uses = new_array((size_t)connectivity->ranks, sizeof *uses);
    char words[LINE_MOST];
    for (int i = 0; i < table->use_count; i++)
        if (table->uses[i].row == row)
            uses[table->uses[i].rank] = true;
    fprintf(out, "# NIC %s of host %s: %s\n", nic->device->name, table->members[nic->rank].host,
            rank_list_text(uses, connectivity->ranks, words, sizeof words));
    free(uses);
}

void uses_print(FILE *out, const struct connectivity *connectivity)
{
    const struct device_table *table = &connectivity->devices;
    int nics = 0;
    for (int row = 0; row < table->row_count; row++)
        if (strcmp(table->rows[row].device->kind, "port") == 0 && ++nics <= NICS_MOST)
            use_print(out, connectivity, row);
    if (nics > NICS_MOST)
        fprintf(out, "# %d more NICs: see --json\n", nics - NICS_MOST);
}

/* Below a line: the counters of a class, one device a line. Prints nothing where there are none. */
static void readings_print(FILE *out, const struct device_readings *readings,
                           enum counter_class class)
{
    char words[LINE_MOST];
    for (int i = 0; i < readings->count; i++) {
        const struct device_reading *reading = &readings->items[i];
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
        const struct device_reading *reading = &sick->items[i];
        device_identity(reading->device, identity, sizeof identity);
        fprintf(out, "# %s %s of host %s%s%s%s counted %s\n", reading->device->kind,
                reading->device->name, reading->host, identity[0] ? " (" : "", identity,
                identity[0] ? ")" : "",
                counters_text(&reading->counters, COUNTER_SICK, words, sizeof words));
    }
    if (sick->count > SICK_MOST)
        fprintf(out, "# %d more devices counted errors: see --json\n", sick->count - SICK_MOST);
}
