/*
 * secret.c - the secret by which the ranks of a job know each other, as the user gives it.
 *
 * Never by the command line, which everybody on a machine can read.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap_internal.h"
#include "log.h"

#define SECRET_FILE_MOST 4096

static void secret_hash(const void *text, size_t size, const char *domain,
                        unsigned char secret[SECRET_BYTES])
{
    crypto_generichash(secret, SECRET_BYTES, text, size, (const unsigned char *)domain,
                       strlen(domain));
}

/* Reads what is in the file, but for the end of its last line. */
static enum status file_read(const char *path, char text[SECRET_FILE_MOST], size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail(STATUS_USAGE, "CCTEST_SECRET_FILE '%s' cannot be opened: %s", path,
                    strerror(errno));
    struct stat about;
    enum status status = STATUS_OK;
    ssize_t count = 0;
    if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
        status = fail(STATUS_USAGE, "CCTEST_SECRET_FILE '%s' is not a regular file", path);
    else if (about.st_uid != geteuid())
        status = fail(STATUS_USAGE,
                      "CCTEST_SECRET_FILE '%s' belongs to another user (uid %d): use "
                      "one of your own",
                      path, (int)about.st_uid);
    else if (about.st_mode & (S_IRWXG | S_IRWXO))
        status = fail(STATUS_USAGE,
                      "CCTEST_SECRET_FILE '%s' is open to others than its owner (mode "
                      "%03o): run chmod 600 on it",
                      path, about.st_mode & 0777u);
    else if ((count = read(fd, text, SECRET_FILE_MOST)) < 0)
        status =
            fail(STATUS_USAGE, "CCTEST_SECRET_FILE '%s' cannot be read: %s", path, strerror(errno));
    close(fd);
    if (status != STATUS_OK)
        return status;
    while (count > 0 && (text[count - 1] == '\n' || text[count - 1] == '\r'))
        count--;
    *size = (size_t)count;
    return count > 0 ? STATUS_OK : fail(STATUS_USAGE, "CCTEST_SECRET_FILE '%s' is empty", path);
}

enum status secret_find(const char *shared, struct membership *membership)
{
    const char *text = getenv("CCTEST_SECRET"), *path = getenv("CCTEST_SECRET_FILE");
    membership->has_secret = true;
    if (text && !*text)
        return fail(STATUS_USAGE, "CCTEST_SECRET is empty: unset it, or give it any text");
    if (text) {
        secret_hash(text, strlen(text), "cctest given secret", membership->secret);
        return STATUS_OK;
    }
    if (path) {
        char content[SECRET_FILE_MOST];
        size_t size = 0;
        enum status status = file_read(path, content, &size);
        if (status == STATUS_OK)
            secret_hash(content, size, "cctest given secret", membership->secret);
        sodium_memzero(content, sizeof content);
        return status;
    }
    membership->has_secret = false;
    secret_hash(shared, strlen(shared), "cctest shared text", membership->secret);
    return STATUS_OK;
}
