/*
 * table_sampling.c - prints how sure the time of a line is.
 *
 *     #wrong     iters    +-%    ended
 *          0       192    1.8 interval
 */
#include "cli/run/internal.h"

void sampling_titles_print(FILE *out, const struct job *job, int row)
{
    if (job->iterations_auto)
        fprintf(out, "%*s %9s %6s %8s", row ? 6 : 0, "", row ? "" : "iters", row ? "of p50" : "+-%",
                row ? "by" : "ended");
}

void sampling_columns_print(FILE *out, const struct job *job, const struct result *result)
{
    if (job->iterations_auto)
        fprintf(out, " %9ld %6.1f %8s", result->iterations,
                median_interval_margin(&result->timing.p50_interval) * 100,
                sampling_end_names[result->end]);
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
