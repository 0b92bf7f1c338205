/*
 * host.c - the identity of a host, and the memory that its processes share.
 */
#include "base/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/numbers.h"

void host_name(char *text, size_t size)
{
    text[0] = '\0';
    gethostname(text, size);
    text[size - 1] = '\0'; /* gethostname() need not terminate a name that it cuts off */
    if (!text[0])
        snprintf(text, size, "unnamed");
}

void host_identify(struct host_id *id)
{
    memset(id, 0, sizeof *id);
    host_name(id->name, sizeof id->name);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file)
        return;
    if (!fgets(id->boot, sizeof id->boot, file))
        id->boot[0] = '\0';
    id->boot[strcspn(id->boot, "\n")] = '\0';
    fclose(file);
}

bool host_id_is_valid(const struct host_id *id)
{
    return memchr(id->name, '\0', sizeof id->name) && memchr(id->boot, '\0', sizeof id->boot);
}

int host_compare(const struct host_id *a, const struct host_id *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->boot, b->boot);
}

bool host_same(const struct host_id *a, const struct host_id *b)
{
    return strcmp(a->name, b->name) == 0 &&
           (!a->boot[0] || !b->boot[0] || strcmp(a->boot, b->boot) == 0);
}

const char *host_difference(const struct host_id *own, const struct host_id *other, char *text,
                            size_t size)
{
    if (strcmp(own->name, other->name) == 0)
        return host_same(own, other)
                   ? NULL
                   : "it is on another host of the same name (the boot ids differ)";
    snprintf(text, size, "it is on another host (%s, not %s)", other->name, own->name);
    return text;
}

static uint64_t identity;

static void identity_find(void)
{
    struct host_id id;
    host_identify(&id);
    uint64_t hash = hash_text(hash_text(HASH_BEGIN, id.name), id.boot);
    identity = hash ? hash : 1;
}

uint64_t host_identity(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, identity_find);
    return identity;
}

uint64_t host_process_identity(void)
{
    struct stat namespace = {.st_ino = 0};
    const int64_t pid = getpid();
    stat("/proc/self/ns/pid", &namespace);
    uint64_t hash = hash_bytes(host_identity(), &namespace.st_ino, sizeof namespace.st_ino);
    hash = hash_bytes(hash, &pid, sizeof pid);
    return hash ? hash : 1;
}

int host_create_memory(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int host_open_memory(pid_t pid, int fd, int flags, uint64_t least)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)pid, fd);
    /* The file may be a FIFO or a terminal by now: do not wait for it. */
    int opened = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened < 0)
        return -1;
    struct stat file;
    int seals = fcntl(opened, F_GET_SEALS);
    if (seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(opened, &file) == 0 &&
        (uint64_t)file.st_size >= least)
        return opened;
    close(opened);
    errno = ESTALE;
    return -1;
}

static char stat_state(const char *path)
{
    char text[512], state = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *end = strrchr(text, ')'); /* of the program's name, which may hold anything */
    return end && sscanf(end, ") %c", &state) == 1 ? state : 0;
}

char host_process_state(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    return stat_state(path);
}

bool host_thread_is_ready(pid_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)thread);
    return stat_state(path) == 'R';
}

char host_process_remains(pid_t pid)
{
    char folder[64], path[512], remains = 0;
    snprintf(folder, sizeof folder, "/proc/%ld/task", (long)pid);
    DIR *threads = opendir(folder);
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        snprintf(path, sizeof path, "%s/%s/stat", folder, entry->d_name);
        char state = entry->d_name[0] == '.' ? 0 : stat_state(path);
        if (state && remains != 'D' && (remains == 0 || state != 'Z'))
            remains = state;
    }
    if (threads)
        closedir(threads);
    return remains;
}
