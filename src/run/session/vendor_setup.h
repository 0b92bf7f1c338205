/*
 * vendor_setup.h - joins the ranks by a vendor's library, if the job runs one.
 */
#ifndef CCTEST_RUN_SESSION_VENDOR_SETUP_H
#define CCTEST_RUN_SESSION_VENDOR_SETUP_H

#include "run/session/session_internal.h"

/* When the links are connected. All ranks call it together. */
enum status session_open_vendor(struct session *session);

/* Aborts what the library still runs. */
void session_close_vendor(struct session *session);

#endif
