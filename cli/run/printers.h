/*
 * printers.h - the table, CSV and JSON behind one report, and the status with which it ends.
 *
 * A job has one status: the exit status, the table's last line and JSON agree. So the status is
 * written by the process whose exit status it is, after the end of all ranks that it started; rank
 * 0, where it is a child, writes the rest (struct outcome).
 */
#ifndef CCTEST_CLI_RUN_PRINTERS_H
#define CCTEST_CLI_RUN_PRINTERS_H

#include <pthread.h>

#include "predict/predictor.h"
#include "base/io/output.h"
#include "cli/options/request.h"
#include "cli/run/running.h"
#include "run/results/report.h"

/* The table comes last: it must not say "ok" if the other files could not be written. */
enum printer { PRINTER_CSV, PRINTER_SAMPLES, PRINTER_JSON, PRINTER_TABLE, PRINTERS };

struct printers {
    struct report report;
    struct report *each[PRINTERS];     /* all but the table: NULL unless asked for */
    const char *destination[PRINTERS]; /* for sentences */
    bool is_stdout[PRINTERS];
    struct predictor predictor;
    struct patience patience; /* with the readers of streams */
    struct outcome *outcome;  /* shared with child processes */
    struct running running;
    pthread_mutex_t lock; /* of what follows, and of what each printer has */
    bool concluded;
    enum status status; /* then */
    _Atomic int said;   /* the status that JSON says, or else the table; negative: none yet */
};

/* Which of them: a job that runs inside of another has no table. */
enum printed { PRINT_TABLE, PRINT_FILES };

/* `announces`: this process or its child is rank 0, so it tests the paths now. The caller frees the
 * printers with printers_close(), also after a failure, which is recorded. */
enum status printers_open(struct printers *printers, const struct request *request, enum printed printed,
                          bool announces);
void printers_close(struct printers *printers);
/* When the ranks have ended: writes the status, if `reports`, and closes the printers. Returns the
 * final status. A file that does not take it ends the process (watchdog.h). */
enum status printers_finish(struct printers *printers, bool reports, enum status status);

#endif
