/*
 * table_prediction.c - prints what a model says of a line, beside what was measured.
 *
 *     #wrong   predicted  measured/
 *                     us  predicted
 *          0       33.02       1.08
 */
#include "cli/printers/table_prediction.h"

void prediction_titles_print(FILE *out, const struct job *job, int row)
{
    if (job->compares)
        fprintf(out, "%*s %11s %10s", row ? 6 : 0, "", row ? "us" : "predicted",
                row ? "predicted" : "measured/");
}

void prediction_columns_print(FILE *out, const struct job *job, const struct result *result)
{
    double measured = result->timing.time_us.p50;
    if (!job->compares)
        return;
    if (result->predicted_us > 0 && result_is_timed(result))
        fprintf(out, " %11.2f %10.2f", result->predicted_us, measured / result->predicted_us);
    else
        fprintf(out, " %11s %10s", "-", "-");
}
