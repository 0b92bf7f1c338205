/*
 * share.c - does a kind of memory export its regions as dmabufs, and right ones? Of several
 * lengths, so that regions begin and end anywhere in a page.
 *
 * usage: share [KIND]; KIND: cuda. Prints "no dmabuf: REASON" where there is none, which is no
 * failure. Status 77: the kind cannot be used here.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "local.h"

static void fault(const struct region *region, const struct shared *shared, const char *what)
{
    fprintf(stderr, "a region of %zu bytes at %p, from byte %llu of its dmabuf on: %s\n",
            region->bytes, (void *)region->base, (unsigned long long)shared->offset, what);
    exit(1);
}

/* A dmabuf of a GPU cannot be mapped by a CPU; that of the runtime for tests can. */
static bool contents_check(const struct region *region, const struct shared *shared, off_t size)
{
    const char *there = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, shared->fd, 0);
    if (there == MAP_FAILED)
        return false;
    const char *at = there + shared->offset;
    if (at[0] != 'a' || at[region->bytes - 1] != 'z')
        fault(region, shared, "it has other bytes");
    munmap((void *)(uintptr_t)there, (size_t)size);
    return true;
}

static void region_share(const struct memory *memory, const struct region *region)
{
    struct shared shared;
    char reason[MEMORY_REASON_MOST];
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    must(memory->kind->write(memory, "a", 1, region->base));
    if (region->bytes > 1)
        must(memory->kind->write(memory, "z", 1, region->base + region->bytes - 1));
    enum status status = memory->kind->share(region, SHARE_DMABUF, &shared, reason);
    if (status == STATUS_UNAVAILABLE) {
        printf("no dmabuf: %s\n", reason);
        exit(0);
    }
    must(status);
    const off_t size = lseek(shared.fd, 0, SEEK_END);
    if (size < 0 || (uint64_t)size < shared.offset + region->bytes)
        fault(region, &shared, "it ends before the region does");
    if (shared.offset % page != (uintptr_t)region->base % page)
        fault(region, &shared, "it begins elsewhere in a page");
    const bool seen = region->bytes > 1 && contents_check(region, &shared, size);
    must(memory->kind->flush(region));
    printf("a dmabuf of %lld bytes for %zu bytes, from byte %llu on%s\n", (long long)size,
           region->bytes, (unsigned long long)shared.offset, seen ? ", contents seen" : "");
    close(shared.fd);
}

int main(int count, char **words)
{
    static const size_t lengths[] = {1, 300, 4096, 5000, 65536, (1 << 20) + 700};
    const struct memory_kind *kind = local_kind(count > 1 ? words[1] : "cuda");
    if (!kind->share) {
        printf("no dmabuf: %s memory is not shared\n", kind->name);
        return 0;
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct local local;
        local_open(&local, kind, 0, 1, lengths[i]);
        region_share(&local.memory, &local.regions[0]);
        local_close(&local);
    }
    return 0;
}
