/*
 * peer.c - another rank of this node: whether shared memory reaches it, whether its memory can be
 * read in place, and whether it is alive.
 */
#include "transports/shm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"

_Static_assert(sizeof(struct shm_address) <= TRANSPORT_ADDRESS_MOST, "the address is too long");
_Static_assert(sizeof(struct shm_connect_slot) == SHM_CACHE_LINE, "a connect slot is a cache line");
_Static_assert(sizeof(struct shm_header) == SHM_CACHE_LINE,
               "connect slots are aligned to cache lines");

void shm_address_fill(struct shm_endpoint *endpoint)
{
    const struct transport_config *config = &endpoint->base.config;
    struct shm_address *address = &endpoint->address;
    memset(address, 0, sizeof(*address)); /* with its padding, which is sent, too */
    host_identify(&address->host);
    struct stat namespace;
    address->namespace = stat("/proc/self/ns/pid", &namespace) ? 0 : namespace.st_ino;
    address->cookie = *endpoint->cookie;
    address->private_cookie = (uintptr_t)endpoint->cookie;
    address->header_bytes = endpoint->segment->header_bytes;
    address->pid = getpid();
    address->fd = endpoint->segment->fd;
    endpoint->late = -1;
    for (int i = 0; i < config->region_count && address->region_count < SHM_REGIONS_MOST; i++) {
        const struct region *region = &config->regions[i];
        if (region->bytes == 0)
            continue;
        int index = address->region_count++;
        if (!region->base) {
            endpoint->late = index;
            endpoint->late_region = region;
        }
        address->regions[index].base = (uintptr_t)region->base;
        address->regions[index].bytes = region->bytes;
        address->regions[index].fd = region->fd;
    }
}

/* NULL if this process can read the private memory of the peer, else why not. */
static const char *shm_peer_probe(const struct shm_address *address)
{
    uint64_t cookie = 0;
    struct iovec local = {.iov_base = &cookie, .iov_len = sizeof(cookie)};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address->private_cookie,
                           .iov_len = sizeof(cookie)};
    if (process_vm_readv(address->pid, &local, 1, &remote, 1, 0) < 0)
        return strerror(errno);
    return cookie == address->cookie ? NULL : "another process answers";
}

/* Maps the header of the peer's segment, and checks by its cookie that it is the right one. */
static const char *shm_peer_open(struct shm_endpoint *endpoint, const struct shm_address *address,
                                 struct shm_peer *peer)
{
    peer->fd = host_open_memory(address->pid, address->fd, O_RDWR, address->header_bytes);
    if (peer->fd < 0 && errno == ESTALE)
        return "it has closed its shared memory";
    if (peer->fd < 0) {
        int error = errno;
        snprintf(endpoint->reason, sizeof(endpoint->reason),
                 "its shared memory cannot be opened (/proc/%d/fd/%d: %s)", address->pid,
                 address->fd, strerror(error));
        endpoint->base.exhausted |= error == EMFILE || error == ENFILE;
        return endpoint->reason;
    }
    void *header =
        mmap(NULL, address->header_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, peer->fd, 0);
    if (header == MAP_FAILED) {
        snprintf(endpoint->reason, sizeof(endpoint->reason),
                 "its shared memory cannot be mapped: %s", strerror(errno));
        return endpoint->reason;
    }
    peer->header = header;
    peer->header_bytes = address->header_bytes;
    if (peer->header->cookie != address->cookie)
        return "another file is in the place of its shared memory";
    return NULL;
}

/* A rank of this process: uses the owner's mapping. */
static const char *shm_peer_share(const struct shm_address *address, struct shm_peer *peer)
{
    peer->we_read = true;
    peer->segment = shm_segment_share(address->cookie);
    if (!peer->segment)
        return "it has closed its shared memory";
    peer->header = peer->segment->header;
    return NULL;
}

static const char *shm_peer_compare(struct shm_endpoint *endpoint,
                                    const struct shm_address *address)
{
    const struct shm_address *own = &endpoint->address;
    if (!host_id_is_valid(&address->host) || address->region_count < 0 ||
        address->region_count > SHM_REGIONS_MOST)
        return "its address is invalid";
    const char *difference =
        host_difference(&own->host, &address->host, endpoint->reason, sizeof(endpoint->reason));
    if (difference)
        return difference;
    if (own->namespace != address->namespace)
        return "it is in another PID namespace, so its memory cannot be found";
    if (own->header_bytes != address->header_bytes)
        return "it has another number of ranks";
    return NULL;
}

/* Has the rank regions in shared memory? */
static bool shm_address_shares(const struct shm_address *address)
{
    for (int i = 0; i < address->region_count; i++) {
        if (address->regions[i].fd >= 0)
            return true;
    }
    return false;
}

static const char *shm_peer_reach(struct shm_endpoint *endpoint, const struct shm_address *address,
                                  struct shm_peer *peer)
{
    const char *reason = shm_peer_compare(endpoint, address);
    if (reason)
        return reason;
    peer->same_process = address->pid == getpid();
    if (peer->same_process)
        return shm_peer_share(address, peer);
    /* Opened before the cookie is compared, so that it is the process of the cookie. */
    peer->pidfd = (int)syscall(SYS_pidfd_open, address->pid, 0);
    if (peer->pidfd < 0) {
        int error = errno;
        snprintf(endpoint->reason, sizeof(endpoint->reason),
                 "its process (pid %d) cannot be watched: %s", address->pid, strerror(error));
        endpoint->base.exhausted |= error == EMFILE || error == ENFILE;
        return endpoint->reason;
    }
    reason = shm_peer_open(endpoint, address, peer);
    if (reason)
        return reason;
    reason = shm_peer_probe(address);
    peer->we_read = !reason;
    if (reason && endpoint->base.config.copy == COPY_ZCOPY && !shm_address_shares(address)) {
        snprintf(endpoint->reason, sizeof(endpoint->reason),
                 "its private memory cannot be read (process_vm_readv: %s), which --copy zcopy "
                 "needs; use --memory shared, or --copy auto",
                 reason);
        return endpoint->reason;
    }
    return NULL;
}

const char *shm_peer_attach(struct shm_endpoint *endpoint, int rank,
                            const struct shm_address *address, struct shm_peer **attached)
{
    struct shm_peer *peer = new_array(1, sizeof(*peer));
    *peer = (struct shm_peer){.rank = rank, .pid = address->pid, .pidfd = -1, .fd = -1};
    const char *reason = shm_peer_reach(endpoint, address, peer);
    if (reason) {
        shm_peer_drop(peer);
        return reason;
    }
    peer->region_count = address->region_count;
    for (int i = 0; i < peer->region_count; i++) {
        peer->regions[i].base = address->regions[i].base;
        peer->regions[i].bytes = address->regions[i].bytes;
        peer->regions[i].fd = address->regions[i].fd;
    }
    *attached = peer;
    return NULL;
}

enum status shm_peer_map_regions(struct shm_peer *peer)
{
    if (peer->same_process || peer->regions_mapped)
        return STATUS_OK;
    for (int i = 0; i < peer->region_count; i++) {
        size_t bytes = peer->regions[i].bytes;
        if (peer->regions[i].fd < 0)
            continue;
        int fd = host_open_memory(peer->pid, peer->regions[i].fd, O_RDONLY, bytes);
        int error = fd < 0 ? errno : 0;
        char *mapped = error ? NULL : memory_place(bytes, fd, PROT_READ);
        if (!error && !mapped)
            error = errno;
        if (fd >= 0)
            close(fd);
        if (error) {
            enum status lost = shm_peer_check(peer);
            return lost ? lost
                        : fail(STATUS_ERROR,
                               "cannot map %zu MiB of the shared memory of rank %d (pid %ld): %s; "
                               "try --memory host",
                               bytes >> 20, peer->rank, (long)peer->pid, strerror(error));
        }
        peer->regions[i].mapped = mapped;
    }
    peer->regions_mapped = true;
    return STATUS_OK;
}

bool shm_peer_find(const struct shm_peer *peer, const struct shm_reference *reference,
                   struct piece *piece, bool *remote)
{
    if (reference->region >= (uint64_t)peer->region_count)
        return false;
    char *base = peer->regions[reference->region].mapped;
    *remote = !peer->same_process && !base;
    if (!base)
        base = (char *)(uintptr_t)peer->regions[reference->region].base;
    *piece = (struct piece){
        .run = reference->run, .stride = reference->stride, .times = reference->times};
    return base &&
           piece_place(piece, base, peer->regions[reference->region].bytes, reference->offset);
}

static bool shm_peer_is_dead(const struct shm_peer *peer)
{
    struct pollfd watch = {.fd = peer->pidfd, .events = POLLIN};
    return !peer->same_process && poll(&watch, 1, 0) == 1;
}

enum status shm_fail_gone(const struct shm_peer *peer, uint32_t closed)
{
    if (closed != SHM_OPEN && closed != SHM_CLOSED)
        return fail_garbage(peer->rank, "a sign of leaving");
    return fail_peer(REASON_PEER_LOST, peer->rank,
                     "rank %d (pid %ld) has %s while this rank still needed it", peer->rank,
                     (long)peer->pid, closed == SHM_CLOSED ? "left the job" : "died");
}

/* Death is looked at first, so that a rank that left and then ended counts as one that left. */
enum status shm_peer_check(const struct shm_peer *peer)
{
    bool dead = shm_peer_is_dead(peer);
    uint32_t closed = atomic_load_explicit(&peer->header->closed, memory_order_acquire);
    return !dead && closed == SHM_OPEN ? STATUS_OK : shm_fail_gone(peer, closed);
}

void shm_peer_drop(struct shm_peer *peer)
{
    for (int i = 0; i < peer->region_count; i++) {
        if (peer->regions[i].mapped)
            memory_unplace(peer->regions[i].mapped, peer->regions[i].bytes);
    }
    shm_mappings_drop(&peer->blocks);
    if (peer->segment)
        shm_segment_drop(peer->segment);
    else if (peer->header)
        munmap(peer->header, peer->header_bytes);
    if (peer->fd >= 0)
        close(peer->fd);
    if (peer->pidfd >= 0)
        close(peer->pidfd);
    free(peer);
}
