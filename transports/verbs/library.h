/*
 * library.h - libibverbs and librdmacm, loaded at run time, so that one binary starts on nodes with
 * and without RDMA.
 *
 * The transport calls the libraries by their own names (ibv_create_qp()). library.c defines these
 * functions, hidden from other libraries, and each forwards its call. They may be called after
 * the load of their library has succeeded. A test puts another object in the place of library.o.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_LIBRARY_H
#define CCTEST_TRANSPORTS_VERBS_LIBRARY_H

/* Loads libibverbs, and never unloads it. NULL, or why it cannot be loaded (static): the packages
 * to install, too. May be called again, and by several threads. */
const char *verbs_library_load(void);

/* Likewise librdmacm, which connect=rdmacm needs. */
const char *verbs_library_load_cm(void);

#endif
