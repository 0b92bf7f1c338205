/*
 * job_text.c - a job as text, for finding out whether all ranks were asked for the same.
 */
#include "run/job.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void text_add_injections(struct text *text, const struct job *job)
{
    static const char *const names[] = {
        [INJECT_CORRUPT] = "corrupt", [INJECT_DROP] = "drop", [INJECT_DELAY] = "delay",
        [INJECT_KILL] = "kill",       [INJECT_STOP] = "stop",
    };
    for (int i = 0; i < job->injection_count; i++) {
        const struct injection *injection = &job->injections[i];
        text_add(text, " --inject %s:rank=%d:iteration=%ld:us=%ld", names[injection->kind],
                 injection->rank, injection->iteration, injection->microseconds);
    }
}

void job_canonical(const struct job *job, char *to, size_t size)
{
    struct text text = text_in(to, size);
    to[0] = '\0';
    text_add(&text, "%s -a ", job->collective->name);
    for (int i = 0; i < job->candidate_count; i++)
        text_add(&text, "%s%s", i ? "," : "", job->candidates[i].text);
    text_add(&text, " -x ");
    for (int i = 0; job->transports[i]; i++)
        text_add(&text, "%s%s", i ? "," : "", job->transports[i]->name);
    text_add(&text, " -m %s -b %zu -e %zu", job->memory->name, job->smallest, job->largest);
    text_add(&text, job->increment ? " -i %zu" : " -f %zu",
             job->increment ? job->increment : job->factor);
    text_add(&text, " -d %s", job->datatype->name);
    if (job->reduction)
        text_add(&text, " -o %s", job->reduction->name);
    if (job->collective->counted && job->counts.numbers) /* nodes may have it at other paths */
        text_add(&text, " --counts FILE (numbers %016llx)",
                 (unsigned long long)counts_fingerprint(&job->counts));
    else if (job->collective->counted)
        text_add(&text, " --counts %s", job->counts_text);
    if (job->shape_groups)
        text_add(&text, " --shape %dx%d", job->shape_groups, job->shape_ranks);
    text_add(&text, " -r %d -n %ld -w %ld -c %ld", job->root, job->iterations, job->warmup,
             job->checked);
    text_add(&text, "%s --copy %s", job->in_place ? " --in-place" : "", copy_names[job->copy]);
    if (job->chunk != GRAIN_AUTO)
        text_add(&text, " --chunk %zu", job->chunk);
    if (job->slots)
        text_add(&text, " --slots %d", job->slots);
    if (job->slot_bytes)
        text_add(&text, " --slot-size %zu", job->slot_bytes);
    text_add(&text, " --channels %d --bind %s --start %s --seed %llu --timeout %g --min-busbw %g",
             job->channels, job->bind == BIND_CORE ? "core" : "none",
             job->start == START_BARRIER ? "barrier" : "back-to-back",
             (unsigned long long)job->seed, job->bootstrap.timeout, job->min_busbw);
    text_add(&text, "%s", job->profile ? " --profile" : "");
    text_add_injections(&text, job);
}
