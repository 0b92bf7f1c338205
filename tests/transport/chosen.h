/*
 * chosen.h - TEST_TRANSPORT="verbs:poll=cq" restricts the tests of transports to this one, with
 * these options.
 */
#ifndef CCTEST_TEST_CHOSEN_H
#define CCTEST_TEST_CHOSEN_H

#include <stdlib.h>

#include "base/log.h"
#include "cli/options/options.h"
#include "run/run.h"
#include "dataplane/transport/transport.h"

/* NULL: all transports, without options. Ends the process if it cannot be read, or used here. The
 * first call is the main thread's. */
static inline const struct transport_choice *transport_chosen(void)
{
    static struct request request;
    static const struct option_row row = {.name = "transport"};
    const char *text = getenv("TEST_TRANSPORT");
    if (!text)
        return NULL;
    if (!request.job.transports_text) {
        struct argument argument = {.option = &row, .text = text};
        struct log log = {0};
        log_attach(&log);
        if (kind_transport.parse(&argument, &request) != STATUS_OK) {
            fprintf(stderr, "TEST_TRANSPORT: %s\n", log.failure.text);
            exit(1);
        }
        log_attach(NULL);
    }
    return &request.job.transports[0];
}

#endif
