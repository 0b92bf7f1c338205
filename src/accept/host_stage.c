/*
 * host_stage.c - a stage that measures each host by itself: a job on each, or on each of its
 * NICs, all hosts at once, whose numbers are compared with those of the other hosts.
 *
 * A host that stands out is measured once more, and is bad if it stands out again in the same
 * number. One whose job fails is bad.
 */
#include "accept/internal.h"

#include "base/stats/stats.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS_MOST RAILS_MOST
#define LOOKS_MOST   3 /* of a stage */

/* What is measured of each host: a metric, or a metric of a NIC port. */
struct look_column {
    const struct host_metric *metric;
    const char *port; /* NULL: of the host */
    char name[METRIC_NAME_MOST];
};

/* One look at all hosts. */
struct look_run {
    struct acceptance *acceptance;
    enum accept_stage stage;
    const struct host_look *look;
    int hosts;  /* of the fleet */
    int judged; /* numbers in the whole stage */
    struct look_column columns[COLUMNS_MOST];
    int column_count;
    /* By column and host: */
    double *values;                /* 0: not measured */
    char (*parts)[PART_NAME_MOST]; /* to which the value belongs; "": the host as a whole */
    double *before;         /* the values of the first measurement, of hosts that stood out */
    bool *outliers, *first; /* in the last measurement, and in the first one */
    bool *again;            /* the value is that of the second */
    struct reason *reasons;
    /* By host, of one column: */
    double *earlier;
    /* What came of it. */
    int failed, slow;
    char note[STAGE_TEXT_MOST / 2]; /* why parts of a host cannot be measured; "" */
};

static size_t cell_of(const struct look_run *run, int column, int host)
{
    return (size_t)column * (size_t)run->hosts + (size_t)host;
}

/* ---- what is measured ---- */

static void column_add(struct look_run *run, const struct host_metric *metric, const char *port)
{
    if (run->column_count == COLUMNS_MOST)
        return;
    struct look_column *column = &run->columns[run->column_count++];
    *column = (struct look_column){.metric = metric, .port = port};
    snprintf(column->name, sizeof column->name, "%s%s%s", metric->name, port ? " " : "",
             port ? port : "");
}

static void columns_find(struct look_run *run)
{
    const struct acceptance *acceptance = run->acceptance;
    const char *ports[RAILS_MOST] = {NULL};
    int count = 1; /* the host as a whole */
    if (run->look->ranks == RANKS_ON_NIC)
        count =
            nic_ports_find(acceptance->job->transports, acceptance->inventories, run->hosts, ports);
    for (int p = 0; p < count; p++)
        for (int m = 0; m < run->look->metric_count; m++)
            column_add(run, &run->look->metrics[m], ports[p]);
}

/* Takes out the columns of a port. */
static void port_drop(struct look_run *run, const char *port)
{
    int kept = 0;
    for (int c = 0; c < run->column_count; c++)
        if (run->columns[c].port != port)
            run->columns[kept++] = run->columns[c];
    run->column_count = kept;
}

/* ---- measurements ---- */

/* Jobs that have ended, through one port (NULL: of the hosts as a whole), of these hosts. */
struct host_trials {
    struct trials trials;
    const char *port;
    int *hosts; /* of each job */
};

/* The worst of the lines that the column's metric has in the results of a job. */
static void column_take(struct look_run *run, int c, const struct trials *trials, int job, int host)
{
    const struct host_metric *metric = run->columns[c].metric;
    const json_t *line, *first = trials_line(trials, job, metric->collective, NULL, metric->bytes);
    const json_t *results = json_object_get(trials->outcomes[job].document, "results");
    size_t index, cell = cell_of(run, c, host);
    json_array_foreach(results, index, line)
    {
        double value = line_number(line, metric->number), *worst = &run->values[cell];
        if (!first || value <= 0 || !lines_are_alike(line, first) ||
            (*worst > 0 && (value < *worst) == metric->less_is_better))
            continue;
        const char *part = json_string_value(json_object_get(line, "part"));
        *worst = value;
        snprintf(run->parts[cell], PART_NAME_MOST, "%s", part ? part : "");
    }
}

static void host_take(struct look_run *run, const struct host_trials *trials, int job)
{
    const struct trial *trial = &trials->trials.outcomes[job];
    const char *note = json_string_value(json_object_get(trial->document, "note"));
    int host = trials->hosts[job];
    for (int c = 0; c < run->column_count; c++)
        if (run->columns[c].port == trials->port)
            column_take(run, c, &trials->trials, job, host);
    if (note && note[0] && !run->note[0])
        snprintf(run->note, sizeof run->note, "%s: %s", host_label(run->acceptance, host), note);
}

static void failure_find(struct look_run *run, const struct host_trials *trials, int job)
{
    const struct trial *trial = &trials->trials.outcomes[job];
    run->failed++;
    stage_finds(run->acceptance, run->stage, trials->hosts[job], -1, HEALTH_BAD,
                outcome_status(trial->outcome), "%s: %s%s%s: %s",
                host_label(run->acceptance, trials->hosts[job]), trials->port ? trials->port : "",
                trials->port ? ": " : "", run->look->fails, trial->why);
}

/* Adds the jobs of those of these hosts that have the port. */
static void jobs_add(const struct look_run *run, struct host_trials *trials, const int *hosts,
                     int count)
{
    const struct acceptance *acceptance = run->acceptance;
    char transport[PORT_TRANSPORT_MOST];
    if (trials->port)
        trials->trials.transport =
            nic_port_transport(acceptance->job->transports, trials->port, transport);
    for (int i = 0; i < count; i++) {
        const struct fleet_host *host = &acceptance->roster->hosts[hosts[i]];
        if (trials->port && !nic_port_is_at(trials->port, acceptance->inventories, hosts[i]))
            continue;
        trials->hosts[trials->trials.count] = hosts[i];
        trials_add(&trials->trials, host->agents,
                   run->look->ranks == RANKS_OF_AGENTS ? host->count : 1, "%s", run->look->command);
    }
    trials->trials.transport = NULL;
}

static void trials_take(struct look_run *run, const struct host_trials *trials)
{
    for (int j = 0; j < trials->trials.count; j++) {
        if (trials->trials.outcomes[j].outcome == READING_VALUE)
            host_take(run, trials, j);
        else if (trial_accuses(&trials->trials, j, trials->hosts[j]))
            failure_find(run, trials, j);
    }
}

/* The last job that failed, if more than half did; -1: they did not. */
static int most_fail(const struct host_trials *trials)
{
    int failed = 0, last = -1;
    for (int j = 0; j < trials->trials.count; j++)
        if (trial_accuses(&trials->trials, j, trials->hosts[j])) {
            failed++;
            last = j;
        }
    return 2 * failed > trials->trials.count ? last : -1;
}

/* `first`: the hosts are not measured again, so a port that most of them cannot use is dropped. */
static enum status port_measure(struct look_run *run, const char *port, const int *hosts, int count,
                                bool first)
{
    enum status status = STATUS_OK;
    struct host_trials trials = {
        .port = port, .hosts = stage_memory(run->acceptance, (size_t)count, sizeof *trials.hosts)};
    trials_open(&trials.trials, run->acceptance, run->stage);
    jobs_add(run, &trials, hosts, count);
    if (trials.trials.count > 0)
        status = trials_run(&trials.trials, run->look->seconds);
    int refused = status == STATUS_OK && port && first ? most_fail(&trials) : -1;
    if (refused >= 0) {
        port_drop(run, port);
        trials_refuse_port(&trials.trials, refused, port, "hosts");
    } else if (status == STATUS_OK) {
        trials_take(run, &trials);
    }
    trials_close(&trials.trials);
    return status;
}

static enum status hosts_measure(struct look_run *run, const int *hosts, int count, bool first)
{
    const char *ports[COLUMNS_MOST];
    int port_count = 0;
    for (int c = 0; c < run->column_count; c++)
        if (port_count == 0 || ports[port_count - 1] != run->columns[c].port)
            ports[port_count++] = run->columns[c].port;
    for (int p = 0; p < port_count; p++)
        TRY(port_measure(run, ports[p], hosts, count, first));
    return STATUS_OK;
}

/* ---- the verdict ---- */

/* What the hosts had in an earlier run; NULL: nothing is known. */
static const double *earlier_find(struct look_run *run, int column)
{
    bool known = baseline_values(&run->acceptance->baseline, accept_stage_names[run->stage],
                                 run->columns[column].name, run->earlier, run->hosts);
    return known ? run->earlier : NULL;
}

static void hosts_judge(struct look_run *run)
{
    for (int c = 0; c < run->column_count; c++) {
        const struct host_metric *metric = run->columns[c].metric;
        const struct value_rule rule = {
            .less_is_better = metric->less_is_better,
            .floor = metric->floor,
            .asked = host_profile_asked(&run->acceptance->profile, metric->key),
            .earlier = earlier_find(run, c),
            .earlier_floor = metric->floor,
            .judged = run->judged,
        };
        size_t first = cell_of(run, c, 0);
        host_values_judge(&rule, run->values + first, run->hosts, run->outliers + first,
                          run->reasons + first);
    }
}

static bool stands_out(const struct look_run *run, int host)
{
    bool does = false;
    for (int c = 0; c < run->column_count; c++)
        does |= run->outliers[cell_of(run, c, host)];
    return does;
}

static void host_accuse(struct look_run *run, int host, int c)
{
    size_t cell = cell_of(run, c, host);
    const struct reason *reason = &run->reasons[cell];
    const char *part = run->parts[cell], *unit = run->columns[c].metric->unit;
    struct found found = {.stage = run->stage,
                          .health = HEALTH_BAD,
                          .host = host,
                          .peer = -1,
                          .status = STATUS_SLOW,
                          .unit = unit,
                          .reason = *reason};
    run->slow++;
    snprintf(found.what, sizeof found.what, "%s", run->columns[c].name);
    snprintf(found.text, sizeof found.text,
             "%s: %s%s%s: %.4g %s, the fleet's median is %.4g (spread %.2g, %s %.4g); "
             "measured twice",
             host_label(run->acceptance, host), part, part[0] ? ": " : "", run->columns[c].name,
             reason->value, unit, reason->median, reason->deviation,
             threshold_words[reason->yardstick], reason->threshold);
    findings_add(&run->acceptance->findings, &found);
}

/* What stood out once, and could not be measured again, is a note. */
static void host_note(struct look_run *run, int host, int c)
{
    const struct reason *reason = &run->reasons[cell_of(run, c, host)];
    stage_finds(run->acceptance, run->stage, host, -1, HEALTH_GOOD, STATUS_OK,
                "%s: %s: %.4g %s, the fleet's median is %.4g: it was not measured again",
                host_label(run->acceptance, host), run->columns[c].name, reason->value,
                run->columns[c].metric->unit, reason->median);
}

/* A host is to be measured again: its numbers are set aside. */
static void host_set_aside(struct look_run *run, int host)
{
    for (int c = 0; c < run->column_count; c++) {
        size_t cell = cell_of(run, c, host);
        run->before[cell] = run->values[cell];
        run->values[cell] = 0;
    }
}

/* It was: what the second measurement lacks is that of the first. */
static void host_restore(struct look_run *run, int host)
{
    for (int c = 0; c < run->column_count; c++) {
        size_t cell = cell_of(run, c, host);
        run->again[cell] = run->values[cell] > 0;
        if (!run->again[cell])
            run->values[cell] = run->before[cell];
    }
}

static void host_conclude(struct look_run *run, int host)
{
    for (int c = 0; c < run->column_count; c++) {
        size_t cell = cell_of(run, c, host);
        if (!run->first[cell] || !run->outliers[cell])
            continue;
        if (run->again[cell])
            host_accuse(run, host, c);
        else
            host_note(run, host, c);
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
    memcpy(run->first, run->outliers,
           (size_t)run->column_count * (size_t)run->hosts * sizeof *run->first);
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
static double column_keep(const struct look_run *run, int c)
{
    struct acceptance *acceptance = run->acceptance;
    const struct look_column *column = &run->columns[c];
    struct host_number *number = arena_new(acceptance->memory, 1, sizeof *number);
    double median = 0;
    *number = (struct host_number){.key = column->metric->key, .unit = column->metric->unit};
    memcpy(number->name, column->name, sizeof number->name);
    for (int h = 0; h < run->hosts; h++) {
        size_t cell = cell_of(run, c, h), length = strlen(run->parts[cell]);
        if (run->values[cell] <= 0)
            continue;
        char *part = arena_new(acceptance->memory, length + 1, 1);
        memcpy(part, run->parts[cell], length);
        median = run->reasons[cell].median;
        *LIST_ADD(acceptance->readings.items, acceptance->readings.count) =
            (struct reading){.from = h,
                             .to = -1,
                             .metric = METRIC_OWN,
                             .value = run->values[cell],
                             .stage = (int)run->stage,
                             .number = number,
                             .part = part};
    }
    return median;
}

/* Keeps the last numbers of each host, and says the medians: of ports the least and the most. */
static void look_keep(const struct look_run *run, struct text *text)
{
    double least = 0, most = 0;
    int ports = 0;
    for (int c = 0; c < run->column_count; c++) {
        const struct look_column *column = &run->columns[c];
        double median = column_keep(run, c);
        if (median > 0 && !column->port)
            text_add(text, ", %s %.3g %s", column->name, median, column->metric->unit);
        if (median > 0 && column->port) {
            least = ports == 0 || median < least ? median : least;
            most = median > most ? median : most;
            ports++;
        }
    }
    if (ports > 0)
        text_add(text, ", %s %.3g to %.3g %s (%d of them)", run->look->metrics[0].name, least, most,
                 run->look->metrics[0].unit, ports);
}

static void look_open(struct look_run *run)
{
    struct acceptance *acceptance = run->acceptance;
    size_t hosts = (size_t)run->hosts, cells = hosts * (size_t)run->column_count;
    run->values = stage_memory(acceptance, cells, sizeof *run->values);
    run->parts = stage_memory(acceptance, cells, sizeof *run->parts);
    run->outliers = stage_memory(acceptance, cells, sizeof *run->outliers);
    run->first = stage_memory(acceptance, cells, sizeof *run->first);
    run->again = stage_memory(acceptance, cells, sizeof *run->again);
    run->before = stage_memory(acceptance, cells, sizeof *run->before);
    run->reasons = stage_memory(acceptance, cells, sizeof *run->reasons);
    run->earlier = stage_memory(acceptance, hosts, sizeof *run->earlier);
}

/* Looks at these hosts; their order is lost. */
static enum status look_go(struct look_run *run, int *hosts, int count, struct text *medians)
{
    look_open(run);
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

/* What the stage lacks, which looked at so many hosts. */
static void stage_explain(const struct look_run *runs, int looks, int left, int count,
                          struct stage_result *result)
{
    const struct acceptance *acceptance = runs[0].acceptance;
    char text[COUNTED_MOST];
    bool held = acceptance->asked->profile || acceptance->asked->baseline;
    if (count < left)
        stage_lacks(result, STAGE_PARTLY, "%s with one agent", counted(left - count, "host", text));
    else if (count < HOSTS_COMPARED)
        stage_lacks(result, STAGE_PARTLY, "%s: %s",
                    held ? "not held against each other" : "nothing to be held against",
                    counted(count, "host", text));
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
    char medians[STAGE_TEXT_MOST] = "", text[COUNTED_MOST];
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
    stage_says(result, "%s%s%s; %d failed, %d slow", counted(count, "host", text),
               medians[0] ? ", medians: " : "", medians[0] ? medians + strlen(", ") : "", failed,
               slow);
    stage_explain(runs, looks, left, count, result);
    return status;
}

/* Takes one look after the other. A metric that no host has is left out. */
enum status metrics_run(struct acceptance *acceptance, struct stage_result *result)
{
    const struct host_look *looks = accept_stages[result->stage].metrics;
    int numbers = 0, count = 0;
    int *hosts = stage_memory(acceptance, (size_t)acceptance->roster->host_count, sizeof *hosts);
    struct look_run *runs = stage_memory(acceptance, LOOKS_MOST, sizeof *runs);
    for (; looks[count].command; count++) {
        runs[count] = (struct look_run){.acceptance = acceptance,
                                        .stage = result->stage,
                                        .look = &looks[count],
                                        .hosts = acceptance->roster->host_count};
        columns_find(&runs[count]);
        numbers += runs[count].column_count * runs[count].hosts;
    }
    for (int i = 0; i < count; i++)
        runs[i].judged = numbers;
    if (hosts_find(acceptance, &looks[0], hosts) > 0)
        return looks_take(runs, count, hosts, result);
    stage_lacks(result, STAGE_LEFT_OUT, "%s",
                hosts_left(acceptance, hosts) == 0
                    ? "no host is left"
                    : "each host has one agent: start several on each");
    return STATUS_OK;
}

/* The stage node: allreduce and alltoall among the agents of each host, checked. */
static const struct host_metric node_metrics[] = {
    {"node.allreduce.latency", "allreduce of 1K among its agents", "us", "allreduce", "time_us.p50",
     1 << 10, true, 0.3},
    {"node.allreduce.busbw", "allreduce of 1M", "GB/s", "allreduce", "busbw_GBps", 1 << 20, false,
     0.15},
    {"node.alltoall.busbw", "alltoall of 1M", "GB/s", "alltoall", "busbw_GBps", 1 << 20, false,
     0.15},
};
const struct host_look node_looks[] = {
    {"allreduce,alltoall -b 1K -e 1M -f 1024 -n auto --budget 0.5 -w 3 -c 1 --timeout 10",
     RANKS_OF_AGENTS, "collectives among its own agents fail", 30, node_metrics, 3},
    {.command = NULL},
};

/* The stage self: the memory and the cores of each host, its GPUs, and its NICs. */
static const struct host_metric cpu_metrics[] = {
    {"self.copy", "copy by all cores", "GB/s", "copy", "GBps", 1, false, 0.1},
    {"self.sum", "sum by all cores", "GB/s", "sum", "GBps", 1, false, 0.1},
    {"self.core", "the slowest core", "million steps/s", "core", "Msteps", 1, false, 0.1},
};
static const struct host_metric gpu_metrics[] = {
    {"self.gpu.copy", "copy inside a GPU", "GB/s", "gpu-copy", "GBps", 1, false, 0.1},
    {"self.gpu.host_to_device", "copy from host to GPU", "GB/s", "host-to-device", "GBps", 1, false,
     0.1},
    {"self.gpu.device_to_host", "copy from GPU to host", "GB/s", "device-to-host", "GBps", 1, false,
     0.1},
};
static const struct host_metric nic_metrics[] = {
    {"self.loop", "loop through a NIC", "GB/s", "sendrecv", "busbw_GBps", 1, false, 0.1},
};
const struct host_look self_looks[] = {
    {WORK_CPU, RANKS_ALONE, "its memory and cores cannot be measured", 20, cpu_metrics, 3},
    {WORK_GPUS, RANKS_ALONE, "its GPUs cannot be measured", 20, gpu_metrics, 3},
    {"sendrecv --np 2 --ranks-as threads -a uni -b 1M -e 1M -n auto --budget 0.3 -w 2 -c 1 "
     "--timeout 5",
     RANKS_ON_NIC, "a loop through it fails", 20, nic_metrics, 1},
    {.command = NULL},
};
