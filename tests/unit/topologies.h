/*
 * topologies.h - base of the tests of topologies: made from a specification or a file, checked way
 * by way, or refused.
 */
#ifndef CCTEST_TESTS_TOPOLOGIES_H
#define CCTEST_TESTS_TOPOLOGIES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "predict/topology/topology.h"

static inline struct topology *topology_of(const char *spec)
{
    struct topology *topology;
    if (topology_parse(spec, &topology) != STATUS_OK)
        print_error("%s: %s\n", spec, log_current()->failure.text);
    assert_non_null(topology);
    return topology;
}

/* Writes a file, whose path is the caller's to unlink. */
#define PATH_FORM "/tmp/cctest-topology-XXXXXX"
static inline void file_write(char *path, const char *content)
{
    strcpy(path, PATH_FORM);
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
    close(fd);
}

/* ---- ways ---- */

/* GPUs i * sharing and the next ones of a host have NIC i; a rank sits at its host. */
static inline void vertex_name(const char *begin, size_t length, int sharing,
                               char name[LINK_NAME_MOST])
{
    snprintf(name, LINK_NAME_MOST, "%.*s", (int)length, begin);
    char *gpu = strstr(name, " GPU ");
    if (gpu)
        sprintf(gpu, " NIC %d", atoi(gpu + 5) / sharing);
    if (strstr(name, " rank "))
        *strstr(name, " rank ") = '\0';
}

static inline void way_check(const struct topology *t, int sharing, int from, int to)
{
    uint32_t links[256], again[256];
    char at[LINK_NAME_MOST], end[LINK_NAME_MOST], name[LINK_NAME_MOST];
    size_t count = topology_route(t, from, to, links, 256);
    assert_true(count <= topology_route_most(t));
    assert_int_equal(topology_route(t, from, to, again, 256), count);
    assert_memory_equal(links, again, count * sizeof *links);
    topology_end_name(t, from, name);
    vertex_name(name, strlen(name), sharing, at);
    topology_end_name(t, to, name);
    vertex_name(name, strlen(name), sharing, end);
    if (count == 0)
        assert_int_equal(topology_host(t, from), topology_host(t, to));
    for (size_t l = 0; l < count; l++) {
        struct topology_link link;
        assert_true(links[l] < topology_links(t));
        topology_link_get(t, links[l], &link);
        assert_true(link.capacity > 0 && link.capacity == topology_capacity(t, links[l]));
        const char *arrow = strstr(link.name, " -> ");
        assert_non_null(arrow);
        vertex_name(link.name, (size_t)(arrow - link.name), sharing, name);
        assert_string_equal(name, at);
        vertex_name(arrow + 4, strlen(arrow + 4), sharing, at);
    }
    if (count > 0)
        assert_string_equal(at, end);
}

static inline void refused(const char *spec, const char *place, int ranks, const char *why)
{
    struct log log;
    struct topology *t = NULL;
    int ends[64];
    log_init(&log, -1, 0);
    log_attach(&log);
    enum status status = topology_parse(spec, &t);
    if (status == STATUS_OK && ranks > 0)
        status = placement_make(t, place, ranks, ends);
    log_attach(NULL);
    if (status != STATUS_USAGE)
        print_error("%s: %d\n", spec, (int)status);
    assert_int_equal(status, STATUS_USAGE);
    if (!strstr(log.failure.text, why))
        print_error("%s\nlacks: %s\n", log.failure.text, why);
    assert_non_null(strstr(log.failure.text, why));
    topology_free(t);
}

#endif
