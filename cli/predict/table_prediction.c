/*
 * table_prediction.c - prints what a model says of a line: beside what was measured,
 *
 *     #wrong   predicted  measured/
 *                     us  predicted
 *          0       33.02       1.08
 *     #   step 3 (of 0 to 5) differs most: it took 12.30 us, predicted 4.10
 *
 * or, of a line that only a model knows, how many ranks were simulated for it:
 *
 *     #wrong   simulated
 *                  ranks
 *          -           1
 */
#include "cli/predict/predict.h"

#include <math.h>

void prediction_titles_print(FILE *out, const struct job *job, int row)
{
    int gap = row ? 6 : 0;
    if (job->compares)
        fprintf(out, "%*s %11s %10s", gap, "", row ? "us" : "predicted",
                row ? "predicted" : "measured/");
    else if (job->model)
        fprintf(out, "%*s %11s", gap, "", row ? "ranks" : "simulated");
}

void prediction_columns_print(FILE *out, const struct job *job, const struct result *result)
{
    double measured = result->timing.time_us.p50;
    if (result->is_predicted)
        fprintf(out, " %11d", result->simulated_ranks);
    else if (job->compares && result->predicted_us > 0 && result_is_timed(result))
        fprintf(out, " %11.2f %10.2f", result->predicted_us, measured / result->predicted_us);
    else if (job->compares)
        fprintf(out, " %11s %10s", "-", "-");
}

void prediction_steps_print(FILE *out, const struct result *result)
{
    double measured = 0, predicted = 0, parted = 0; /* so far, us */
    struct step_end part = {0};
    int at = -1;
    if (result->predicted_us <= 0 || result->steps < 2)
        return;
    for (int s = 0; s < result->steps; s++) { /* a step may end before those before it */
        const struct step_end *end = &result->step_end[s];
        const struct step_end own = {.measured_us = fmax(end->measured_us - measured, 0),
                                     .predicted_us = fmax(end->predicted_us - predicted, 0)};
        double apart = fabs(own.measured_us - own.predicted_us);
        if (apart > parted) {
            parted = apart;
            part = own;
            at = s;
        }
        measured += own.measured_us;
        predicted += own.predicted_us;
    }
    if (at >= 0)
        fprintf(out, "#   step %d (of 0 to %d) differs most: it took %.2f us, predicted %.2f\n",
                at, result->steps - 1, part.measured_us, part.predicted_us);
}
