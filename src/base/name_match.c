/*
 * name_match.c - the edit distance between what a user wrote and what there is.
 *
 * A swap of two neighbouring letters, the commonest slip, counts as one edit.
 */
#include "base/name_match.h"

#include <ctype.h>
#include <string.h>

#define NAME_MOST 64

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int letter(const char *text, int place)
{
    int c = tolower((unsigned char)text[place]);
    return c == '_' ? '-' : c;
}

bool name_equal(const char *name, const char *other)
{
    int i = 0;
    while (name[i] && letter(name, i) == letter(other, i))
        i++;
    return letter(name, i) == letter(other, i);
}

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other. */
static int name_distance(const char *a, int a_length, const char *b, int b_length)
{
    unsigned char distance[NAME_MOST + 1][NAME_MOST + 1];
    for (int i = 0; i <= a_length; i++)
        distance[i][0] = (unsigned char)i;
    for (int j = 0; j <= b_length; j++)
        distance[0][j] = (unsigned char)j;
    for (int i = 1; i <= a_length; i++) {
        for (int j = 1; j <= b_length; j++) {
            int differs = letter(a, i - 1) != letter(b, j - 1);
            int best = smaller(distance[i - 1][j] + 1, distance[i][j - 1] + 1);
            best = smaller(best, distance[i - 1][j - 1] + differs);
            if (i > 1 && j > 1 && letter(a, i - 1) == letter(b, j - 2) &&
                letter(a, i - 2) == letter(b, j - 1))
                best = smaller(best, distance[i - 2][j - 2] + 1);
            distance[i][j] = (unsigned char)best;
        }
    }
    return distance[a_length][b_length];
}

const char *name_nearest(const char *name, const char *const *candidates)
{
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MOST)
        return NULL;
    const char *nearest = NULL;
    int least = NAME_MOST;
    for (; *candidates; candidates++) {
        size_t other = strlen(*candidates);
        if (other > NAME_MOST)
            continue;
        int distance = name_distance(name, (int)length, *candidates, (int)other);
        int longer = (int)(length > other ? length : other);
        if (distance < least && 3 * distance <= longer) {
            least = distance;
            nearest = *candidates;
        }
    }
    return nearest;
}
