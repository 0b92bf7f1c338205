/*
 * schedules.c - files with schedules: cctest's JSON and MSCCL's XML. What is proven of a file is
 * right at every size, too.
 *
 * Input: JSON or XML, whether buffers share memory, the elements of a block; then the text.
 */
#include <stdio.h>

#include "base/log.h"
#include "fuzz.h"
#include "collective/formats/formats.h"
#include "collective/formats/internal.h"
#include "collective/prove/prove.h"

#define RANKS_MOST 8
#define PARTS_MOST 512  /* of all buffers, for the time of an input */
#define MOVED_MOST 4096 /* by all operations */

/* Is it small enough to be proven here? */
static bool is_small(const struct file_plan *plan)
{
    size_t parts = 0, moved = 0;
    if (plan->problem.ranks > RANKS_MOST || plan->lanes > 64)
        return false;
    for (int r = 0; r < plan->problem.ranks; r++) {
        parts += collective_extent(&plan->problem, r, BUFFER_SOURCE) + plan->ranks[r].scratch +
                 collective_extent(&plan->problem, r, BUFFER_DESTINATION);
        for (size_t i = 0; i < plan->ranks[r].count; i++)
            moved += plan->ranks[r].operations[i].length;
    }
    return parts <= PARTS_MOST && moved <= MOVED_MOST;
}

/* The schedules for a problem, where the file serves it. */
static void require_right(struct file_plan *plan, bool in_place, size_t count)
{
    struct schedule *schedules[RANKS_MOST] = {NULL};
    struct problem problem = plan->problem;
    struct verification verification;
    struct choice choice = file_plan_choice(plan);
    char why[FILE_WHY_MOST];
    bool built = true;
    problem.in_place = in_place;
    if (!plan->counts && problem.collective->sized)
        problem.count = count;
    if (file_plan_refuses(plan, &problem, 1, why)) {
        return;
    }
    for (int r = 0; r < problem.ranks && built; r++)
        built = schedule_build(&choice, &problem, r, 1, true, &schedules[r]) == STATUS_OK;
    require(built || plan->counts);
    if (built) {
        verify((const struct schedule *const *)schedules, problem.ranks, !problem.collective->sized,
               &verification);
        require(verification.right);
        verification_free(&verification);
    }
    for (int r = 0; r < problem.ranks; r++)
        schedule_free(schedules[r]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    struct reader input = {.at = data, .left = size};
    bool is_xml = input_u8(&input) & 1, in_place = input_u8(&input) & 1;
    size_t count = input_u8(&input), left = input.left, plan_count;
    char *text = malloc(left + 1);
    struct arena *arena = arena_create();
    struct file_plan *plans;
    if (!text || !arena)
        abort();
    memcpy(text, input.at, left);
    text[left] = '\0';
    enum status status =
        is_xml ? msccl_plan_read("input", text, strlen(text), arena, &plans, &plan_count)
               : json_plans_read("input", text, arena, &plans, &plan_count);
    for (size_t i = 0; status == STATUS_OK && i < plan_count; i++)
        if (is_small(&plans[i]) && file_plan_prove(&plans[i], in_place) == STATUS_OK)
            require_right(&plans[i], in_place, count);
    require(status == STATUS_OK || log.failure.text[0]);
    for (size_t i = 0; i < plan_count; i++)
        file_plan_free(&plans[i]);
    arena_free(arena);
    free(text);
    log_attach(NULL);
    return 0;
}

static void seed(const char *name, const char *head, const char *text)
{
    char bytes[2048];
    int size = snprintf(bytes, sizeof bytes, "%.3s%s", head, text);
    fuzz_seed(name, bytes, (size_t)size);
}

#define AT(buffer, offset) "[{\"buffer\":\"" buffer "\",\"offset\":" offset ",\"run\":1}]"
#define SEND(peer)         "{\"kind\":\"send\",\"peer\":" peer ",\"from\":" AT("source", "0") "}"

void fuzz_seeds(void)
{
    seed("json", "024",
         "{\"plans\":[{\"collective\":\"allreduce\",\"ranks\":2,\"count\":1,\"schedules\":["
         "{\"operations\":[" SEND("1") ",{\"kind\":\"recv_reduce\",\"peer\":1,\"to\":" AT(
             "destination",
             "0") ",\"with\":" AT("source",
                                  "0") "}]},"
                                       "{\"operations\":[" SEND(
                                           "0") ",{\"kind\":\"recv_reduce\",\"peer\":0,"
                                                "\"to\":" AT("destination", "0") ",\"with\":" AT(
                                                    "source", "0") "}]"
                                                                   "}]"
                                                                   "}]"
                                                                   "}");
    seed("epochs", "024",
         "{\"plans\":[{\"collective\":\"broadcast\",\"root\":1,\"ranks\":2,\"count\":2,"
         "\"schedules\":["
         "{\"extents\":{\"scratch\":1},\"epochs\":[-1,0],\"operations\":[{\"kind\":\"recv\","
         "\"peer\":1,"
         "\"to\":[{\"buffer\":\"destination\",\"offset\":0,\"run\":1,\"stride\":1,\"times\":2}]},"
         "{\"kind\":\"copy\",\"epoch\":1,\"step\":1,\"to\":" AT("scratch", "0") ",\"from\":" AT(
             "destination",
             "0") "}]},{\"operations\":[{\"kind\":\"send\",\"peer\":0,\"lane\":0,\"from\":"
                  "[{\"buffer\":\"source\",\"offset\":0,\"run\":2}]},{\"kind\":\"copy\",\"to\":[{"
                  "\"buffer\":"
                  "\"destination\",\"offset\":0,\"run\":2}],\"from\":[{\"buffer\":\"source\","
                  "\"offset\":0,"
                  "\"run\":2}]}]}]}]}");
    seed("counts", "001",
         "{\"plans\":[{\"collective\":\"alltoallv\",\"ranks\":1,\"count\":1,\"counts\":[[1]],"
         "\"schedules\":[{\"operations\":[{\"kind\":\"copy\",\"to\":" AT(
             "destination",
             "0") ",\"from\":" AT("source", "0") "}]}]},{\"collective\":\"sendrecv\",\"ranks\":2,"
                                                 "\"count\":1,\"partners\":"
                                                 "[1,-1],\"schedules\":[{\"operations\":[" SEND(
                                                     "1") "]},{\"operations\":[{\"kind\":\"recv\","
                                                          "\"peer\":0,\"to\":" AT("destination",
                                                                                  "0") "}]}]}]}");
    seed(
        "xml", "107",
        "<algo ngpus='2' nchunksperloop='2' coll='allreduce' inplace='0'>"
        "<gpu id='0' s_chunks='2'><tb id='0' send='1' recv='1' chan='0'>"
        "<step s='0' type='s' srcbuf='i' srcoff='0' cnt='2' depid='-1' deps='-1'/>"
        "<step s='1' type='r' dstbuf='s' dstoff='0' cnt='2' depid='-1' deps='-1'/>"
        "<step s='2' type='re' srcbuf='s' srcoff='0' dstbuf='o' dstoff='0' cnt='2' depid='1' "
        "deps='0'/>"
        "</tb><tb id='1' send='-1' recv='-1' chan='0'><step s='0' type='cpy' srcbuf='i' srcoff='0' "
        "dstbuf='o' dstoff='0' cnt='2' depid='-1' deps='-1'/></tb></gpu>"
        "<gpu id='1' s_chunks='0'><tb id='0' send='0' recv='0' chan='0'>"
        "<step s='0' type='s' srcbuf='i' srcoff='0' cnt='2' depid='-1' deps='-1'/>"
        "<step s='1' type='rrc' srcbuf='i' srcoff='0' dstbuf='o' dstoff='0' cnt='2' depid='-1' "
        "deps='-1'/>"
        "</tb></gpu></algo>");
}
