/*
 * words.c - texts of users and launchers: the command line, the environment, files of counts, of
 * switches, of what hosts are to reach, and of an earlier run; hosts. One transport of its own has
 * options of each kind.
 *
 * Input: the kind of text, then the text. The words of a command line end with a zero byte or a
 * line feed.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "accept/accept.h"
#include "accept/internal.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/options/options.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "controlplane/bootstrap/internal.h"
#include "fuzz.h"

#define WORDS 24

enum { COMMAND_LINE, COUNTS, HOST, SWITCHES, PROFILES, KINDS };

static const char *const ways[] = {"short", "long", NULL};
static const struct transport_option rail_options[] = {
    {.name = "nic", .values = "NAME", .kind = TRANSPORT_OPTION_TEXT, .per_rank = true},
    {.name = "depth", .values = "1..255", .kind = TRANSPORT_OPTION_NUMBER, .least = 1, .most = 255},
    {.name = "way", .values = "short|long", .kind = TRANSPORT_OPTION_WORD, .words = ways},
    {.name = NULL},
};
static const struct transport rail = {.name = "rail", .options = rail_options};
static const struct transport shm = {.name = "shm"}, tcp = {.name = "tcp"};
const struct transport *const transports[] = {&shm, &rail, &tcp, NULL};

/* Ends with a zero byte; the caller's to free. */
static char *text_of(struct reader *input)
{
    char *text = malloc(input->left + 1);
    if (!text)
        abort();
    memcpy(text, input->at, input->left);
    text[input->left] = '\0';
    return text;
}

/* Words that begin with this are variables. */
#define VARIABLE "CCTEST_"

static void require_settings(const struct transport_choice *choice)
{
    const struct transport_setting *nic = choice->settings, *depth = nic + 1, *way = nic + 2;
    bool has_options = choice->transport == &rail;
    require(!nic->given || (has_options && nic->text[0]));
    require(!depth->given || (has_options && depth->number >= 1 && depth->number <= 255));
    require(!way->given || (has_options && way->number >= 0 && way->number <= 1));
}

static void try_command_line(char *text, size_t size)
{
    char *words[WORDS + 1] = {NULL}, *variables[WORDS + 1] = {NULL}, program[] = "cctest";
    int count = 0, more = 0;
    words[count++] = program;
    for (char *at = text; at < text + size && count < WORDS && more < WORDS;) {
        size_t length = strcspn(at, "\n");
        at[length] = '\0';
        if (strncmp(at, VARIABLE, strlen(VARIABLE)) == 0)
            variables[more++] = at;
        else
            words[count++] = at;
        at += length + 1;
    }
    static struct command_line line;
    static struct request request;
    static char compared[COMPARED_TEXT_MOST];
    job_release(&request.job); /* of the last input */
    enum status status = command_line_read(count, words, variables, &line);
    if (status == STATUS_OK && line.command && !line.help)
        status = command_line_resolve(&line, &request);
    if (status == STATUS_OK && line.command && !line.help) {
        for (int i = 0; request.job.transports[i].transport; i++)
            require_settings(&request.job.transports[i]);
        struct device_choice choice;
        require(!request.job.devices || device_choice_at(request.job.devices, 7, &choice));
        if (line.command->bit == FOR_RUN)
            options_compared(&request, FOR_RUN, compared);
    }
    require(status == STATUS_OK || log_current()->failure.text[0]);
}

/* A file with this text; its name is in `path`. Close what it returns. */
static int file_of(const char *text, size_t size, char path[64])
{
    int fd = memfd_create("words", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void try_counts(const char *path)
{
    struct counts_spec spec;
    struct counts *counts;
    if (counts_read(path, &spec) == STATUS_OK) {
        require(spec.rows > 0 && spec.columns > 0);
        const size_t ranks[] = {spec.rows, spec.columns, spec.rows * spec.columns,
                                spec.rows * spec.columns + 1};
        for (unsigned i = 0; i < 8; i++) {
            enum counts_kind kind = i % 2 ? COUNTS_MATRIX : COUNTS_VECTOR;
            if (ranks[i / 2] < 500 &&
                counts_create(&spec, kind, (int)ranks[i / 2], 1, 1, &counts) == STATUS_OK) {
                counts_mean(counts);
                counts_free(counts);
            }
        }
    }
    free(spec.numbers);
}

static const char *const fleet[] = {"n1", "n2", "n3.cluster", "n4", ""};
#define HOSTS ((int)(sizeof fleet / sizeof fleet[0]))

static void require_level(const struct switch_level *level)
{
    for (int h = 0; h < HOSTS && level->count > 0; h++)
        require(level->switches[h] >= -1 && level->switches[h] < level->count);
    for (int s = 0; s < level->count; s++)
        require(level->name[s][0]);
}

static void try_switches(const char *path)
{
    struct switch_level leaves, above;
    if (switch_file_read(path, fleet, HOSTS, &leaves, &above) == STATUS_OK) {
        require(leaves.count > 0 && above.count < leaves.count);
        require_level(&leaves);
        require_level(&above);
        for (int h = 0; h < HOSTS - 1; h++)
            require(leaves.switches[h] >= 0);
    }
    switch_level_free(&leaves);
    switch_level_free(&above);
}

/* The references that hosts are compared with: a profile and an earlier run. */
static void try_references(const char *path)
{
    struct host_profile profile;
    struct baseline baseline;
    double values[HOSTS];
    if (host_profile_read(path, &profile) == STATUS_OK)
        for (int i = 0; i < MEASURED; i++)
            require(profile.asked[i] >= 0);
    host_profile_free(&profile);
    if (baseline_read(path, fleet, HOSTS, &baseline) == STATUS_OK) {
        require(baseline.common > 0 && baseline.common <= HOSTS);
        baseline_values(&baseline, "self", "copy by all cores", values, HOSTS);
    }
    baseline_free(&baseline);
}

static void try_file(int kind, const char *text, size_t size)
{
    char path[64];
    int fd = file_of(text, size, path);
    if (kind == COUNTS)
        try_counts(path);
    else if (kind == SWITCHES)
        try_switches(path);
    else
        try_references(path);
    close(fd);
}

static void try_host(const char *text)
{
    char small[8], host[256];
    int port;
    nodelist_first(text, small, sizeof small);
    if (nodelist_first(text, host, sizeof host))
        require(host[0] && strncmp(small, host, sizeof small - 1) == 0);
    rendezvous_parse(text, small, sizeof small, &port);
    if (rendezvous_parse(text, host, sizeof host, &port))
        require(host[0] && port > 0 && port < 65536);
    size_t bytes;
    size_parse(text, &bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader input = {.at = data, .left = size};
    unsigned kind = input_u8(&input) % KINDS;
    char *text = text_of(&input);
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    switch (kind) {
    case COMMAND_LINE:
        try_command_line(text, input.left);
        break;
    case HOST:
        try_host(text);
        break;
    default:
        try_file((int)kind, text, input.left);
    }
    log_attach(NULL);
    free(text);
    return 0;
}

static void seed(const char *name, int kind, const char *text)
{
    char bytes[512];
    int size = snprintf(bytes, sizeof bytes, "%c%s", kind, text);
    fuzz_seed(name, bytes, (size_t)size);
}

void fuzz_seeds(void)
{
    seed("run", COMMAND_LINE,
         "alltoall\n-a\nbruck:radix=4,pairwise\n-b\n8\n-e\n64M\n-f\n2\n-d\nint32\n-x\nshm,tcp\n");
    seed("parts", COMMAND_LINE,
         "allreduce\n--algorithm=hier:intra=mesh:inter=recexch:inter.radix=4\n--shape\n2x4\n");
    seed("groups", COMMAND_LINE, "allgather\n-a\nhier:groups=2+3\n--np\n5\n--copy\nzcopy\n");
    seed("devices", COMMAND_LINE, "gather\n-m\ncuda\n--device\n1,0,0000:3b:00.0,5E:0.1\n");
    seed("faults", COMMAND_LINE,
         "reduce\n-r\nall\n--inject\ncorrupt:rank=1:iteration=0,delay:rank=2:us=50\n-o\nmax\n");
    seed("rest", COMMAND_LINE,
         "alltoallv\n--counts\nzipf:1.2\n--chunk\nauto\n--timeout\n0.5\n--min-busbw\n1e3\n-vv\n");
    seed("transports", COMMAND_LINE, "gather\n-x\nshm,rail:nic=a:1+b:depth=7:way=long,tcp\n");
    seed("variables", COMMAND_LINE, "CCTEST_MIN_BYTES=4K\nCCTEST_COPY=zcopy\nplan\nreduce\n");
    seed("matrix", COUNTS, "# a comment\n1 2 3\n4,5 , 6\n7 8 9\n");
    seed("vector", COUNTS, "1\n0\n18446744073709551615\n");
    seed("topology", SWITCHES,
         "SwitchName=a Nodes=n[1-2]\nswitchname=b nodes=n[3-4] LinkSpeed=1\nSwitchName=s "
         "Switches=a,b\n");
    seed("list", SWITCHES, "# two\na: n1,n2 \\\n   n5\nb: n[3-4]\n");
    seed("profile", PROFILES,
         "# a comment\nnic.rate >= 400 Gb/s\nself.copy >= 20 GB/s\npairs.latency <= 3.5 us\n");
    seed("baseline", PROFILES,
         "{\"command\":\"accept\",\"hosts\":[{\"name\":\"n1\"}],\"numbers\":[{\"stage\":\"self\","
         "\"host\":0,\"metric\":\"copy by all cores\",\"value\":1}],\"pairs\":[{\"from\":0}]}");
    seed("nodelist", HOST, "node[07-09,12],other");
    seed("address", HOST, "[::1]:4711");
    seed("size", HOST, "16384P");
}
