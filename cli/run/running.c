/*
 * running.c - one line on a terminal that says what runs now, below the table.
 */
#include "cli/run/run.h"

#include "base/clock.h"
#include "base/parse.h"
#include "base/text.h"
#include "controlplane/bootstrap/bootstrap.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * One line on the terminal behind standard error, below the results.
 */
#define ERASE "\r\033[K"

bool terminal_line_possible(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0 &&
           !launcher_makes_terminal();
}

/* The text is no result, and no heartbeat of rank 0 leaves while a thread waits for the
 * terminal. */
static bool terminal_put(const char *bytes, size_t count)
{
    struct pollfd set = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&set, 1, 0) == 1 && (set.revents & POLLOUT) &&
           write(STDERR_FILENO, bytes, count) == (ssize_t)count;
}

/* The cursor stays at the left, where a line of another process begins. */
bool terminal_line_show(const char *text)
{
    char line[TERMINAL_LINE_MOST + sizeof ERASE + 1];
    snprintf(line, sizeof line, ERASE "%.*s\r", TERMINAL_LINE_MOST - 1, text);
    return terminal_put(line, strlen(line));
}

bool terminal_line_hide(void)
{
    return terminal_put(ERASE, strlen(ERASE));
}

/*
 * One line on a terminal that says what runs now.
 */
#define BRIEF_SECONDS 1.0  /* that need no such line */
#define SHOW_SECONDS  0.25 /* between two */

void running_open(struct running *running, struct output_queue *table, struct outcome *outcome)
{
    *running = (struct running){
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .table = table,
        .outcome = outcome,
        .on_terminal = terminal_line_possible(),
    };
}

void running_set_job(struct running *running, const struct job *job, int ranks)
{
    pthread_mutex_lock(&running->lock);
    running->job = job;
    running->ranks = ranks;
    pthread_mutex_unlock(&running->lock);
}

/* The iterations of a line of the table, unless -n auto decides. */
static long line_iterations(const struct running *running, const struct candidate *candidate)
{
    const struct job *job = running->job;
    long checked = candidate_checks(job, candidate, running->ranks);
    return candidate_warmups(job, candidate, running->ranks) + job->iterations +
           (job->checked == CHECKED_ALL ? 0 : checked);
}

/* How far the line is, and how long it may take: at its speed so far, or by the budget. */
static void left_add(struct text *text, const struct running *running,
                     const struct candidate *candidate, long done, double seconds)
{
    if (running->job->iterations_auto) {
        if (running->job->budget > 0)
            text_add(text, ", timed for %g s at most", running->job->budget);
        return;
    }
    long all = line_iterations(running, candidate);
    text_add(text, " of %ld", all);
    if (done > 0 && done < all)
        text_add(text, ", about %.0f s more", ceil(seconds * (double)(all - done) / (double)done));
}

static void line_show(struct running *running, const struct progress_snapshot *now, double seconds)
{
    const struct candidate *candidate = &running->job->candidates[now->algorithm];
    char line[TERMINAL_LINE_MOST], title[CANDIDATE_TITLE_MOST], size[SIZE_TEXT_MOST];
    struct text text = text_in(line, sizeof line);
    long done = (long)(now->iteration - running->line.iteration);
    text_add(&text, "running for %.0f s: %s, %s, %s, iteration %ld", seconds,
             phase_names[now->phase], candidate_title(running->job, candidate, title),
             size_format(now->bytes, size), done);
    left_add(&text, running, candidate, done, seconds);
    if (terminal_line_show(line))
        running->outcome->runs_shown = true;
}

void running_show(struct running *running, const struct progress_snapshot *now)
{
    const struct progress_snapshot *line = &running->line;
    double clock = clock_seconds();
    if (!running->on_terminal)
        return;
    pthread_mutex_lock(&running->lock);
    if (now->bytes != line->bytes || now->algorithm != line->algorithm || running->since == 0) {
        running->line = *now;
        running->since = clock;
        running->due = clock + BRIEF_SECONDS;
    }
    bool measures = now->phase >= PHASE_WARMUP && now->phase <= PHASE_GATHER;
    if (running->job && output_queue_bytes(running->table) == 0 && measures &&
        clock >= running->due && now->algorithm >= 0 &&
        now->algorithm < running->job->candidate_count) {
        line_show(running, now, clock - running->since);
        running->due = clock + SHOW_SECONDS;
    }
    pthread_mutex_unlock(&running->lock);
}

void running_hide(struct running *running)
{
    pthread_mutex_lock(&running->lock);
    if (running->outcome->runs_shown && terminal_line_hide())
        running->outcome->runs_shown = false;
    running->due = clock_seconds() + BRIEF_SECONDS;
    pthread_mutex_unlock(&running->lock);
}
