/*
 * fields.h - the keys of schedules in JSON (json_plan.c).
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_FIELDS_H
#define CCTEST_COLLECTIVE_FORMATS_FIELDS_H

#include "base/io/io.h"

extern const struct json_field planned_fields[];   /* of struct planned; "schedules" are empty */
extern const struct json_field schedule_fields[];  /* of struct schedule, one of these, */
extern const struct json_field extents_fields[];   /* and its extents; */
extern const struct json_field sent_fields[];      /* of struct sent, */
extern const struct json_field operation_fields[]; /* struct operation; context: its schedule, */
extern const struct json_field span_fields[];      /* struct span, */
extern const struct json_field wait_fields[];      /* and struct wait */

#endif
