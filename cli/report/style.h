/*
 * style.h - the look of a page.
 */
#ifndef CCTEST_CLI_REPORT_STYLE_H
#define CCTEST_CLI_REPORT_STYLE_H

/* The style sheet. */
extern const char page_style[];

#define SERIES_STYLES 6 /* colours of curves: the classes s0 ... */
#define RAMP_LEVELS   7 /* colours of a heat map: the classes h0 ... */

#endif
