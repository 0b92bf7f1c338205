/*
 * host.c - which machine this is: what ranks compare to find out whether they share one.
 */
#include "base/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void host_name(char *text, size_t size)
{
    text[0] = '\0';
    gethostname(text, size);
    text[size - 1] = '\0'; /* a name that is cut off need not end */
    if (!text[0])
        snprintf(text, size, "unnamed");
}

bool host_boot(char *text, size_t size)
{
    text[0] = '\0';
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file)
        return false;
    if (!fgets(text, (int)size, file))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
    return text[0] != '\0';
}

int host_open_descriptor(pid_t pid, int fd, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)pid, fd);
    /* Never wait for what stands there. */
    return open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}
