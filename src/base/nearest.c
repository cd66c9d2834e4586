#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Characters of a word that count, and names that a message shows. */
enum { WORD_MAX = 63, SHOWN = 3 };

/* A copy in lower case, cut at WORD_MAX characters; its length. */
static size_t lowered(const char *word, char out[WORD_MAX + 1]) {
    size_t n = 0;
    for (; n < WORD_MAX && word[n] != '\0'; n++) out[n] = (char)tolower((unsigned char)word[n]);
    out[n] = '\0';
    return n;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Optimal string alignment distance (Damerau, CACM 7(3), 1964; each part edited once) of s [rows]
 * and t [columns]. Rows i-2, i-1 and i of the table are kept: row[i % 3]. */
static size_t distance(const char *s, size_t rows, const char *t, size_t columns) {
    size_t row[3][WORD_MAX + 1];
    for (size_t j = 0; j <= columns; j++) row[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t *now = row[i % 3];
        const size_t *before = row[(i + 2) % 3], *two_before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t replaced = before[j - 1] + (s[i - 1] != t[j - 1]);
            now[j] = smaller(replaced, smaller(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && s[i - 1] == t[j - 2] && s[i - 2] == t[j - 1])
                now[j] = smaller(now[j], two_before[j - 2] + 1);
        }
    }
    return row[rows % 3][columns];
}

/* Keeps best[0..*found-1] sorted by distance; equals stay in the order of arrival. */
static void offer(const char *name, size_t apart, const char *best[SHOWN], size_t nearness[SHOWN],
                  size_t *found) {
    size_t at = *found;
    while (at > 0 && nearness[at - 1] > apart) at--;
    if (at == SHOWN) return;
    if (*found < SHOWN) ++*found;
    for (size_t i = *found - 1; i > at; i--) {
        best[i] = best[i - 1];
        nearness[i] = nearness[i - 1];
    }
    best[at] = name;
    nearness[at] = apart;
}

void hu_nearest(const char *word, const char *const *names, size_t count, char *text,
                size_t capacity) {
    const char *best[SHOWN] = {"", "", ""};
    size_t nearness[SHOWN] = {0}, found = 0;
    char s[WORD_MAX + 1], t[WORD_MAX + 1];
    size_t rows = lowered(word, s);
    for (size_t i = 0; i < count; i++) {
        if (names[i] == NULL) continue;
        size_t columns = lowered(names[i], t),
               least = rows > columns ? rows - columns : columns - rows;
        /* No distance is less than that of the lengths, and equals do not displace. */
        if (found == SHOWN && least >= nearness[SHOWN - 1]) continue;
        offer(names[i], distance(s, rows, t, columns), best, nearness, &found);
    }
    if (capacity == 0) return;
    text[0] = '\0';
    if (found == 1) snprintf(text, capacity, "'%s'", best[0]);
    if (found == 2) snprintf(text, capacity, "'%s' or '%s'", best[0], best[1]);
    if (found == 3) snprintf(text, capacity, "'%s', '%s' or '%s'", best[0], best[1], best[2]);
}
