/*
 * postmortem.c - after a job has failed: what devices counted in the line that has not ended.
 */
#include "run/session/internal.h"

#include <stdlib.h>

#define READING_SECONDS    0.25 /* for the counters: the driver of a failed device may hang */
#define POSTMORTEM_SECONDS 0.3  /* that rank 0 waits for the others */

/* Waits for the ranks that use devices. */
static void postmortem_gather(struct control *control, struct device_sums *sums,
                              struct postmortem *postmortem)
{
    const struct device_table *table = sums->table;
    struct blobs blobs = {0};
    bool *from = calloc((size_t)postmortem->ranks, sizeof *from);
    for (int i = 0; from && i < table->use_count; i++)
        from[table->uses[i].rank] = true;
    if (from)
        control_gather_postmortems(control, from, POSTMORTEM_SECONDS, &blobs);
    for (int r = 1; r < blobs.count; r++) {
        struct reader reader = {.at = blobs.data[r], .left = blobs.size[r]};
        if (reader.left > 0 &&
            (!device_changes_decode(&postmortem->changes[r], &reader) || reader.left > 0))
            device_changes_free(&postmortem->changes[r]);
    }
    blobs_free(&blobs);
    free(from);
}

void postmortem_make(struct control *control, struct device_watch *watch, int classes,
                     struct device_sums *sums, struct postmortem *postmortem)
{
    struct device_changes own = {0};
    struct bytes share = {0};
    bool watches = device_watch_has_devices(watch);
    device_watch_take_last(watch, READING_SECONDS, &own);
    if (control_rank(control) > 0) {
        device_changes_encode(&own, classes, &share);
        if (watches)
            control_send_postmortem(control, &share);
        bytes_free(&share);
        device_changes_free(&own);
        return;
    }
    int ranks = control_ranks(control);
    bool used = sums->table && sums->table->use_count > 0;
    *postmortem = (struct postmortem){
        .ranks = ranks, .changes = calloc((size_t)ranks, sizeof *postmortem->changes)};
    if (!postmortem->changes || !used) {
        device_changes_free(&own);
        return;
    }
    postmortem->changes[0] = own;
    postmortem_gather(control, sums, postmortem);
    for (int r = 0; r < ranks; r++)
        device_sums_add(sums, r, &postmortem->changes[r], &postmortem->readings);
}

void postmortem_free(struct postmortem *postmortem)
{
    for (int r = 0; postmortem->changes && r < postmortem->ranks; r++)
        device_changes_free(&postmortem->changes[r]);
    free(postmortem->changes);
    device_readings_free(&postmortem->readings);
    *postmortem = (struct postmortem){0};
}
