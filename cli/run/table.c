/*
 * table.c - prints a run as a table for people: one line a result, as results come in.
 *
 * Where several algorithms run, their lines of one size are held until all of them are there, so
 * that the fastest can be marked; at the end they are ranked. Lines that are not results begin with
 * '#'.
 */
#include "cli/run/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/numbers.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/predict/predict.h"
#include "cli/tune/tune.h"
#include "controlplane/bootstrap/bootstrap.h"

/*
 * The columns of the table that name what a line runs.
 */
static const char *const column_titles[COLUMNS] = {"collective", "type", "op", "algorithm"};

static void columns_find(const struct job *job, struct columns *columns)
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

/* `texts` NULL: blanks. */
static void columns_print(FILE *out, const struct columns *columns,
                          const char *const texts[COLUMNS])
{
    for (int column = 0; column < COLUMNS; column++)
        if (columns->widths[column])
            fprintf(out, "  %-*s", columns->widths[column], texts ? texts[column] : "");
}

/*
 * Prints the ranks' time by activity, below a line of the table.
 *
 *     #   profile of ring, 64K:  rank    copy  reduce    peer  credit   other          us
 *     #                             0   31.2%   22.9%   41.0%    0.0%    4.9%       28.11
 *
 * One row a rank. Of many ranks: the spread, and the ranks at its ends.
 */
#define RANKS_SHOWN     16 /* more than these are summed up */
#define PROFILE_COLUMNS (ACTIVITIES + 1)

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
    return COMPARE(x->value, y->value) ?: x->rank - y->rank;
}

static void print_spread(FILE *out, int indent, const struct result *result)
{
    static const char *const rows[] = {"least", "median", "most", "least at", "most at"};
    struct rank_value *sorted = new_array((size_t)result->ranks, sizeof *sorted);
    struct rank_value picked[PROFILE_COLUMNS][3];
    for (int column = 0; column < PROFILE_COLUMNS; column++) {
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
        for (int column = 0; column < PROFILE_COLUMNS; column++) {
            if (row < 3)
                print_value(out, column, picked[column][row].value);
            else
                fprintf(out, column < ACTIVITIES ? "  %6d" : " %11d",
                        picked[column][row == 3 ? 0 : 2].rank);
        }
        fputc('\n', out);
    }
}

/* Prints nothing if no profile was asked for. */
static void profile_print(FILE *out, const struct job *job, const struct result *result)
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
        for (int column = 0; column < PROFILE_COLUMNS; column++)
            print_value(out, column, column_value(&result->profile[r], column));
        fputc('\n', out);
    }
}

/* Sentences below a line whose samples are not of one kind: two modes, a trend. */
static void samples_remark(FILE *out, const struct result *result)
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
 * The NICs and GPUs that the ranks use, in the table.
 */
#define SENTENCES_MOST 16 /* in the head; more are counted */
#define FAULTS_MOST    32 /* devices in the footer; likewise */
#define NICS_MOST      64 /* whose ranks are told */
#define LINE_MOST      1024

/* In the head: the devices that differ from the others. */
static void differences_print(FILE *out, const struct connectivity *connectivity)
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

/* With -v, in the head: the ranks that use each NIC. */
static void uses_print(FILE *out, const struct connectivity *connectivity)
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

/* The same as a text, to be freed; NULL: it is empty, or memory ran out. */
static char *readings_text(const struct device_readings *readings, enum counter_class class)
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

/* In the footer: the devices that have counted what healthy ones do not. */
static void faults_print(FILE *out, const struct device_readings *faults)
{
    char words[LINE_MOST], identity[LINE_MOST];
    if (faults->count > 0)
        fputs("#\n", out);
    for (int i = 0; i < faults->count && i < FAULTS_MOST; i++) {
        const struct device_reading *reading = &faults->items[i];
        device_identity(reading->device, identity, sizeof identity);
        fprintf(out, "# %s %s of host %s%s%s%s counted %s\n", reading->device->kind,
                reading->device->name, reading->host, identity[0] ? " (" : "", identity,
                identity[0] ? ")" : "",
                counters_text(&reading->counters, COUNTER_FAULTY, words, sizeof words));
    }
    if (faults->count > FAULTS_MOST)
        fprintf(out, "# %d more devices counted errors: see --json\n", faults->count - FAULTS_MOST);
}

/*
 * Prints a run as a table, as results come in.
 */
/* A line that waits for those that it is compared with. */
struct held {
    struct result result;
    char *congested; /* -v; NULL: nothing was */
};

struct table {
    struct report report;
    FILE *out;      /* into its queue */
    bool predicted; /* nothing has run */
    char *loads;    /* of links, as text, for the end */
    size_t loads_length;
    FILE *loads_out; /* over it; NULL: there are none */
    struct outcome *outcome;
    bool colour;
    struct columns columns;
    struct held *held; /* that compete, of one size */
    int held_count;
    struct ranked *cells;
    size_t cell_count;
    uint64_t received[PATHS];
    char executor[GROUP_REASON_MOST + 64];                  /* the last note about it */
    char fallbacks[FALLBACKS_MOST + 1][FALLBACK_TEXT_MOST]; /* sentences for the foot */
    int fallback_count;
    bool on_host, on_device; /* some line ran there */
};

static struct table *table_of(struct report *report)
{
    return (struct table *)report;
}

static const char *paint(const struct table *table, const char *code)
{
    return table->colour ? code : "";
}
#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define PLAIN "\033[0m"

/* The head. */

enum table_row { ROW_TITLES, ROW_UNITS, ROW_LINE };

/* A row of the head, or a line, up to the last number; `texts`: of the columns that name what it
 * runs. The head does not end in blanks. */
static void print_row(const struct table *table, const struct line_cells *cells, enum table_row row,
                      const char *const texts[COLUMNS])
{
    int gap = 0;
    for (enum column_place place = 0; place < COLUMN_PLACES; place++) {
        for (const struct line_cell *at = cells->items; at < cells->items + cells->count; at++) {
            const struct line_column *column = at->column;
            char text[CELL_TEXT_MOST];
            if (!at->is_there || column->place != place)
                continue;
            const char *value = at->is_known ? cell_text(at, column->decimals, text) : NULL;
            const char *word = row == ROW_TITLES  ? column->title
                               : row == ROW_UNITS ? column->unit
                                                  : (value ? value : "-");
            bool red = row == ROW_LINE && place == PLACE_CHECK && json_integer_value(at->value) > 0;
            gap++;
            if (*word)
                fprintf(table->out, "%*s%s%*s%s", gap, "", red ? paint(table, RED) : "", at->width,
                        word, red ? paint(table, PLAIN) : "");
            gap = *word ? 0 : gap + at->width;
        }
        if (place == PLACE_SIZE)
            columns_print(table->out, &table->columns, texts);
    }
}

static void print_columns(const struct table *table, const struct job *job)
{
    struct line_cells cells;
    line_cells_open(&cells, job, &(struct result){.choice = 0});
    fputc('#', table->out);
    print_row(table, &cells, ROW_TITLES, column_titles);
    fputs(job->split.kind != SPLIT_NONE ? "    slowest\n#" : "\n#", table->out);
    print_row(table, &cells, ROW_UNITS, NULL);
    fputc('\n', table->out);
    line_cells_close(&cells);
}

static void table_begin(struct report *report, const struct job *job,
                        const struct participants *participants)
{
    struct table *table = table_of(report);
    columns_find(job, &table->columns);
    head_print(table->out, job, participants, &table->columns);
    table->predicted = participants->model != NULL;
    if (table->predicted) {
        fputs("#\n", table->out);
        print_columns(table, job);
    }
    fflush(table->out);
}

/* The links by transport and treatment: with -v all, else those that are staged. */
static void print_links(FILE *out, const struct connectivity *connectivity, bool all)
{
    for (int i = 0; i < connectivity->class_count; i++) {
        const struct link_class *class = &connectivity->classes[i];
        if (!all && !link_class_is_staged(class))
            continue;
        fprintf(out, "# links: %d by %s%s%s", class->count, class->transport,
                class->words[0] ? ", " : "", class->words);
        if (class->most_ns > 0)
            fprintf(out, ", %llu to %llu ns one way (most from rank %d to %d)",
                    (unsigned long long)class->least_ns, (unsigned long long)class->most_ns,
                    class->from, class->to);
        fputc('\n', out);
    }
}

/* With -v: the NICs, and the start barrier. */
static void print_connections(const struct table *table, const struct connectivity *connectivity)
{
    FILE *out = table->out;
    uses_print(out, connectivity);
    if (connectivity->node_barriers == 1)
        fputs("# start barrier: in shared memory\n", out);
    else
        fprintf(out, "# start barrier: %d groups in shared memory, links between the groups\n",
                connectivity->node_barriers);
    if (connectivity->note[0])
        fprintf(out, "# start barrier: %s\n", connectivity->note);
}

static void keep_fallback(struct table *table, const struct job *job,
                          const struct fallback *fallback, const struct member *members)
{
    /* A library or a device that a node lacks is no news, unless it was asked for. */
    if (fallback->pairs > 0 &&
        (fallback->cause != FALLBACK_ABSENT || job->bootstrap.verbosity >= 1))
        fallback_text(fallback, members, table->fallbacks[table->fallback_count++]);
}

static void table_connected(struct report *report, const struct job *job,
                            const struct connectivity *connectivity)
{
    struct table *table = table_of(report);
    print_links(table->out, connectivity, job->bootstrap.verbosity >= 1);
    if (job->bootstrap.verbosity >= 1)
        print_connections(table, connectivity);
    for (int i = 0; i < connectivity->fallbacks.count; i++)
        keep_fallback(table, job, &connectivity->fallbacks.list[i], connectivity->members);
    keep_fallback(table, job, &connectivity->fallbacks.further, connectivity->members);
    differences_print(table->out, connectivity);
    fputs("#\n", table->out);
    print_columns(table, job);
    fflush(table->out);
}

/* The lines. */

static void losses_print(FILE *out, const struct result *result)
{
    for (int i = 0; i < LOSSES_MOST && i < result->loss_count; i++)
        fprintf(out, "#   loss: %s\n", result->losses[i].text);
    if (result->loss_count > LOSSES_MOST)
        fprintf(out, "#   loss: %d more, none of them of more packets\n",
                result->loss_count - LOSSES_MOST);
}

static void delays_print(FILE *out, const struct result *result)
{
    for (int i = 0; i < DELAYS_MOST && i < result->delay_count; i++)
        fprintf(out, "#   delay: %s\n", result->delays[i].text);
    if (result->delay_count > DELAYS_MOST)
        fprintf(out, "#   delay: %d more, none of them farther\n",
                result->delay_count - DELAYS_MOST);
}

static void outliers_print(FILE *out, const struct result *result)
{
    for (int i = 0; i < OUTLIERS_MOST && i < result->outlier_count; i++)
        fprintf(out, "#   outlier: %s\n", result->outliers[i].text);
    if (result->outlier_count > OUTLIERS_MOST)
        fprintf(out, "#   outlier: %ld more, none of them longer\n",
                result->outlier_count - OUTLIERS_MOST);
}

/* With -v: the way that the bytes of this line went. */
static void print_traffic(const struct table *table, const struct result *result)
{
    for (int t = 0; t < TRANSPORTS_MOST && result->transport_names[t]; t++) {
        const struct traffic *traffic = &result->by_transport[t];
        fprintf(table->out, "#   %s received", result->transport_names[t]);
        for (int p = 0; p < PATHS; p++)
            fprintf(table->out, " %s %llu,", path_names[p],
                    (unsigned long long)traffic->received[p]);
        fprintf(table->out, " copied to send %llu, to receive %llu bytes\n",
                (unsigned long long)traffic->copied_sending,
                (unsigned long long)traffic->copied_receiving);
    }
}

static void print_line(const struct table *table, const struct job *job,
                       const struct result *result, bool best)
{
    FILE *out = table->out;
    struct line_cells cells;
    const char *texts[COLUMNS];
    bool split = result->slowest_name[0];
    line_cells_open(&cells, job, result);
    column_texts(&job->candidates[result->choice], texts);
    fprintf(out, "%s ", best ? paint(table, BOLD) : "");
    print_row(table, &cells, ROW_LINE, texts);
    line_cells_close(&cells);
    if (split)
        fprintf(out, "%s %s%s\n", best ? " *" : "  ", result->slowest_name,
                best ? paint(table, PLAIN) : "");
    else
        fprintf(out, "%s%s\n", best ? " *" : "", best ? paint(table, PLAIN) : "");
    bool named = job->bootstrap.verbosity >= 1 && result->bottleneck_text[0];
    if (named)
        fprintf(out, "#   slowest: %s\n", result->bottleneck_text);
    if (result->late_rank >= 0 && !(named && result->bottleneck.kind == BOTTLENECK_RANK))
        fprintf(out, "#   rank %d begins late: %.0f us after the start releases it (median)\n",
                result->late_rank, result->late_us);
    if (job->bootstrap.verbosity >= 1) {
        losses_print(out, result);
        delays_print(out, result);
        outliers_print(out, result);
        prediction_steps_print(out, result);
        samples_remark(out, result);
        print_traffic(table, result);
    }
    profile_print(out, job, result);
}

/* The fastest right one of several that were timed. */
static int fastest_held(const struct table *table)
{
    int best = -1;
    for (int i = 0; i < table->held_count; i++) {
        const struct result *result = &table->held[i].result;
        if (result_is_timed(result) && result->wrong == 0 &&
            (best < 0 || result->timing.time_us.p50 < table->held[best].result.timing.time_us.p50))
            best = i;
    }
    return table->held_count > 1 ? best : -1;
}

/* The executor of the lines of GPUs, and why it was not the device: once for all that are alike. */
static void executor_note(struct table *table, const struct job *job, const struct result *result)
{
    char text[sizeof table->executor];
    *(result->on_device ? &table->on_device : &table->on_host) = true;
    if (job->memory->host_reads || job->candidates[result->choice].choice.algorithm->vendor)
        return;
    snprintf(text, sizeof text, "# executor: %s (%s)%s%s", result->on_device ? "device" : "host",
             result->engine, result->why_host[0] ? "; not the device: " : "", result->why_host);
    if (strcmp(text, table->executor) == 0)
        return;
    memcpy(table->executor, text, sizeof text);
    fprintf(table->out, "%s\n", text);
}

static void release_held(struct table *table, const struct job *job)
{
    int best = fastest_held(table);
    for (int i = 0; i < table->held_count; i++) {
        struct held *held = &table->held[i];
        executor_note(table, job, &held->result);
        print_line(table, job, &held->result, i == best);
        if (held->congested)
            fputs(held->congested, table->out);
        free(held->congested);
    }
    table->held_count = 0;
    fflush(table->out);
}

static void remember_cell(struct table *table, const struct result *result)
{
    const struct timing *timing = &result->timing;
    bool known = timing->p50_interval.coverage > 0;
    *LIST_ADD(table->cells, table->cell_count) = (struct ranked){
        .choice = result->choice,
        .asked = result->asked,
        .bytes = result->bytes,
        .ranks = result->ranks,
        .time = result_is_timed(result) ? timing->time_us.p50 : 0,
        .busbw = timing->busbw,
        .low = known ? timing->p50_interval.low : timing->time_us.min,
        .high = known ? timing->p50_interval.high : timing->time_us.max,
        .wrong = result->wrong > 0,
    };
}

/* How many lines compete with this one, itself among them. */
static int competitors(const struct job *job, const struct result *result)
{
    int first = result->choice, running = 0;
    while (first > 0 && candidates_compete(&job->candidates[first - 1], &job->candidates[first]))
        first--;
    for (int c = first; c < job_contest_end(job, first); c++)
        running += candidate_runs_at(&job->candidates[c], result->asked);
    return running;
}

/* Does it compete with the lines that are held? */
static bool held_with(const struct table *table, const struct job *job, const struct result *result)
{
    const struct result *held = &table->held[0].result;
    return held->asked == result->asked &&
           candidates_compete(&job->candidates[held->choice], &job->candidates[result->choice]);
}

/* The load of links stands below the table. */
static void load_keep(struct table *table, const struct job *job, const struct result *result)
{
    char title[CANDIDATE_TITLE_MOST + 40], bytes[SIZE_TEXT_MOST];
    if (!table->loads_out)
        table->loads_out = open_memstream(&table->loads, &table->loads_length);
    if (!table->loads_out)
        return;
    const struct candidate *candidate = &job->candidates[result->choice];
    snprintf(title, sizeof title, "%s %s at %s", candidate->collective->name, candidate->text,
             size_format(result->bytes, bytes));
    load_print(table->loads_out, result->load, title, job->bootstrap.verbosity > 0);
}

static void loads_drop(struct table *table)
{
    if (table->loads_out)
        fclose(table->loads_out);
    free(table->loads);
}

static void loads_print(struct table *table)
{
    if (table->loads_out && fflush(table->loads_out) == 0)
        fputs(table->loads, table->out);
}

static void table_result(struct report *report, const struct job *job, const struct result *result)
{
    struct table *table = table_of(report);
    table->outcome->wrong += result->wrong;
    for (int t = 0; t < TRANSPORTS_MOST && result->transport_names[t]; t++)
        for (int p = 0; p < PATHS; p++)
            table->received[p] += result->by_transport[t].received[p];
    if (table->held_count && !held_with(table, job, result))
        release_held(table, job);
    remember_cell(table, result);
    if (result->load)
        load_keep(table, job, result);
    struct held *held = LIST_ADD(table->held, table->held_count);
    held->congested =
        job->bootstrap.verbosity >= 1 ? readings_text(&result->devices, COUNTER_CONGESTED) : NULL;
    held->result = *result;
    held->result.samples = NULL; /* they go with the line, */
    held->result.groups = NULL;  /* and so do these */
    held->result.devices = (struct device_readings){0};
    if (table->held_count == competitors(job, result))
        release_held(table, job);
}

/* By way of copying. A vendor's library shows none. */
static void received_print(const struct table *table, const struct job *job)
{
    int own = 0;
    for (int c = 0; c < job->candidate_count && !table->predicted; c++)
        own += !job->candidates[c].choice.algorithm->vendor;
    if (own == 0)
        return;
    fputs("# bytes received by way:", table->out);
    for (int p = 0; p < PATHS; p++)
        fprintf(table->out, "%s %s %llu", p ? "," : "", path_names[p],
                (unsigned long long)table->received[p]);
    fputc('\n', table->out);
}

static void table_end(struct report *report, const struct job *job, const struct job_end *end)
{
    struct table *table = table_of(report);
    release_held(table, job);
    faults_print(table->out, &end->faults);
    if (table->cell_count == 0) {
        fflush(table->out);
        return;
    }
    ranking_print(table->out, job, table->cells, table->cell_count);
    if (job->bootstrap.verbosity >= 1)
        guidelines_print(table->out, job, table->cells, table->cell_count);
    fputs("#\n", table->out);
    for (int i = 0; i < table->fallback_count && (table->on_host || !table->on_device); i++)
        fprintf(table->out, "# %s\n", table->fallbacks[i]);
    if (job->bootstrap.verbosity >= 1)
        received_print(table, job);
    loads_print(table);
    fflush(table->out);
}

void table_conclude(struct report *report, enum status status)
{
    struct table *table = table_of(report);
    size_t wrong = table->outcome->wrong;
    if (!table->outcome->begun)
        return;
    fprintf(table->out, "# status: %s", status_word(status));
    if (wrong)
        fprintf(table->out, ", %zu element%s wrong", wrong, wrong == 1 ? "" : "s");
    fputc('\n', table->out);
    fflush(table->out);
}

struct report *table_open(struct output_queue *queue, struct outcome *outcome)
{
    struct table *table = new_array(1, sizeof *table);
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    table->report = (struct report){.begin = table_begin,
                                    .connected = table_connected,
                                    .result = table_result,
                                    .end = table_end};
    table->out = folded_stream(output_queue_stream(queue), output_queue_fd(queue));
    table->outcome = outcome;
    table->colour = isatty(output_queue_fd(queue)) && (!no_colour || !*no_colour) && terminal &&
                    strcmp(terminal, "dumb") != 0 && !launcher_makes_terminal();
    return &table->report;
}

void table_close(struct report *report)
{
    if (!report)
        return;
    loads_drop(table_of(report));
    fclose(table_of(report)->out);
    free(table_of(report)->cells);
    free(table_of(report)->held);
    free(table_of(report));
}
