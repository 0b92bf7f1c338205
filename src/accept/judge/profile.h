/*
 * profile.h - what hosts are expected to have, as lines of text:
 *
 *     # our nodes
 *     nic.count = 8
 *     nic.rate >= 400 Gb/s
 *     memory.bytes >= 1.9T
 *     os = Debian GNU/Linux 12 (bookworm)
 *
 * The reader of a line knows no keys, so that other keys of a profile can be read with it, too.
 */
#ifndef CCTEST_ACCEPT_JUDGE_PROFILE_H
#define CCTEST_ACCEPT_JUDGE_PROFILE_H

#include <stdbool.h>

#include "base/status.h"
#include "host/facts/inventory.h"

enum profile_operator {
    PROFILE_EQUAL,
    PROFILE_NOT_EQUAL,
    PROFILE_LEAST,
    PROFILE_MOST,
    PROFILE_OPERATORS
};
extern const char *const profile_operator_names[PROFILE_OPERATORS]; /* "=", "!=", ">=", "<=" */

struct profile_line {
    const char *file; /* for sentences; it must stay */
    int number;       /* from 1 */
    char key[64];     /* "": the line is empty, or a comment */
    enum profile_operator operator;
    char value[VALUE_TEXT_MOST]; /* "400 Gb/s" */
};

/* `text`: without its newline. STATUS_USAGE: it has no key, operator or value, after fail(). */
enum status profile_line_read(const char *text, const char *file, int number,
                              struct profile_line *line);

/* The number of a line's value, in `unit`: sizes as base/size.h reads them; a unit may be left out
 * where the sentence below names none. STATUS_USAGE, after fail(): "nodes.profile:3: nic.rate is
 * given in Gb/s, not as '400 MB'". VALUE_TEXT has no number. */
enum status profile_number(const struct profile_line *line, enum value_unit unit, double *number);

struct expected_fact {
    struct profile_line line;
    const struct fact_rule *rule;
    double number; /* unless the rule's unit is VALUE_TEXT */
};

/* STATUS_USAGE, after fail(): unknown key, wrong unit, or an operator that texts do not have. */
enum status expected_fact_read(const struct profile_line *line, struct expected_fact *expectation);

bool expected_fact_is_met(const struct expected_fact *expectation,
                          const struct inventory_fact *fact);

#endif
