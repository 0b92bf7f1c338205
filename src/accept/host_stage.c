/*
 * host_stage.c - a stage that measures each host by itself: a job on each, or on each of its
 * NICs, all hosts at once, whose numbers are compared with those of the other hosts.
 *
 * A host that stands out is measured once more, and is bad if it stands out again in the same
 * number. One whose job fails is bad.
 */
#include "accept/internal.h"

#include "base/io/io.h"
#include "base/stats/stats.h"

#include <string.h>

#define COLUMNS_MOST RAILS_MOST

/* The jobs of one kind, on all hosts at once. */
struct host_look {
    enum accept_stage stage;
    const char *command;
    enum host_ranks {
        RANKS_OF_AGENTS, /* the job has all agents of the host, which are several */
        RANKS_ALONE,     /* the worker of one agent does it all */
        RANKS_ON_NIC, /* likewise, a job for each NIC port in turn, over verbs through it alone */
    } ranks;
    const char *fails; /* "collectives among its own agents fail" */
    double seconds;    /* that a job may take */
};
static const struct host_look host_looks[LOOKS] = {
    [LOOK_CPUS] = {STAGE_SELF, WORK_CPU, RANKS_ALONE, "its memory and cores cannot be measured",
                   20},
    [LOOK_GPUS] = {STAGE_SELF, WORK_GPUS, RANKS_ALONE, "its GPUs cannot be measured", 20},
    [LOOK_NICS] =
        {STAGE_SELF,
         "sendrecv --np 2 --ranks-as threads -a uni -b 1M -e 1M -n auto --budget 0.3 -w 2 "
         "-c all --timeout 5",
         RANKS_ON_NIC, "a loop through it fails", 20},
    [LOOK_AGENTS] = {STAGE_NODE,
                     "allreduce,alltoall -b 1K -e 1M -f 1024 -n auto --budget 0.5 -w 3 -c all "
                     "--timeout 10",
                     RANKS_OF_AGENTS, "collectives among its own agents fail", 30},
};

/* A number of a host. */
struct look_cell {
    char part[PART_NAME_MOST]; /* to which the value belongs; "": the host as a whole */
    double before;             /* of a host that stood out: the value of the first measurement, */
    bool stood_out;            /* in which it was an outlier */
    bool again;                /* the value is that of the second */
};

/* A number that is measured of each host, or of one of its NIC ports. */
struct look_column {
    const struct measured_number *measured;
    const char *port; /* NULL: of the host */
    char name[METRIC_NAME_MOST];
    struct judged_value *values; /* by host; 0: not measured */
    struct look_cell *cells;     /* likewise */
};

/* One look at all hosts. */
struct look_run {
    struct acceptance *acceptance;
    const struct host_look *look;
    int hosts;                     /* of the fleet */
    int judged;                    /* numbers in the whole stage */
    const char *ports[RAILS_MOST]; /* one after the other; the first NULL: the hosts as a whole */
    bool refused[RAILS_MOST];      /* most hosts cannot use the port: it is not measured */
    int port_count;
    struct look_column columns[COLUMNS_MOST];
    int column_count;
    double *earlier; /* by host, of one column */
    /* The results: */
    int failed, slow;
    char note[STAGE_TEXT_MOST / 2]; /* why parts of a host cannot be measured; "" */
};

/* ---- what is measured ---- */

static void column_add(struct look_run *run, const struct measured_number *measured,
                       const char *port)
{
    struct acceptance *acceptance = run->acceptance;
    size_t hosts = (size_t)run->hosts;
    if (run->column_count == COLUMNS_MOST)
        return;
    struct look_column *column = &run->columns[run->column_count++];
    *column =
        (struct look_column){.measured = measured,
                             .port = port,
                             .values = stage_memory(acceptance, hosts, sizeof *column->values),
                             .cells = stage_memory(acceptance, hosts, sizeof *column->cells)};
    snprintf(column->name, sizeof column->name, "%s%s%s", measured->name, port ? " " : "",
             port ? port : "");
}

static void look_open(struct look_run *run)
{
    const struct acceptance *acceptance = run->acceptance;
    run->earlier = stage_memory(run->acceptance, (size_t)run->hosts, sizeof *run->earlier);
    run->port_count = 1; /* the host as a whole */
    if (run->look->ranks == RANKS_ON_NIC)
        run->port_count = nic_ports_find(acceptance->job->transports, acceptance->inventories,
                                         run->hosts, run->ports);
    for (int p = 0; p < run->port_count; p++)
        for (int m = 0; m < MEASURED_PAIRS; m++)
            if (&host_looks[measured_numbers[m].look] == run->look)
                column_add(run, &measured_numbers[m], run->ports[p]);
}

/* ---- measurements ---- */

/* The worst of the lines that the column's number has in the results of a job. */
static void column_take(struct look_column *column, const struct trials *trials, int job, int host)
{
    const struct measured_number *measured = column->measured;
    const json_t *line,
        *first = trials_line(trials, job, measured->collective, NULL, measured->bytes);
    const json_t *results = json_object_get(trials->outcomes[job].document, "results");
    double *worst = &column->values[host].value;
    size_t index;
    json_array_foreach(results, index, line)
    {
        double value = line_number(line, measured->number);
        if (!first || value <= 0 || !lines_are_alike(line, first) ||
            (*worst > 0 && (value < *worst) == measured->less_is_better))
            continue;
        *worst = value;
        snprintf(column->cells[host].part, PART_NAME_MOST, "%s", word_of(line, "part"));
    }
}

/* Takes the results of a job through a port (NULL: of a host as a whole). */
static void host_take(struct look_run *run, const struct trials *trials, int job, const char *port)
{
    const char *note = word_of(trials->outcomes[job].document, "note");
    int host = trial_host(trials, job);
    for (int c = 0; c < run->column_count; c++)
        if (run->columns[c].port == port)
            column_take(&run->columns[c], trials, job, host);
    if (note[0] && !run->note[0])
        snprintf(run->note, sizeof run->note, "%s: %s", run->acceptance->labels[host], note);
}

static void failure_find(struct look_run *run, const struct trials *trials, int job,
                         const char *port)
{
    const struct trial *trial = &trials->outcomes[job];
    int host = trial_host(trials, job);
    run->failed++;
    stage_finds(run->acceptance, run->look->stage, outcome_kind(trial->outcome), host, HEALTH_BAD,
                outcome_status(trial->outcome), "%s: %s%s%s: %s", run->acceptance->labels[host],
                port ? port : "", port ? ": " : "", run->look->fails, trial->why);
}

/* Adds the jobs of those of these hosts that have the port. */
static void jobs_add(const struct look_run *run, struct trials *trials, const int *hosts, int count,
                     const char *port)
{
    const struct acceptance *acceptance = run->acceptance;
    char transport[PORT_TRANSPORT_MOST];
    if (port)
        trials->transport = nic_port_transport(acceptance->job->transports, port, transport);
    for (int i = 0; i < count; i++) {
        const struct fleet_host *host = &acceptance->roster->hosts[hosts[i]];
        if (!port || nic_port_is_at(port, acceptance->inventories, hosts[i]))
            trials_add(trials, host->agents, run->look->ranks == RANKS_OF_AGENTS ? host->count : 1,
                       "%s", run->look->command);
    }
    trials->transport = NULL;
}

/* The last job that failed, if more than half did; -1: they did not. */
static int most_fail(const struct trials *trials)
{
    int failed = 0, last = -1;
    for (int j = 0; j < trials->count; j++)
        if (trial_is_evidence(trials, j)) {
            failed++;
            last = j;
        }
    return 2 * failed > trials->count ? last : -1;
}

/* `first`: the hosts are not measured again, so a port that most of them cannot use is refused. */
static enum status port_measure(struct look_run *run, int p, const int *hosts, int count,
                                bool first)
{
    enum status status = STATUS_OK;
    const char *port = run->ports[p];
    struct trials trials;
    trials_open(&trials, run->acceptance, run->look->stage);
    jobs_add(run, &trials, hosts, count, port);
    if (trials.count > 0)
        status = trials_run(&trials, run->look->seconds);
    int refused = status == STATUS_OK && port && first ? most_fail(&trials) : -1;
    run->refused[p] |= refused >= 0;
    if (refused >= 0)
        trials_refuse_port(&trials, refused, port, "hosts");
    for (int j = 0; j < trials.count && refused < 0 && status == STATUS_OK; j++) {
        if (trials.outcomes[j].outcome == READING_VALUE)
            host_take(run, &trials, j, port);
        else if (trial_is_evidence(&trials, j))
            failure_find(run, &trials, j, port);
    }
    trials_close(&trials);
    return status;
}

static enum status hosts_measure(struct look_run *run, const int *hosts, int count, bool first)
{
    for (int p = 0; p < run->port_count; p++)
        if (!run->refused[p])
            TRY(port_measure(run, p, hosts, count, first));
    return STATUS_OK;
}

/* ---- the verdict ---- */

static void hosts_judge(struct look_run *run)
{
    const struct acceptance *acceptance = run->acceptance;
    for (int c = 0; c < run->column_count; c++) {
        const struct look_column *column = &run->columns[c];
        const struct measured_number *measured = column->measured;
        bool known = baseline_values(&acceptance->baseline, accept_stage_names[run->look->stage],
                                     column->name, run->earlier, run->hosts);
        const struct value_rule rule = {
            .less_is_better = measured->less_is_better,
            .floor = measured->floor,
            .asked = acceptance->profile.asked[measured - measured_numbers],
            .earlier = known ? run->earlier : NULL,
            .earlier_floor = measured->floor,
            .judged = run->judged,
            .alarms = ALARMS_LOOKS * acceptance->asked->false_alarms,
        };
        host_values_judge(&rule, column->values, run->hosts);
    }
}

static bool stands_out(const struct look_run *run, int host)
{
    bool does = false;
    for (int c = 0; c < run->column_count; c++)
        does |= run->columns[c].values[host].outlier;
    return does;
}

static void host_blame(struct look_run *run, int host, const struct look_column *column)
{
    const struct reason *reason = &column->values[host].reason;
    const char *part = column->cells[host].part;
    const char *unit = value_unit_names[column->measured->unit];
    struct found found = {.stage = run->look->stage,
                          .kind = FOUND_NUMBER,
                          .health = HEALTH_BAD,
                          .host = host,
                          .peer = -1,
                          .status = STATUS_SLOW,
                          .unit = unit,
                          .reason = *reason};
    run->slow++;
    snprintf(found.what, sizeof found.what, "%s", column->name);
    snprintf(found.text, sizeof found.text,
             "%s: %s%s%s: %.4g %s, the fleet's median is %.4g (spread %.2g, %s %.4g); "
             "measured twice",
             run->acceptance->labels[host], part, part[0] ? ": " : "", column->name, reason->value,
             unit, reason->median, reason->deviation, threshold_words[reason->reference],
             reason->threshold);
    findings_add(&run->acceptance->findings, &found);
}

/* A value that stood out once, and could not be measured again, is a note. */
static void host_note(struct look_run *run, int host, const struct look_column *column)
{
    const struct reason *reason = &column->values[host].reason;
    stage_finds(run->acceptance, run->look->stage, FOUND_NOTE, host, HEALTH_GOOD, STATUS_OK,
                "%s: %s: %.4g %s, the fleet's median is %.4g: it was not measured again",
                run->acceptance->labels[host], column->name, reason->value,
                value_unit_names[column->measured->unit], reason->median);
}

/* A host is to be measured again: its numbers are set aside. */
static void host_set_aside(struct look_run *run, int host)
{
    for (int c = 0; c < run->column_count; c++) {
        struct judged_value *value = &run->columns[c].values[host];
        struct look_cell *cell = &run->columns[c].cells[host];
        cell->before = value->value;
        cell->stood_out = value->outlier;
        value->value = 0;
    }
}

/* It was: what the second measurement lacks is that of the first. */
static void host_restore(struct look_run *run, int host)
{
    for (int c = 0; c < run->column_count; c++) {
        struct judged_value *value = &run->columns[c].values[host];
        struct look_cell *cell = &run->columns[c].cells[host];
        cell->again = value->value > 0;
        if (!cell->again)
            value->value = cell->before;
    }
}

static void host_conclude(struct look_run *run, int host)
{
    for (int c = 0; c < run->column_count; c++) {
        const struct look_column *column = &run->columns[c];
        const struct look_cell *cell = &column->cells[host];
        if (!cell->stood_out || !column->values[host].outlier)
            continue;
        if (cell->again)
            host_blame(run, host, column);
        else
            host_note(run, host, column);
    }
}

/* Hosts that stand out are measured once more. */
static enum status hosts_confirm(struct look_run *run, int *hosts, int count)
{
    int suspects = 0;
    for (int i = 0; i < count; i++)
        if (stands_out(run, hosts[i]))
            hosts[suspects++] = hosts[i];
    if (suspects == 0)
        return STATUS_OK;
    for (int i = 0; i < suspects; i++)
        host_set_aside(run, hosts[i]);
    enum status status = hosts_measure(run, hosts, suspects, false);
    for (int i = 0; i < suspects; i++)
        host_restore(run, hosts[i]);
    if (status != STATUS_OK)
        return status;
    hosts_judge(run);
    for (int i = 0; i < suspects; i++)
        host_conclude(run, hosts[i]);
    return STATUS_OK;
}

/* ---- results ---- */

/* Keeps the last numbers of a column, as readings; returns the median of those of all hosts, 0:
 * none has any. */
static double column_keep(const struct look_run *run, const struct look_column *column)
{
    struct acceptance *acceptance = run->acceptance;
    struct host_number *number = arena_new(acceptance->memory, 1, sizeof *number);
    double median = 0;
    number->measured = column->measured;
    memcpy(number->name, column->name, sizeof number->name);
    for (int h = 0; h < run->hosts; h++) {
        size_t size = strlen(column->cells[h].part) + 1;
        if (column->values[h].value <= 0)
            continue;
        char *part = arena_new(acceptance->memory, size, 1);
        memcpy(part, column->cells[h].part, size);
        median = column->values[h].reason.median;
        *LIST_ADD(acceptance->readings.items, acceptance->readings.count) =
            (struct reading){.from = h,
                             .to = -1,
                             .metric = METRIC_OWN,
                             .value = column->values[h].value,
                             .stage = (int)run->look->stage,
                             .number = number,
                             .part = part};
    }
    return median;
}

/* Keeps the last numbers of each host, and says the medians: of ports the least and the most. */
static void look_keep(const struct look_run *run, struct text *text)
{
    const struct measured_number *first = run->columns[0].measured;
    double least = 0, most = 0;
    int ports = 0;
    for (int c = 0; c < run->column_count; c++) {
        const struct look_column *column = &run->columns[c];
        double median = column_keep(run, column);
        if (median > 0 && !column->port)
            text_add(text, ", %s %.3g %s", column->name, median,
                     value_unit_names[column->measured->unit]);
        if (median > 0 && column->port) {
            least = ports == 0 || median < least ? median : least;
            most = median > most ? median : most;
            ports++;
        }
    }
    if (ports > 0)
        text_add(text, ", %s %.3g to %.3g %s (%d of them)", first->name, least, most,
                 value_unit_names[first->unit], ports);
}

/* Looks at these hosts; their order is lost. */
static enum status look_go(struct look_run *run, int *hosts, int count, struct text *medians)
{
    TRY(hosts_measure(run, hosts, count, true));
    hosts_judge(run);
    TRY(hosts_confirm(run, hosts, count));
    look_keep(run, medians);
    return STATUS_OK;
}

/* The hosts that a look can be taken at. */
static int hosts_find(const struct acceptance *acceptance, const struct host_look *look, int *hosts)
{
    int left = hosts_left(acceptance, hosts), count = 0;
    for (int i = 0; i < left; i++)
        if (look->ranks != RANKS_OF_AGENTS || acceptance->roster->hosts[hosts[i]].count > 1)
            hosts[count++] = hosts[i];
    return count;
}

/* The gaps of the stage, which looked at `count` of the `left` hosts. */
static void stage_explain(const struct look_run *runs, int looks, int left, int count,
                          struct stage_result *result)
{
    const struct acceptance *acceptance = runs[0].acceptance;
    bool held = acceptance->asked->profile || acceptance->asked->baseline;
    if (count < left)
        stage_lacks(result, STAGE_PARTLY, "%d host%s with one agent", left - count,
                    plural(left - count));
    else if (count < HOSTS_COMPARED)
        stage_lacks(result, STAGE_PARTLY, "%s: %d host%s",
                    held ? "not compared with each other" : "nothing to compare with", count,
                    plural(count));
    for (int i = 0; i < looks; i++) {
        if (runs[i].note[0])
            stage_lacks(result, STAGE_PARTLY, "%s", runs[i].note);
        if (runs[i].look->ranks == RANKS_ON_NIC && !acceptance->inventories &&
            verbs_is_present(acceptance->job->transports))
            stage_lacks(result, STAGE_PARTLY,
                        "no NIC is measured, since the stage inventory was left out");
    }
}

static enum status looks_take(struct look_run *runs, int looks, int *hosts,
                              struct stage_result *result)
{
    struct acceptance *acceptance = runs[0].acceptance;
    char medians[STAGE_TEXT_MOST] = "";
    struct text to = text_in(medians, sizeof medians);
    enum status status = STATUS_OK;
    int count = hosts_find(acceptance, runs[0].look, hosts), left = hosts_left(acceptance, hosts);
    int failed = 0, slow = 0;
    for (int i = 0; i < looks && status == STATUS_OK; i++) {
        int present = hosts_find(acceptance, runs[i].look, hosts);
        status = look_go(&runs[i], hosts, present, &to);
        failed += runs[i].failed;
        slow += runs[i].slow;
    }
    stage_says(result, "%d host%s%s%s; %d failed, %d slow", count, plural(count),
               medians[0] ? ", medians: " : "", medians[0] ? medians + strlen(", ") : "", failed,
               slow);
    stage_explain(runs, looks, left, count, result);
    return status;
}

/* Takes one look after the other. A metric that no host has is left out. */
enum status metrics_run(struct acceptance *acceptance, struct stage_result *result)
{
    int numbers = 0, count = 0;
    int *hosts = stage_memory(acceptance, (size_t)acceptance->roster->host_count, sizeof *hosts);
    struct look_run *runs = stage_memory(acceptance, LOOKS, sizeof *runs);
    for (int i = 0; i < LOOKS; i++) {
        if (host_looks[i].stage != result->stage)
            continue;
        struct look_run *run = &runs[count++];
        *run = (struct look_run){.acceptance = acceptance,
                                 .look = &host_looks[i],
                                 .hosts = acceptance->roster->host_count};
        look_open(run);
        numbers += run->column_count * run->hosts;
    }
    for (int i = 0; i < count; i++)
        runs[i].judged = numbers;
    if (hosts_find(acceptance, runs[0].look, hosts) > 0)
        return looks_take(runs, count, hosts, result);
    stage_lacks(result, STAGE_LEFT_OUT, "%s",
                hosts_left(acceptance, hosts) == 0
                    ? "no host is left"
                    : "each host has one agent: start several on each");
    return STATUS_OK;
}
