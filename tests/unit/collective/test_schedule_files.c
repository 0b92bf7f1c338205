/*
 * test_schedule_files.c - a file of schedules that is wrong, in each of the ways that the readers
 * and the verifier know, is refused with one sentence that says where; one for buffers in place,
 * and one whose parts change places.
 * tier: check; load: cpu1
 */
#include "tests/unit/schedule_copy.h"

/* Two ranks send each other their vector of two elements. */
#define SPAN(buffer, offset, run)                                                                  \
    "[{\"buffer\":\"" buffer "\",\"offset\":" offset ",\"run\":" run "}]"
#define RANK(peer)                                                                                 \
    "{\"extents\":{\"scratch\":2},\"operations\":["                                                \
    "{\"kind\":\"send\",\"peer\":" peer ",\"from\":" SPAN(                                         \
        "source", "0",                                                                             \
        "2") "},"                                                                                  \
             "{\"kind\":\"recv\",\"peer\":" peer ",\"to\":" SPAN(                                  \
                 "scratch", "0",                                                                   \
                 "2") "},"                                                                         \
                      "{\"kind\":\"reduce\",\"to\":" SPAN(                                         \
                          "destination", "0",                                                      \
                          "2") ",\"from\":" SPAN("scratch", "0",                                   \
                                                 "2") ",\"with\":" SPAN("source", "0", "2") "}]}"
static const char exchange[] =
    "{\"plans\":[{\"collective\":\"allreduce\",\"ranks\":2,\"count\":2,\"schedules\":[" RANK(
        "1") "," RANK("0") "]}]}";

static const char exchange_xml[] =
    "<algo name='x' ngpus='2' nchunksperloop='2' coll='allreduce' inplace='0'>\n"
    "<gpu id='0' s_chunks='2'><tb id='0' send='1' recv='1' chan='0'>\n"
    "<step s='0' type='s' srcbuf='i' srcoff='0' cnt='2' depid='-1' deps='-1'/>\n"
    "<step s='1' type='rrc' srcbuf='i' srcoff='0' dstbuf='o' dstoff='0' cnt='2' depid='-1' "
    "deps='-1'/>\n"
    "</tb></gpu>\n<gpu id='1' s_chunks='0'><tb id='0' send='0' recv='0' chan='0'>\n"
    "<step s='0' type='s' srcbuf='i' srcoff='0' cnt='2' depid='-1' deps='-1'/>\n"
    "<step s='1' type='rrc' srcbuf='i' srcoff='0' dstbuf='o' dstoff='0' cnt='2' depid='-1' "
    "deps='-1'/>\n"
    "</tb></gpu></algo>";

/* A text in which the first `from` is `to`; NULL: nothing changes. */
struct edit {
    const char *from, *to, *says;
};

static void expect_edit(reader *read, const char *text, const struct edit *edit)
{
    char *edited = malloc(strlen(text) + 400);
    const char *at = strstr(text, edit->from);
    assert_non_null(edited);
    if (!at)
        fail_msg("the text has no %s", edit->from);
    sprintf(edited, "%.*s%s%s", (int)(at - text), text, edit->to, at + strlen(edit->from));
    struct copy copy = copy_read(read, edited, -1);
    if (copy.status != STATUS_USAGE || strcmp(test_log.failure.text, edit->says) != 0)
        fail_msg("'%s' for '%s': status %d: %s\nnot: %s", edit->to, edit->from, copy.status,
                 test_log.failure.text, edit->says);
    copy_free(&copy);
    free(edited);
}

#define REMEDY ": correct it, or write the file again with `cctest plan --json`"

static const struct edit json_edits[] = {
    {"]}]}]}", "", "x:1: this is no JSON: ']' expected near end of file"},
    {"plans", "plan", "x has no schedules: give what `cctest plan --json` writes, or MSCCL's XML"},
    {"allreduce", "allreduced", "x: plans[0].collective is none that cctest knows" REMEDY},
    {"\"ranks\":2", "\"ranks\":3", "x: plans[0].schedules has 2 of 3 ranks, as with --rank" REMEDY},
    {"\"ranks\":2", "\"ranks\":\"2\"",
     "x: plans[0].ranks is no whole number from 1 to 2048" REMEDY},
    {"\"count\":2", "\"count\":0", "x: plans[0].count is no whole number from 1 to 4194304" REMEDY},
    {"\"count\":2", "\"counts\":2", "x: plans[0].count is missing" REMEDY},
    {"\"scratch\":2", "\"source\":3,\"scratch\":2",
     "x: plans[0].schedules[0].extents.source is 3 elements, where the contract has 2" REMEDY},
    {"\"scratch\":2", "\"scratch\":0.5",
     "x: plans[0].schedules[0].extents.scratch is no whole number from 0 to 4194304" REMEDY},
    {"{\"extents\"", "{\"rank\":1,\"extents\"",
     "x: plans[0].schedules[0].rank is 1 in the place of rank 0: write all ranks" REMEDY},
    {"operations", "operation", "x: plans[0].schedules[0].operations is missing" REMEDY},
    {"\"kind\":\"recv\"", "\"kind\":\"take\"",
     "x: plans[0].schedules[0].operations[1].kind is none of copy, reduce, send, recv, "
     "recv_reduce, finish" REMEDY},
    {"\"peer\":1", "\"peer\":0",
     "x: plans[0].schedules[0].operations[0].peer is the rank itself" REMEDY},
    {"\"peer\":1", "\"peer\":2",
     "x: plans[0].schedules[0].operations[0].peer is no whole number from 0 to 1" REMEDY},
    {"\"kind\":\"send\"", "\"index\":1,\"kind\":\"send\"",
     "x: plans[0].schedules[0].operations[0].index is not its place among the operations, "
     "0" REMEDY},
    {"\"kind\":\"send\"", "\"length\":3,\"kind\":\"send\"",
     "x: plans[0].schedules[0].operations[0].length is not the 2 elements of its messages" REMEDY},
    {"\"kind\":\"recv\"", "\"epoch\":1,\"kind\":\"recv\"",
     "x: plans[0].schedules[0].operations[2].epoch is 0, which is over, or the one before it has "
     "not begun" REMEDY},
    {"\"kind\":\"send\"", "\"step\":1,\"kind\":\"send\"",
     "x: plans[0].schedules[0].operations[1].step is 0, after a step 1" REMEDY},
    {"\"operations\"", "\"epochs\":[0],\"operations\"",
     "x: plans[0].schedules[0].epochs lets epoch 0 follow 0, which is not before it" REMEDY},
    {"\"operations\":[{", "\"epochs\":[-1,0,0],\"operations\":[{\"epoch\":2,",
     "x: plans[0].schedules[0].epochs has two epochs that follow epoch 0" REMEDY},
    {"\"operations\"", "\"epochs\":[],\"operations\"",
     "x: plans[0].schedules[0].epochs does not name the one before each of its 1 epochs" REMEDY},
    {"\"from\"", "\"to\":[],\"from\"",
     "x: plans[0].schedules[0].operations[0].to is there, and operations of this kind have "
     "none" REMEDY},
    {"\"with\"", "\"without\"", "x: plans[0].schedules[0].operations[2].with is missing" REMEDY},
    {"\"buffer\":\"source\"", "\"buffer\":\"input\"",
     "x: plans[0].schedules[0].operations[0].from[0].buffer is none of source, destination, "
     "scratch" REMEDY},
    {"\"offset\":0,\"run\":2", "\"offset\":1,\"run\":2",
     "x: plans[0].schedules[0].operations[0].from[0] touches source element 2, which is outside: "
     "there are 2" REMEDY},
    {"\"run\":2", "\"run\":1,\"times\":2,\"stride\":0",
     "x: plans[0].schedules[0].operations[0].from[0].stride is no whole number from 1 to "
     "4194304" REMEDY},
    {"\"run\":2", "\"run\":1,\"times\":2,\"stride\":2",
     "x: plans[0].schedules[0].operations[0].from[0] touches source element 2, which is outside: "
     "there are 2" REMEDY},
    {"\"run\":2", "\"run\":4194304,\"times\":4194304",
     "x: plans[0].schedules[0].operations[0].from[0] touches source element 17592186044415, which "
     "is outside: there are 2" REMEDY},
    {"\"scratch\",\"offset\":0,\"run\":2}],\"with\"",
     "\"scratch\",\"offset\":0,\"run\":1}],\"with\"",
     "x: plans[0].schedules[0].operations[2] has messages of different lengths, or of more than "
     "16777216 elements" REMEDY},
    /* Errors that the verifier knows. */
    {"\"run\":2", "\"run\":1",
     "x is no right allreduce: rank 0's operation 0 (send to rank 1) and rank 1's operation 1 "
     "(recv "
     "from rank 0) disagree about the message's length: 1 and 2"},
    {"\"kind\":\"send\",\"peer\":1,\"from\"",
     "\"kind\":\"copy\",\"to\":[{\"buffer\":\"scratch\","
     "\"offset\":0,\"run\":2}],\"from\"",
     "x is no right allreduce: rank 1's operation 1 (recv from rank 0) meets no send: such "
     "messages "
     "are 0 on the sending and 1 on the receiving side"},
    {"\"kind\":\"send\"", "\"lane\":1,\"kind\":\"send\"",
     "x is no right allreduce: rank 1's operation 1 (recv from rank 0, lane 0) meets no send: such "
     "messages are 0 on the sending and 1 on the receiving side"},
    {"\"buffer\":\"source\"", "\"buffer\":\"destination\"",
     "x is no right allreduce: rank 0's operation 0 (send to rank 1) reads destination element 0, "
     "which was never written"},
    {"\"to\":[{\"buffer\":\"destination\"", "\"to\":[{\"buffer\":\"scratch\"",
     "x is no right allreduce: rank 0's destination element 0 was never written"},
    {"\"to\":[{\"buffer\":\"destination\"", "\"to\":[{\"buffer\":\"source\"",
     "x is no right allreduce: rank 0's operation 2 (reduce) writes source element 0, but only the "
     "destination is for results"},
    {"\"with\":[{\"buffer\":\"source\"", "\"with\":[{\"buffer\":\"scratch\"",
     "x is no right allreduce: rank 0's destination element 0: the contribution of rank 1 is in it "
     "2 times (rank 1's source element 0)"},
    {"\"offset\":0,\"run\":2",
     "\"offset\":1,\"run\":1},{\"buffer\":\"source\",\"offset\":0,\"run\":1",
     "x is no right allreduce: rank 1's destination element 0 holds rank 0's source element 1, of "
     "the "
     "wrong element: the contract wants rank 0's source element 0"},
    {"\"to\":[{\"buffer\":\"destination\",\"offset\":0,\"run\":2}]",
     "\"to\":[{\"buffer\":\"destination\",\"offset\":0,\"run\":1},{\"buffer\":\"destination\","
     "\"offset\":0,\"run\":1}]",
     "x is no right allreduce: operation 2 of rank 0 writes an element twice"},
};

static const struct edit xml_edits[] = {
    {"</tb></gpu></algo>", "", "x:9: this is no XML: no element found"},
    {"<algo name='x'", "<algo name='x' name='y'", "x:1: this is no XML: duplicate attribute"},
    {"coll='allreduce'", "coll='custom'",
     "x:1: coll of <algo> is 'custom', which has no contract here: it is one of allreduce, "
     "allgather, reduce_scatter, alltoall, broadcast and reduce"},
    {"ngpus='2'", "ngpus='3'", "x:1: <algo> has 2 <gpu>, and 3 ranks need one each"},
    {"ngpus='2'", "", "x:1: <algo> has no ngpus"},
    {"ngpus='2' nchunksperloop='2' coll='allreduce'",
     "ngpus='2' nchunksperloop='3' coll='alltoall'",
     "x:1: nchunksperloop of <algo> is 3, which 2 ranks do not divide"},
    {"<gpu id='0'", "<gpu id='1'", "x:2: id of <gpu> is 1, where 0 follows"},
    {"<tb id='0'", "<td id='0'", "x:5: this is no XML: mismatched tag"},
    {"send='1'", "send='0'", "x:2: the peer of <tb> is its own GPU"},
    {"send='1'", "send='-1'", "x:3: the step sends, but its <tb> has no peer to send to"},
    {"recv='1'", "recv='2'", "x:2: recv of <tb> is '2', not a whole number from -1 to 1"},
    {"<step s='1'", "<step s='2'", "x:4: s of <step> is 2, where 1 follows"},
    {"type='s'", "type='ra'",
     "x:3: type of <step> is none of s, r, rcs, rrc, rrs, rrcs, cpy, re and nop"},
    {"srcbuf='i'", "srcbuf='x'", "x:3: srcbuf of <step> is none of i, o and s"},
    {"srcoff='0'", "srcoff='1'", "x:3: the step touches chunk 2 of source, which has 2"},
    {"cnt='2'", "cnt='0'", "x:3: cnt of <step> is '0', not a whole number from 1 to 4194304"},
    {"depid='-1' deps='-1'", "depid='1' deps='0'",
     "x:3: depid of <step> is '1', not a whole number from -1 to 0"},
    {"depid='-1' deps='-1'", "depid='0' deps='1'",
     "x:3: the step waits for itself, by the steps before it and those that they wait for"},
    {"</tb></gpu>", "</tb><tb id='1' send='1' recv='-1' chan='0'/></gpu>",
     "x:5: <tb> 0 has the same peer and the same channel, so the order of their messages is open"},
    {"<step s='0'", "<stop s='0'", "x:3: <stop> stands in <tb>, where <step> belongs"},
    {"srcoff='0' dstbuf='o' dstoff='0' cnt='2'", "srcoff='1' dstbuf='o' dstoff='0' cnt='1'",
     "x is no right allreduce: rank 1's operation 0 (send to rank 0, line 7) and rank 0's "
     "operation "
     "1 (recv_reduce from rank 1, line 4) disagree about the message's length: 2 and 1"},
    {"dstbuf='o'", "dstbuf='s'",
     "x is no right allreduce: rank 0's destination element 0 was never written"},
};

static void test_refusals(void **state)
{
    (void)state;
    struct copy copy = copy_read(json_read, exchange, -1);
    expect_copy(&copy);
    copy_free(&copy);
    copy = copy_read(msccl_plan_read, exchange_xml, -1);
    expect_copy(&copy);
    copy_free(&copy);
    for (size_t i = 0; i < sizeof json_edits / sizeof json_edits[0]; i++)
        expect_edit(json_read, exchange, &json_edits[i]);
    for (size_t i = 0; i < sizeof xml_edits / sizeof xml_edits[0]; i++)
        expect_edit(msccl_plan_read, exchange_xml, &xml_edits[i]);
}

/* In place the input of MSCCL is the output, too. */
#define GPU(id, peer)                                                                              \
    "<gpu id='" id "' s_chunks='2'><tb id='0' send='" peer "' recv='" peer "' chan='0'>\n"         \
    "<step s='0' type='s' srcbuf='i' srcoff='0' cnt='2' depid='-1' deps='-1'/>\n"                  \
    "<step s='1' type='r' dstbuf='s' dstoff='0' cnt='2' depid='-1' deps='-1'/>\n"                  \
    "<step s='2' type='re' srcbuf='s' srcoff='0' dstbuf='i' dstoff='0' cnt='2' depid='-1' "        \
    "deps='-1'/>\n</tb></gpu>\n"
static const char in_place_xml[] = "<algo ngpus='2' nchunksperloop='2' coll='allreduce' "
                                   "inplace='1'>" GPU("0", "1") GPU("1", "0") "</algo>";

static void test_in_place(void **state)
{
    (void)state;
    struct copy copy = copy_read(json_read, exchange, 1); /* it serves both */
    expect_copy(&copy);
    copy_free(&copy);
    copy = copy_read(msccl_plan_read, in_place_xml, 1);
    expect_copy(&copy);
    copy_free(&copy);
    copy = copy_read(msccl_plan_read, in_place_xml, 0);
    assert_int_equal(copy.status, STATUS_USAGE);
    assert_string_equal(test_log.failure.text,
                        "x is no right allreduce: rank 0's operation 0 (send to rank 1, line 2) "
                        "reads destination element 0, which was never written (it is written for "
                        "buffers in place: give --in-place)");
    copy_free(&copy);
}

/* A rank copies its chunk and sends the copy, which the send waits for by its dependency. */
#define SENDER(id, peer, dependency)                                                               \
    "<gpu id='" id "' s_chunks='0'><tb id='0' send='-1' recv='-1' chan='0'>\n"                     \
    "<step s='0' type='cpy' srcbuf='i' srcoff='0' dstbuf='o' dstoff='" id "' cnt='1' depid='-1' "  \
    "deps='-1'/></tb>\n<tb id='1' send='" peer "' recv='" peer "' chan='0'>\n"                     \
    "<step s='0' type='s' srcbuf='o' srcoff='" id "' cnt='1' " dependency "/>\n"                   \
    "<step s='1' type='r' dstbuf='o' dstoff='" peer                                                \
    "' cnt='1' depid='-1' deps='-1'/></tb></gpu>\n"
#define SENDERS(dependency)                                                                        \
    "<algo ngpus='2' nchunksperloop='2' coll='allgather' inplace='0'>" SENDER(                     \
        "0", "1", dependency) SENDER("1", "0", dependency) "</algo>"

static void test_open_order(void **state)
{
    (void)state;
    struct copy copy = copy_read(msccl_plan_read, SENDERS("depid='0' deps='0'"), 0);
    expect_copy(&copy);
    assert_null(copy.plans[0].note);
    copy_free(&copy);
    copy = copy_read(msccl_plan_read, SENDERS("depid='-1' deps='-1'"), 0);
    expect_copy(&copy);
    assert_string_equal(
        copy.plans[0].note,
        "nothing orders the steps of lines 2 and 4, which touch chunk 0 of rank 0's "
        "destination: MSCCL may run them in either order, and here the first comes first");
    copy_free(&copy);
}

/* A file that keeps a part where another one belongs serves only blocks that the parts divide. */
static void test_uneven(void **state)
{
    (void)state;
    char *edited = strdup(exchange), why[FILE_WHY_MOST];
    assert_non_null(edited);
    char *text = malloc(strlen(edited) + 2000);
    const char *at = strstr(edited, "{\"kind\":\"reduce\"");
    assert_non_null(text);
    sprintf(text, "%.*s%s,%s", (int)(at - edited), edited,
            "{\"kind\":\"copy\",\"to\":[{\"buffer\":\"destination\",\"offset\":1,\"run\":1},"
            "{\"buffer\":\"destination\",\"offset\":0,\"run\":1}],\"from\":[{\"buffer\":\"source\","
            "\"offset\":0,\"run\":2}]}",
            at);
    struct copy copy = copy_read(json_read, text, -1);
    expect_copy(&copy);
    struct problem problem = copy.plans[0].problem;
    problem.count = 6;
    assert_null(file_plan_refuses(&copy.plans[0], &problem, 1, why));
    expect_right(&copy.plans[0], &problem, 1);
    problem.count = 7;
    assert_string_equal(
        file_plan_refuses(&copy.plans[0], &problem, 1, why),
        "rank 0's operation 2 moves an element to another place in its block, so the file "
        "serves blocks of a multiple of 2 elements on one channel; this block has 7 elements, on 1 "
        "channel");
    copy_free(&copy);
    free(text);
    free(edited);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_open_order),
        cmocka_unit_test(test_uneven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
