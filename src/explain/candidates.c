/* explain/candidates.c - a list of formats; commas within parentheses are a format's own. */
#include "explain/candidates.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* One format of the list, without the blanks around it. */
static hu_status add(const char *text, size_t length, hu_candidates *candidates) {
    while (length > 0 && *text == ' ') text++, length--;
    while (length > 0 && text[length - 1] == ' ') length--;
    if (candidates->count == HU_CANDIDATES_MOST)
        return hu_fail(HU_ERR_LIMIT, "format=: found more than %d formats", HU_CANDIDATES_MOST);
    if (length >= HU_CANDIDATE_BYTES)
        return hu_fail(HU_ERR_PARSE, "format=: '%.40s...' is longer than %d characters", text,
                       HU_CANDIDATE_BYTES - 1);
    char *name = candidates->name[candidates->count];
    memcpy(name, text, length);
    name[length] = '\0';
    hu_status st = hu_format_parse(name, &candidates->format[candidates->count]);
    if (st != HU_OK) return hu_fail_within(st, "format=: ");
    candidates->count++;
    return HU_OK;
}

hu_status hu_candidates_parse(const char *text, hu_candidates *candidates) {
    hu_status st = HU_OK;
    const char *begin = text;
    int depth = 0;
    *candidates = (hu_candidates){0};
    for (const char *c = text;; c++) {
        depth += (*c == '(') - (*c == ')');
        if (*c && (*c != ',' || depth > 0)) continue;
        HU_TRY(add(begin, (size_t)(c - begin), candidates));
        if (!*c) break;
        begin = c + 1;
    }
done:
    return st;
}
