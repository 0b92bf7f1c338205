/*
 * verdict_text.c - words for a rank and its place, and the lines and errors of a verdict.
 */
#include "controlplane/verdict/internal.h"

#include "base/size.h"

static const char *phase_of(const struct standing *standing)
{
    int phase = standing->snapshot.phase;
    return phase >= 0 && phase < PHASES ? phase_names[phase] : "unknown";
}

void put_name(const struct situation *s, int rank, struct text *text)
{
    text_add(text, "rank %d (host %s, pid %ld)", rank, s->members[rank].host, s->members[rank].pid);
}

void put_place(const struct situation *s, int rank, struct text *text)
{
    const struct progress_snapshot *r = &s->standings[rank].snapshot;
    text_add(text, "phase %s", phase_of(&s->standings[rank]));
    if (r->phase != PHASE_WARMUP && r->phase != PHASE_CHECK && r->phase != PHASE_TIME)
        return;
    if (r->algorithm >= 0 && r->algorithm < s->algorithm_count && s->algorithms[r->algorithm])
        text_add(text, ", %s", s->algorithms[r->algorithm]);
    char bytes[SIZE_TEXT_MOST];
    text_add(text, ", %s, %siteration %lld", size_format(r->bytes, bytes),
             r->stage == ITERATION_STARTING ? "start barrier of " : "", (long long)r->iteration);
}

struct text verdict_add_line(struct verdict *verdict)
{
    return text_in(verdict->lines[verdict->line_count++], sizeof verdict->lines[0]);
}

void verdict_add_error(const struct situation *s, struct verdict *verdict, int rank,
                       const char *message)
{
    if (verdict->error_count <= VERDICT_LINES_MOST)
        verdict->errors[verdict->error_count++] =
            job_error_make(rank, s->members[rank].host, phase_of(&s->standings[rank]), message);
}
