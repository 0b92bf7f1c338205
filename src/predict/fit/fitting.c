/*
 * fitting.c - finds the costs of a model by which the simulator says what was measured.
 */
#include "predict/fit/fit.h"

#include <math.h>

#define FACTOR_FIRST 2.0
#define FACTOR_LAST  1.02
#define ROUNDS_MOST  60
#define WORTH        1e-6 /* by which the sum has to fall */

enum status benchmark_error(const struct benchmark *benchmark, const struct model *model,
                            double *error)
{
    double time = 0, first = 0;
    enum status status = benchmark_predict(benchmark, model, &time, &first);
    *error = fabs(log(time / benchmark->time));
    if (benchmark->first > 0)
        *error = (*error + fabs(log(first / benchmark->first))) / 2;
    return status;
}

static enum status errors_sum(const struct benchmark *benchmarks, int count,
                              const struct model *model, double *sum)
{
    enum status status = STATUS_OK;
    double error;
    *sum = 0;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        status = benchmark_error(&benchmarks[i], model, &error);
        *sum += error;
    }
    return status;
}

/* Tries the unknown times and divided by the factor; keeps what is better. *kept: one was. */
static enum status unknown_try(const struct unknown *unknown, double factor,
                               const struct benchmark *benchmarks, int count,
                               const struct model *model, double *sum, bool *kept)
{
    const double before = *unknown->value;
    const double tries[] = {before * factor, before / factor};
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK && !*kept; i++) {
        double now;
        if (tries[i] < unknown->least)
            continue;
        *unknown->value = tries[i];
        status = errors_sum(benchmarks, count, model, &now);
        if (status == STATUS_OK && now < *sum - WORTH) {
            *sum = now;
            *kept = true;
        } else {
            *unknown->value = before;
        }
    }
    return status;
}

enum status unknowns_fit(struct unknown *unknowns, int unknown_count,
                         const struct benchmark *benchmarks, int count, const struct model *model)
{
    double sum, factor = FACTOR_FIRST;
    enum status status = errors_sum(benchmarks, count, model, &sum);
    for (int round = 0; round < ROUNDS_MOST && factor > FACTOR_LAST && status == STATUS_OK;
         round++) {
        bool better = false;
        for (int u = 0; u < unknown_count && status == STATUS_OK; u++) {
            bool kept = false;
            status = unknown_try(&unknowns[u], factor, benchmarks, count, model, &sum, &kept);
            better |= kept;
        }
        if (!better)
            factor = sqrt(factor);
    }
    return status;
}
