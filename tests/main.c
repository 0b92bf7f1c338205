/*
 * main.c - a program of several tests, in which `PROGRAM NAME [ARGUMENT...]` runs one. The Makefile
 * gives the main() of each file the file's name, and defines TESTS as TEST(test_size)
 * TEST(test_text) ...
 */
#include <stdio.h>
#include <string.h>

/* As the C library does, it passes arguments also to a main() that takes none. */
#define TEST(name) int name##_main(int argc, char **argv);
TESTS
#undef TEST

static const struct test {
    const char *name;
    int (*main)(int argc, char **argv);
} tests[] = {
#define TEST(name) {#name, name##_main},
    TESTS
#undef TEST
};

int main(int argc, char **argv)
{
    size_t count = sizeof tests / sizeof *tests;

    for (size_t i = 0; argc > 1 && i < count; i++)
        if (strcmp(tests[i].name, argv[1]) == 0)
            return tests[i].main(argc - 1, argv + 1);
    if (argc > 1)
        fprintf(stderr, "%s has no test %s; without a name it lists its tests\n", argv[0], argv[1]);
    for (size_t i = 0; argc == 1 && i < count; i++)
        puts(tests[i].name);
    return argc > 1 ? 2 : 0;
}
