/*
 * reading.h - what one measurement of a pair of hosts brought. All that screening says follows from
 * a list of these.
 */
#ifndef CCTEST_ACCEPT_JUDGE_READING_H
#define CCTEST_ACCEPT_JUDGE_READING_H

enum metric {
    METRIC_LATENCY, /* us, of a short message; the same in both directions */
    METRIC_ALONE,   /* GB/s from one host to the other, which sends nothing meanwhile */
    METRIC_BOTH,    /* GB/s from one to the other, which sends as fast as it can meanwhile */
    METRICS,
};

/* In order of gravity. */
enum reading_outcome {
    READING_VALUE,
    READING_ERROR, /* the job failed, and its hosts are there */
    READING_LATE,  /* it did not end in its time */
    READING_LOST,  /* a worker died, or was not heard of any more */
    READING_WRONG, /* it ended, with wrong data */
};

/* A host's part in a transfer. */
enum direction {
    DIRECTION_SEND,
    DIRECTION_RECEIVE,
    DIRECTIONS,
    DIRECTION_ANY = DIRECTIONS, /* both */
};

/* Hosts and rails are numbers from 0. A job that fails has one reading, that of the metric which
 * failed. */
struct reading {
    int from, to, rail;
    enum metric metric;
    enum reading_outcome outcome;
    double value; /* above 0; of READING_VALUE only */
};

#endif
