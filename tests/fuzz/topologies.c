/*
 * topologies.c - topologies and places of ranks as users write them: specifications, Slurm's and
 * NCCL's files, files of places. What hwloc reads is its own; it is left out.
 *
 * Input: the kind of text, then the text.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "fuzz.h"
#include "predict/topology/topology.h"

#define PAIRS     16
#define ENDS_MOST 100000 /* of a topology whose ranks are placed */
#define FAR_MOST  100000 /* links of a way that is looked at */

enum { SPECIFICATION, FILES, PLACES, KINDS };

/* Each way has links that there are, and not more than it may have. */
static void require_way(const struct topology *t, int from, int to)
{
    uint32_t links[64];
    if (topology_route_most(t) > FAR_MOST)
        return;
    size_t count = topology_route(t, from, to, links, 64);
    require(count <= topology_route_most(t));
    require(count > 0 || topology_host(t, from) == topology_host(t, to));
    for (size_t l = 0; l < count && l < 64; l++) {
        struct topology_link link;
        require(links[l] < topology_links(t));
        topology_link_get(t, links[l], &link);
        require(link.capacity > 0 && link.latency_us >= 0 && link.name[0]);
    }
}

static void require_topology(const struct topology *t)
{
    int ends = topology_ends(t);
    char name[LINK_NAME_MOST];
    require(ends > 0 && topology_hosts(t) > 0 && topology_hosts(t) <= ends);
    require(topology_host(t, ends - 1) == topology_hosts(t) - 1);
    require(topology_words(t)[0]);
    for (int p = 0; p < PAIRS; p++) {
        int from = (int)((uint64_t)p * 7919 % (uint64_t)ends);
        int to = (int)((uint64_t)(ends - 1) - (uint64_t)p * 104729 % (uint64_t)ends);
        require_way(t, from, to);
        topology_end_name(t, to, name);
        require(name[0]);
    }
}

static void require_places(const struct topology *t, const char *place, int ranks)
{
    int ends = topology_ends(t), *end_of_rank = calloc((size_t)ranks, sizeof *end_of_rank);
    unsigned char *taken = calloc((size_t)ends, 1);
    if (!end_of_rank || !taken)
        abort();
    if (placement_make(t, place, ranks, end_of_rank) == STATUS_OK)
        for (int r = 0; r < ranks; r++) {
            require(end_of_rank[r] >= 0 && end_of_rank[r] < ends);
            require(!taken[end_of_rank[r]]++);
        }
    else
        require(log_current()->failure.text[0]);
    free(end_of_rank);
    free(taken);
}

static void try_topology(const char *spec, const char *place)
{
    struct topology *t;
    if (topology_parse(spec, &t) != STATUS_OK) {
        require(!t && log_current()->failure.text[0]);
        return;
    }
    require_topology(t);
    if (topology_ends(t) <= ENDS_MOST) {
        require_places(t, place, 1 + topology_ends(t) / 2);
        require_places(t, "cyclic", topology_ends(t));
        require_places(t, "random:1", topology_ends(t));
    }
    topology_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader input = {.at = data, .left = size};
    unsigned kind = input_u8(&input) % KINDS;
    char path[64], *text = calloc(input.left + 1, 1);
    struct log log;
    int fd = memfd_create("topology", MFD_CLOEXEC);
    if (!text || fd < 0 || write(fd, input.at, input.left) != (ssize_t)input.left)
        abort();
    memcpy(text, input.at, input.left);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    log_init(&log, -1, 0);
    log_attach(&log);
    if (kind == SPECIFICATION && access(text, F_OK) != 0)
        try_topology(text, "block");
    else if (kind == FILES && !strstr(text, "<topology"))
        try_topology(path, "block");
    else if (kind == PLACES)
        try_topology("leaf-spine:radix=4:ranks=2", path);
    log_attach(NULL);
    close(fd);
    free(text);
    return 0;
}

static void seed(const char *name, int kind, const char *text)
{
    char bytes[1024];
    int size = snprintf(bytes, sizeof bytes, "%c%s", kind, text);
    fuzz_seed(name, bytes, (size_t)size);
}

void fuzz_seeds(void)
{
    seed("fat-tree", SPECIFICATION, "fat-tree:radix=8:oversubscription=3:hosts=61:latency=0.5");
    seed("k", SPECIFICATION, "fat-tree:k=4:routing=dmodk");
    seed("leaf-spine", SPECIFICATION, "leaf-spine:radix=6:hosts=7:ranks=3:rate=1e1");
    seed("rail", SPECIFICATION, "rail:hosts=5:rails=2:ranks=4:pod=2:cross=spine:inside=9");
    seed("torus", SPECIFICATION, "torus:3x4x5:ranks=2");
    seed("mesh", SPECIFICATION, "mesh:4x3x2");
    seed("ring", SPECIFICATION, "ring:7");
    seed("dragonfly", SPECIFICATION, "dragonfly:a=3:h=1:p=2:groups=3:global=2:routing=valiant");
    seed("slurm", FILES,
         "SwitchName=s1 Nodes=n[1-3] LinkSpeed=100\nSwitchName=s2 Nodes=m1,m2\n"
         "SwitchName=p1 Switches=s[1-2] LinkSpeed=50\nSwitchName=p2 Switches=s[1-2]\n");
    seed("plain", FILES, "s1: n[1-4]\n");
    seed("nccl", FILES,
         "<system version='1'><cpu numaid='0' arch='x86_64' vendor='AuthenticAMD'>"
         "<pci busid='1' link_speed='16 GT/s' link_width='16'><pci busid='2'>"
         "<gpu dev='0' sm='80'><nvlink target='3' count='4'/></gpu></pci><pci busid='3'>"
         "<gpu dev='1' sm='90'><nvlink target='2' count='4'/>"
         "<nvlink target='9' count='1' tclass='0x068000'/></gpu></pci></pci></cpu>"
         "<cpu numaid='1'/></system>");
    seed("places", PLACES, "# a comment\n3\nhost 2\nhost 2\n0\n15\n");
}
