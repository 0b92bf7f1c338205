/*
 * staging_area.h - the memory of a rank's rings (dataplane/execute/stage.h), where links may not reach the
 * memory of its buffers.
 */
#ifndef CCTEST_RUN_STAGING_AREA_H
#define CCTEST_RUN_STAGING_AREA_H

#include "dataplane/execute/stage.h"

struct staging_area {
    const struct memory_kind *kind; /* of the buffers; NULL: there is no area */
    struct region region;           /* host memory, which the kind's engine reaches */
    struct staging *staging;
    bool is_pinned;
};

size_t staging_area_bytes(int channels); /* of host memory, for the rings of so many channels */
size_t staging_area_most(int channels);  /* the most, for the rings of so many or fewer */

/* Allocates rings for so many channels; 0: none. `memory`: of the buffers; it outlives the area. */
enum status staging_area_open(const struct memory *memory, int channels, const struct tick *tick,
                              struct staging_area *area);
/* Leaves the memory as it is, since others may still use it, until the process ends. */
void staging_area_forget(struct staging_area *area);
void staging_area_close(struct staging_area *area); /* all zero is allowed */

#endif
