/*
 * peer.c - another rank of this node: whether shared memory reaches it, whether its memory can be
 * read in place, and whether it is alive.
 */
#include "transports/shm/peer.h"

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

#include "base/log.h"
#include "transports/shm/segment.h"

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
    for (int i = 0; i < config->region_count && address->region_count < SHM_REGIONS_MOST; i++) {
        const struct region *region = &config->regions[i];
        if (region->fd < 0 || region->bytes == 0)
            continue;
        int index = address->region_count++;
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
    peer->fd = host_open_descriptor(address->pid, address->fd, O_RDWR);
    if (peer->fd < 0) {
        int error = errno;
        snprintf(endpoint->reason, sizeof(endpoint->reason),
                 "its shared memory cannot be opened (/proc/%d/fd/%d: %s)", address->pid,
                 address->fd, strerror(error));
        endpoint->base.exhausted |= error == EMFILE || error == ENFILE;
        return endpoint->reason;
    }
    struct stat file;
    if (fstat(peer->fd, &file) || !S_ISREG(file.st_mode) ||
        (uint64_t)file.st_size < address->header_bytes)
        return "it has closed its shared memory";
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

/* A rank of this process: uses the owner's mapping, unless that has no user any more. The count of
 * users is read in a mapping of its own, which cannot go away. */
static const char *shm_peer_share(struct shm_peer *peer)
{
    struct shm_header *own = peer->header;
    uint32_t users = atomic_load(&own->users);
    while (users > 0 && !atomic_compare_exchange_weak(&own->users, &users, users + 1))
        continue;
    struct shm_segment *segment = (struct shm_segment *)(uintptr_t)own->segment;
    munmap(own, peer->header_bytes);
    close(peer->fd);
    peer->fd = -1;
    peer->header = users > 0 ? segment->header : NULL;
    return users > 0 ? NULL : "it has closed its shared memory";
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

static const char *shm_peer_reach(struct shm_endpoint *endpoint, const struct shm_address *address,
                                  struct shm_peer *peer)
{
    const char *reason = shm_peer_compare(endpoint, address);
    if (reason)
        return reason;
    peer->same_process = address->pid == getpid();
    if (!peer->same_process) {
        /* Opened before the cookie is compared, so that it is the process of the cookie. */
        peer->pidfd = (int)syscall(SYS_pidfd_open, address->pid, 0);
        if (peer->pidfd < 0) {
            int error = errno;
            snprintf(endpoint->reason, sizeof(endpoint->reason),
                     "its process (pid %d) cannot be watched: %s", address->pid, strerror(error));
            endpoint->base.exhausted |= error == EMFILE || error == ENFILE;
            return endpoint->reason;
        }
    }
    reason = shm_peer_open(endpoint, address, peer);
    if (reason)
        return reason;
    if (peer->same_process) {
        peer->we_read = true;
        return shm_peer_share(peer);
    }
    reason = shm_peer_probe(address);
    peer->we_read = !reason;
    if (reason && endpoint->base.config.copy == COPY_ZCOPY && address->region_count == 0) {
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
    struct shm_peer *peer = calloc(1, sizeof(*peer));
    if (!peer)
        return "this rank is out of memory";
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
        int fd = host_open_descriptor(peer->pid, peer->regions[i].fd, O_RDONLY);
        int error = fd < 0 ? errno : 0;
        struct stat file;
        if (!error &&
            (fstat(fd, &file) || !S_ISREG(file.st_mode) || (uint64_t)file.st_size < bytes))
            error = ESTALE;
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

static bool shm_peer_is_gone(const struct shm_peer *peer)
{
    if (atomic_load_explicit(&peer->header->closed, memory_order_acquire))
        return true;
    struct pollfd watch = {.fd = peer->pidfd, .events = POLLIN};
    return !peer->same_process && poll(&watch, 1, 0) == 1;
}

enum status shm_peer_check(const struct shm_peer *peer)
{
    if (!shm_peer_is_gone(peer))
        return STATUS_OK;
    bool left = atomic_load_explicit(&peer->header->closed, memory_order_acquire);
    return fail_peer(REASON_PEER_LOST, peer->rank,
                     "rank %d (pid %ld) has %s while this rank still needed it", peer->rank,
                     (long)peer->pid, left ? "left the job" : "died");
}

void shm_peer_drop(struct shm_peer *peer)
{
    for (int i = 0; i < peer->region_count; i++) {
        if (peer->regions[i].mapped)
            memory_unplace(peer->regions[i].mapped, peer->regions[i].bytes);
    }
    shm_mappings_drop(&peer->blocks);
    if (peer->header && peer->same_process && peer->fd < 0)
        shm_segment_drop((struct shm_segment *)(uintptr_t)peer->header->segment);
    else if (peer->header)
        munmap(peer->header, peer->header_bytes);
    if (peer->fd >= 0)
        close(peer->fd);
    if (peer->pidfd >= 0)
        close(peer->pidfd);
    free(peer);
}
