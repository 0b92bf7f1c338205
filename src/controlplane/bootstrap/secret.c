/*
 * secret.c - the key of a job, derived from the user's secret.
 *
 * The secret comes from a variable or a file, not from the command line, which every user of the
 * machine can read.
 */
#include "controlplane/bootstrap/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define SECRET_FILE_MOST 4096
#define RANDOM_LEAST     32 /* characters */

/* An attacker that listens in place of rank 0 gets a proof from each rank that connects, and can
 * test guesses offline. A password hash (0.1 s, 64 MiB) makes each guess expensive. A secret as
 * long as `openssl rand -hex 16` cannot be guessed, so one fast hash is enough: otherwise hundreds
 * of ranks that start on one machine would wait a minute for their keys. The salt is fixed, because
 * all ranks must derive the same key before they meet. */
static enum status secret_stretch(const char *text, size_t size, unsigned char secret[SECRET_BYTES])
{
    static const unsigned char salt[] = "cctest secret v1";
    _Static_assert(sizeof salt - 1 == crypto_pwhash_SALTBYTES, "the salt is whole");
    if (size >= RANDOM_LEAST) {
        crypto_generichash(secret, SECRET_BYTES, (const unsigned char *)text, size, salt,
                           sizeof salt - 1);
        return STATUS_OK;
    }
    if (crypto_pwhash(secret, SECRET_BYTES, text, size, salt, crypto_pwhash_OPSLIMIT_INTERACTIVE,
                      crypto_pwhash_MEMLIMIT_INTERACTIVE, crypto_pwhash_ALG_ARGON2ID13) < 0)
        return fail(STATUS_ERROR, "out of memory: deriving a key from the secret takes 64 MiB");
    return STATUS_OK;
}

/* Reads the file, without the end of its last line. */
static enum status file_read(const char *path, char text[SECRET_FILE_MOST], size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail(
            STATUS_USAGE,
            "CCTEST_SECRET_FILE '%s' cannot be opened: %s; name a file of your own that holds "
            "only the secret",
            path, strerror(errno));
    struct stat about;
    enum status status = STATUS_OK;
    ssize_t count = 0;
    if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
        status = fail(
            STATUS_USAGE,
            "CCTEST_SECRET_FILE '%s' is not a regular file: name one that holds only the secret",
            path);
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
    else if (about.st_size > SECRET_FILE_MOST)
        status = fail(STATUS_USAGE,
                      "CCTEST_SECRET_FILE '%s' is larger than %d bytes: name one that holds only "
                      "the secret",
                      path, SECRET_FILE_MOST);
    else if ((count = read(fd, text, SECRET_FILE_MOST)) < 0)
        status = fail(STATUS_USAGE, "CCTEST_SECRET_FILE '%s' cannot be read: %s; use another file",
                      path, strerror(errno));
    close(fd);
    if (status != STATUS_OK)
        return status;
    while (count > 0 && (text[count - 1] == '\n' || text[count - 1] == '\r'))
        count--;
    *size = (size_t)count;
    return count > 0
               ? STATUS_OK
               : fail(STATUS_USAGE, "CCTEST_SECRET_FILE '%s' is empty: write any text to it", path);
}

/* The key of the user's secret; *given: is there one? */
static enum status secret_given(unsigned char secret[SECRET_BYTES], bool *given)
{
    const char *text = getenv("CCTEST_SECRET"), *path = getenv("CCTEST_SECRET_FILE");
    *given = text || path;
    if (text && !*text)
        return fail(STATUS_USAGE, "CCTEST_SECRET is empty: unset it, or set it to any text");
    if (text)
        return secret_stretch(text, strlen(text), secret);
    if (!path)
        return STATUS_OK;
    char content[SECRET_FILE_MOST];
    size_t size = 0;
    enum status status = file_read(path, content, &size);
    if (status == STATUS_OK)
        status = secret_stretch(content, size, secret);
    sodium_memzero(content, sizeof content);
    return status;
}

enum status secret_find(const char *shared, struct membership *membership)
{
    unsigned char key[SECRET_BYTES] = "cctest shared text";
    enum status status = secret_given(key, &membership->has_secret);
    /* Users have one secret for all their jobs, but each job needs a key of its own. */
    if (status == STATUS_OK)
        crypto_generichash(membership->secret, SECRET_BYTES, (const unsigned char *)shared,
                           strlen(shared), key, sizeof key);
    sodium_memzero(key, sizeof key);
    return status;
}

void secret_mix(const unsigned char nonce[SECRET_BYTES], struct membership *membership)
{
    unsigned char key[SECRET_BYTES];
    memcpy(key, membership->secret, sizeof key);
    crypto_generichash(membership->secret, SECRET_BYTES, nonce, SECRET_BYTES, key, sizeof key);
    sodium_memzero(key, sizeof key);
}

void membership_say_protection(const struct membership *membership, bool one_host)
{
    if (!membership->has_secret)
        say_verbose(one_host ? 1 : 0,
                    "CCTEST_SECRET is not set: the job is protected against accidents, not against "
                    "attackers; set it to the same text for all ranks");
}
