/*
 * test_fit.c - a model that is known is found again from the times that it predicts: those of a
 * rank alone, of a link by each path, of rails, of combining, and of cores that ranks share.
 * Benchmarks are read from the JSON of jobs, and predictions of them are what formulas say.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "predict/fit/internal.h"
#include "tests/unit/textbook.h"

#define LINES_MOST 64
#define BESIDE     (-1) /* as a window: another core does the same beside the rank */

static struct model *known(void)
{
    static struct model model;
    static const double at[] = {16 << 10, 512 << 10, 4 << 20, 64 << 20};
    const struct transport *tcp = transport_find("tcp");
    model = (struct model){.cores = 2, .start = 0.3, .core_switch = 2.5, .copy_overhead = 0.1};
    model.copy = (struct curve){1, {{1, 5e-5}}};
    model.bus = (struct curve){1, {{1, 4e-5}}}; /* two cores: 8e-5 */
    model.combines[model.combine_count++] =
        (struct combine_cost){.datatype = "float", .reduction = "sum", .byte = {1, {{1, 2e-4}}}};
    struct link_model *link = &model.links[model.link_count++];
    *link = (struct link_model){.transport = "tcp", .distance = DISTANCE_CACHE};
    for (int i = 0; i < tcp->path_range_count; i++) {
        const struct path_range *range = &tcp->path_ranges[i];
        struct path_cost *row = &link->paths[link->path_count++];
        *row = (struct path_cost){.path = range->path,
                                  .least = range->least,
                                  .movement = range->movement,
                                  .combines_apart = range->combines_apart,
                                  .latency = 4 + i,
                                  .send_overhead = 3,
                                  .receive_overhead = 2,
                                  .sharing = 1.8 + i};
        for (int k = 0; k < 4; k++) {
            row->send_byte.points[row->send_byte.count++] =
                (struct curve_point){at[k], 1e-4 * (1 + 0.2 * k)};
            row->receive_byte.points[row->receive_byte.count++] =
                (struct curve_point){at[k], 0.7e-4 * (1 + 0.3 * k)};
        }
    }
    return &model;
}

/* A job whose lines take as long as the model says: sizes from `bytes` on, 8 times as large
 * each. */
static void measure(struct fit_measurement *measurement, const struct model *model,
                    enum collective_id collective, const char *name, int ranks, int window,
                    size_t bytes, int sizes)
{
    static struct transport_choice tcp[2];
    tcp[0].transport = transport_find("tcp");
    if (!measurement->benchmarks)
        measurement->benchmarks = calloc(LINES_MOST, sizeof *measurement->benchmarks);
    assert_non_null(measurement->benchmarks);
    for (int i = 0; i < sizes; i++, bytes *= 8) {
        struct benchmark *it = &measurement->benchmarks[measurement->count++];
        const struct collective *does = collective_of(collective);
        double first;
        *it = (struct benchmark){
            .algorithm = algorithm_find(collective, name),
            .collective = does,
            .datatype = datatype_find("float"),
            .reduction = does->reduces ? reduction_find("sum") : NULL,
            .transports = measurement->transports[0].transport ? measurement->transports : tcp,
            .distance = measurement->distance,
            .copy = measurement->copy,
            .window = window == BESIDE ? 0 : window,
            .beside = window == BESIDE,
            .ranks = ranks,
            .count = bytes / 4,
            .bytes = bytes};
        assert_non_null(it->algorithm);
        assert_int_equal(STATUS_OK, benchmark_predict(it, model, &it->time, &first));
        if (strcmp(name, "uni") == 0)
            it->first = first;
    }
}

static void link_measure(struct fit_measurement *measurement, const struct model *model,
                         enum path path, enum copy_policy copy)
{
    *measurement = (struct fit_measurement){.subject = SUBJECT_LINK, .path = path, .copy = copy};
    measurement->transports[0].transport = transport_find("tcp");
    measure(measurement, model, COLLECTIVE_SENDRECV, "pingpong", 2, 0, 8, 8);
    measure(measurement, model, COLLECTIVE_SENDRECV, "bidir", 2, 1, 8, 8);
    measure(measurement, model, COLLECTIVE_SENDRECV, "uni", 2, 4, 64, 7);
    measure(measurement, model, COLLECTIVE_SENDRECV, "bidir", 2, 4, 64, 7);
}

static void sharing_measure(struct fit_measurement *measurement, const struct model *model,
                            enum path path, enum copy_policy copy)
{
    *measurement = (struct fit_measurement){.subject = SUBJECT_SHARING, .path = path, .copy = copy};
    measurement->transports[0].transport = transport_find("tcp");
    measure(measurement, model, COLLECTIVE_ALLGATHER, "ring", 4, 0, 4096, 3);
    measure(measurement, model, COLLECTIVE_ALLTOALL, "pairwise", 4, 0, 4096, 3);
}

static void link_has_the_latencies_of_all_jobs(void **state)
{
    (void)state;
    const struct core_latency latencies[] = {{0, 0}, {40, 45}, {170, 200}, {16, 17}, {0, 0}};
    const struct model *known_model = known();
    struct model *found = calloc(1, sizeof *found);
    struct core_latency all = {0};
    assert_non_null(found);
    for (int i = 0; i < 5; i++)
        core_latency_add(&all, latencies[i].least, latencies[i].most);
    assert_true(all.least == 16 && all.most == 200);

    static struct fit_measurement of[2];
    struct fit_measurements both = {.items = of, .count = 2, .cores = 2};
    link_measure(&of[0], known_model, PATH_BCOPY, COPY_BCOPY);
    link_measure(&of[1], known_model, PATH_ZCOPY, COPY_ZCOPY);
    of[0].core = (struct core_latency){170, 200};
    of[1].core = (struct core_latency){40, 45};
    assert_int_equal(STATUS_OK, model_fit(&both, found));
    assert_true(found->links[0].core.least == 40 && found->links[0].core.most == 200);
    assert_ptr_equal(&found->links[0], model_link_moved(found));
    found->links[0].core.least = 100; /* not more than CORES_MOVED_FACTOR times */
    assert_null(model_link_moved(found));
    found->links[0].core.least = 99;
    assert_ptr_equal(&found->links[0], model_link_moved(found));
    found->links[0].core.least = 150;
    assert_null(model_link_moved(found));
    for (int m = 0; m < 2; m++)
        free(of[m].benchmarks);
    free(found);
}

static double error_sum(const struct fit_measurement *measurement, const struct model *model)
{
    double sum = 0, error;
    for (int i = 0; i < measurement->count; i++) {
        assert_int_equal(STATUS_OK, benchmark_error(&measurement->benchmarks[i], model, &error));
        sum += error;
    }
    return sum;
}

static void a_known_model_is_found(void **state)
{
    (void)state;
    const struct model *model = known();
    static struct fit_measurement of[8];
    struct fit_measurements all = {.items = of, .count = 8, .cores = 2};
    of[0] = (struct fit_measurement){.subject = SUBJECT_ALONE};
    measure(&of[0], model, COLLECTIVE_ALLGATHER, "ring", 1, 0, 64, 7);
    of[1] = (struct fit_measurement){.subject = SUBJECT_BUS};
    measure(&of[1], model, COLLECTIVE_ALLGATHER, "ring", 1, BESIDE, 64, 7);
    link_measure(&of[2], model, PATH_BCOPY, COPY_BCOPY);
    link_measure(&of[3], model, PATH_ZCOPY, COPY_ZCOPY);
    of[4] = (struct fit_measurement){.subject = SUBJECT_COMBINE};
    measure(&of[4], model, COLLECTIVE_REDUCE, "linear", 2, 0, 4096, 5);
    of[5] = (struct fit_measurement){.subject = SUBJECT_CROWD};
    measure(&of[5], model, COLLECTIVE_ALLGATHER, "ring", 4, 0, 64, 2);
    measure(&of[5], model, COLLECTIVE_BROADCAST, "linear", 4, 0, 64, 2);
    sharing_measure(&of[6], model, PATH_BCOPY, COPY_BCOPY);
    sharing_measure(&of[7], model, PATH_ZCOPY, COPY_ZCOPY);
    struct model *found = calloc(1, sizeof *found);
    assert_non_null(found);
    assert_int_equal(STATUS_OK, model_fit(&all, found));
    for (int m = 0; m < all.count; m++) {
        double sum = error_sum(&of[m], found);
        print_message("measurement %d: mean error %.1f%%\n", m, 100 * sum / of[m].count);
        assert_true(sum / of[m].count < 0.05);
        free(of[m].benchmarks);
    }
    assert_true(fabs(found->core_switch / model->core_switch - 1) < 0.2);
    for (int i = 1; i < found->bus.count - 1; i++)
        assert_true(fabs(found->bus.points[i].value / 4e-5 - 1) < 0.1);
    for (int i = 0; i < 2; i++)
        assert_true(fabs(found->links[0].paths[i].sharing / (1.8 + i) - 1) < 0.2);
    free(found);
}

/* Two cores without a common cache: ranks of one core are linked within it, those of two beside
 * it. Each link of the transport within a host has a cost of shared cores. */
static void links_of_a_host_share_cores_each(void **state)
{
    (void)state;
    static const double costs[] = {1.8, 2.6};
    static struct model model;
    struct fit_measurement of = {.count = 0};
    struct fit_measurements all = {
        .items = &of, .count = 1, .cores = 2, .pairs = {.caches = 2, .cache_cores = 1}};
    struct model *found = calloc(1, sizeof *found);
    assert_non_null(found);
    model = *known();
    model.caches = 2;
    model.cache_cores = 1;
    model.links[1] = model.links[0];
    model.links[1].distance = DISTANCE_NODE;
    model.link_count = 2;
    *found = model;
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < model.links[l].path_count; i++) {
            model.links[l].paths[i].sharing = costs[l];
            found->links[l].paths[i].sharing = 9;
        }
    sharing_measure(&of, &model, PATH_BCOPY, COPY_BCOPY);
    assert_int_equal(STATUS_OK, model_fit(&all, found));
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < found->links[l].path_count; i++) {
            double sharing = found->links[l].paths[i].sharing;
            if (found->links[l].paths[i].path == PATH_BCOPY)
                assert_true(fabs(sharing / costs[l] - 1) < 0.2);
            else
                assert_true(sharing == 9);
        }
    free(of.benchmarks);
    free(found);
}

/* No cost that is 2% larger or smaller says better what was measured, even where no model says all
 * of it: each second time is a tenth longer. */
static void no_step_is_better(void **state)
{
    (void)state;
    const struct model *model = known();
    static struct fit_measurement of[2];
    struct fit_measurements all = {.items = of, .count = 2, .cores = 2};
    struct model *found = calloc(1, sizeof *found);
    assert_non_null(found);
    of[0] = (struct fit_measurement){.subject = SUBJECT_ALONE};
    measure(&of[0], model, COLLECTIVE_ALLGATHER, "ring", 1, 0, 64, 7);
    link_measure(&of[1], model, PATH_BCOPY, COPY_BCOPY);
    for (int m = 0; m < 2; m++)
        for (int i = 0; i < of[m].count; i += 2)
            of[m].benchmarks[i].time *= 1.1;
    assert_int_equal(STATUS_OK, model_fit(&all, found));
    struct path_cost *row = &found->links[0].paths[0];
    double *const alone[] = {&found->start, &found->copy_overhead, &found->copy.points[0].value,
                             &found->copy.points[1].value, &found->copy.points[2].value},
                  *const link[] = {&row->latency, &row->send_overhead, &row->receive_overhead,
                                   &row->receive_byte.points[0].value};
    for (int m = 0; m < 2; m++) {
        double least = error_sum(&of[m], found);
        for (int i = 0; i < (m ? 4 : 5); i++)
            for (int way = -1; way <= 1; way += 2) {
                double *cost = m ? link[i] : alone[i], before = *cost;
                *cost *= pow(2, way / 32.0);
                assert_true(error_sum(&of[m], found) > least - 1e-6);
                *cost = before;
            }
        assert_true(least / of[m].count < 0.07);
        free(of[m].benchmarks);
    }
    free(found);
}

/* Bytes of the second rail take three times as long on the wire. What cores do is as within a
 * host. */
static void rails_are_told_apart(void **state)
{
    (void)state;
    static const char *const ports[] = {NULL, "a", "b"};
    static const double wires[] = {0, 4e-3, 12e-3};
    static struct fit_measurement of[3];
    struct fit_measurements all = {.items = of, .count = 3, .cores = 2};
    struct model *model = known();
    struct path_cost *row = &model->links[0].paths[0];
    strcpy(model->links[0].transport, "verbs");
    model->links[0].path_count = 1;
    *row = (struct path_cost){.path = PATH_BCOPY,
                              .movement = MOVEMENT_PUSH,
                              .latency = 2,
                              .send_overhead = 1,
                              .receive_overhead = 1,
                              .send_byte = {1, {{1, 1e-4}}},
                              .receive_byte = {1, {{1, 1e-4}}}};
    for (int i = 0; i < 3; i++) {
        struct fit_measurement *it = &of[i];
        *it = (struct fit_measurement){.subject = SUBJECT_LINK,
                                       .path = PATH_BCOPY,
                                       .copy = COPY_BCOPY,
                                       .distance = i > 0 ? DISTANCE_NETWORK : DISTANCE_CACHE};
        it->transports[0].transport = transport_find("verbs");
        if (i > 0) {
            struct link_model *link = &model->links[model->link_count++];
            *link = model->links[0];
            link->distance = DISTANCE_NETWORK;
            link->port = PORT_NODE;
            link->paths[0].latency = 5;
            link->paths[0].wire = wires[i];
            nic_port_take(&it->transports[0], ports[i], it->rail);
            strcpy(link->rail, it->rail);
        }
    }
    for (int i = 0; i < 3; i++) {
        measure(&of[i], model, COLLECTIVE_SENDRECV, "pingpong", 2, 0, 8, 7);
        measure(&of[i], model, COLLECTIVE_SENDRECV, "bidir", 2, 1, 8, 7);
    }
    struct model *found = calloc(1, sizeof *found);
    assert_non_null(found);
    assert_int_equal(STATUS_OK, model_fit(&all, found));
    assert_int_equal(found->link_count, 3);
    assert_string_equal(found->links[0].rail, "");
    assert_string_equal(found->links[1].rail, "a:1");
    assert_string_equal(found->links[2].rail, "b:1");
    for (int i = 0; i < 3; i++) {
        const struct path_cost *cost = &found->links[i].paths[0];
        assert_true(i == 0 ? cost->wire == 0 : fabs(cost->wire / wires[i] - 1) < 0.1);
        free(of[i].benchmarks);
    }
    free(found);
}

static void no_link_is_told(void **state)
{
    (void)state;
    static struct fit_measurement of[2];
    struct fit_measurements all = {.items = of, .count = 2, .cores = 2};
    struct log log;
    struct failure failure;
    of[1] = (struct fit_measurement){.subject = SUBJECT_LINK, .why = "no route"};
    struct model *found = calloc(1, sizeof *found);
    assert_non_null(found);
    log_init(&log, -1, 0);
    log_attach(&log);
    assert_int_equal(STATUS_UNAVAILABLE, model_fit(&all, found));
    assert_true(log_failure(&log, &failure) && strstr(failure.text, "no route"));
    log_attach(NULL);
    free(found);
}

/* ---- benchmarks ---- */

/* A job has run, with these lines. */
static void job_read(struct fit_measurement *measurement, json_t *lines)
{
    static const struct job job = {.transports_text = "tcp"};
    json_t *document = json_pack("{s:o}", "results", lines);
    struct fleet_outcome outcome = {.result = json_dumps(document, 0)};
    assert_non_null(outcome.result);
    measurement->transports[0] = tcp()[0];
    assert_int_equal(STATUS_OK, measurement_read(&job, &outcome, measurement));
    free(outcome.result);
    json_decref(document);
}

/* The least of the least times of all links is kept, and the most of the most. */
static void core_latencies_of_a_job(void **state)
{
    (void)state;
    static const struct job job = {.transports_text = "tcp"};
    struct fit_measurement measurement = {.count = 0};
    char document[] = "{\"results\":[],\"links\":[{\"one_way_ns\":{\"least\":40,\"most\":45}},"
                      "{\"one_way_ns\":{\"least\":30,\"most\":60}},{\"one_way_ns\":null}]}";
    struct fleet_outcome outcome = {.result = document};
    measurement_read(&job, &outcome, &measurement);
    assert_true(measurement.core.least == 30 && measurement.core.most == 60);
}

static json_t *line_of(const char *collective, const char *algorithm, int window, int ranks,
                       int count, double time)
{
    return json_pack("{s:s, s:s, s:{s:i}, s:s, s:i, s:i, s:i, s:{s:f}, s:[{s:f}, {s:f}]}",
                     "collective", collective, "algorithm", algorithm, "algorithm_options",
                     "window", window, "datatype", "float", "ranks", ranks, "count", count, "bytes",
                     4 * count, "time_us", "p50", time, "samples", "p50_us", time / 2, "p50_us",
                     time);
}

static void says(const struct benchmark *benchmark, const struct model *model, double expected)
{
    double time, first;
    assert_int_equal(STATUS_OK, benchmark_predict(benchmark, model, &time, &first));
    if (fabs(time / expected - 1) > 1e-9)
        print_error("%zu bytes: %.9g us, not %.9g\n", benchmark->bytes, time, expected);
    assert_true(fabs(time / expected - 1) <= 1e-9);
}

/* A message of n bytes takes a + n b. A pingpong has two of them in turn, and its time is that of
 * one. The messages of both directions travel at once. */
static void messages_go_one_way(void **state)
{
    (void)state;
    static const char *const names[] = {"pingpong", "uni", "bidir"};
    const struct model *model = textbook(PORT_RANK);
    for (int a = 0; a < 3; a++) {
        struct fit_measurement of = {.subject = SUBJECT_LINK};
        job_read(&of, json_pack("[o, o]", line_of("sendrecv", names[a], a > 0, 2, 7, 40),
                                line_of("sendrecv", names[a], a > 0, 2, COUNT, 60)));
        assert_int_equal(of.count, 2);
        for (int i = 0; i < 2; i++) {
            const struct benchmark *it = &of.benchmarks[i];
            assert_int_equal(it->ranks, 2);
            assert_int_equal(it->beside, 0);
            assert_int_equal(it->window, a > 0);
            assert_true(it->time == 40 + 20 * i);
            assert_true(it->first == (a == 1 ? it->time / 2 : 0));
            says(it, model, ALPHA + (i ? 4 * COUNT : 28) * BETA);
        }
        free(of.benchmarks);
    }
}

/* Two ranks whose cores share no cache use the link of such cores, which is twice as late here. */
static void far_ranks_share_no_cache(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_RANK);
    model->caches = 2;
    model->cache_cores = 4;
    model->links[1] = model->links[0];
    model->links[1].distance = DISTANCE_NODE;
    model->links[1].paths[0].latency = 2 * ALPHA;
    model->link_count = 2;
    for (int far = 0; far < 2; far++) {
        struct fit_measurement of = {.subject = SUBJECT_LINK,
                                     .distance = far ? DISTANCE_NODE : DISTANCE_CACHE};
        job_read(&of, json_pack("[o]", line_of("sendrecv", "pingpong", 0, 2, 7, 40)));
        assert_int_equal(of.count, 1);
        of.benchmarks[0].distance = of.distance;
        says(&of.benchmarks[0], model, (1 + far) * ALPHA + 28 * BETA);
        free(of.benchmarks);
    }
}

/* A rank alone copies at the speed of its core. Ranks on all cores share the bus of the memory, and
 * a rank's part of it may be slower. */
static void cores_share_the_memory_bus(void **state)
{
    (void)state;
    const double copy = 5e-5, bus = 2e-5;
    struct model model = {.cores = 16, .copy = {1, {{1, copy}}}, .bus = {1, {{1, bus}}}};
    for (int cores = 1; cores <= 7; cores++) {
        struct fit_measurement of = {.subject = SUBJECT_BUS};
        job_read(&of, json_pack("[o]", line_of("allgather", "ring", 0, cores, COUNT, 40)));
        assert_int_equal(of.count, 1);
        assert_int_equal(of.benchmarks[0].ranks, 1);
        assert_int_equal(of.benchmarks[0].beside, cores - 1);
        says(&of.benchmarks[0], &model, 4 * COUNT * fmax(copy, cores * bus));
        free(of.benchmarks);
    }
}

/* The jobs with the most lines count. A line without a time is none. */
static void jobs_are_passes(void **state)
{
    (void)state;
    struct fit_measurement of = {.subject = SUBJECT_LINK};
    job_read(&of, json_pack("[o]", line_of("sendrecv", "uni", 4, 2, 8, 10)));
    job_read(&of, json_pack("[o, o]", line_of("sendrecv", "uni", 4, 2, 8, 12),
                            line_of("sendrecv", "uni", 4, 2, 64, 14)));
    job_read(&of, json_pack("[o, o]", line_of("sendrecv", "uni", 4, 2, 8, 16),
                            line_of("sendrecv", "uni", 4, 2, 64, 0)));
    job_read(&of, json_pack("[o, o]", line_of("sendrecv", "uni", 4, 2, 8, 18),
                            line_of("sendrecv", "uni", 4, 2, 64, 20)));
    assert_int_equal(of.count, 2);
    assert_int_equal(of.passes, 2);
    for (int i = 0; i < 2; i++) {
        const struct benchmark *it = &of.benchmarks[i];
        assert_int_equal(it->window, 4);
        assert_true(it->times[0] == 12 + 2 * i && it->times[1] == 18 + 2 * i);
        assert_true(it->firsts[0] == 6 + i && it->firsts[1] == 9 + i);
    }
    free(of.benchmarks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_has_the_latencies_of_all_jobs),
        cmocka_unit_test(a_known_model_is_found),
        cmocka_unit_test(links_of_a_host_share_cores_each),
        cmocka_unit_test(no_step_is_better),
        cmocka_unit_test(rails_are_told_apart),
        cmocka_unit_test(no_link_is_told),
        cmocka_unit_test(messages_go_one_way),
        cmocka_unit_test(far_ranks_share_no_cache),
        cmocka_unit_test(cores_share_the_memory_bus),
        cmocka_unit_test(jobs_are_passes),
        cmocka_unit_test(core_latencies_of_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
