#include "config/misplaced.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"

enum { SHOWN_BYTES = 160, NAME_BYTES = 300 };

/* Word `index`; "" where there is none, or where it is the verb. */
static const char *word_at(const hu_config_request *request, int index) {
    bool is_there = index > 0 && index < request->argc && index != request->verb_index;
    return is_there ? request->argv[index] : "";
}

/* Neither a flag nor a pair. */
static bool is_bare(const char *word) {
    return *word && *word != '-' && !strchr(word, '=');
}

/* Whether what stands before '=' is a key. */
static bool is_pair(const char *word) {
    char name[NAME_BYTES];
    size_t length = strcspn(word, "=");
    if (!word[length] || length >= sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    return strcmp(name, "config") == 0 || hu_config_key_find(name) != NULL;
}

/* The words from `first` on, with what is between them, up to the last bare one behind `index`. */
static void join(const hu_config_request *request, int first, int index, const char *between,
                 char text[SHOWN_BYTES]) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = first; used < SHOWN_BYTES; i++) {
        const char *word = word_at(request, i);
        if (i > index && !is_bare(word)) break;
        used += (size_t)snprintf(text + used, SHOWN_BYTES - used, "%s%s", i > first ? between : "",
                                 word);
    }
}

/* A shell cuts at blanks what is not in quotes. */
static hu_status refuse_rest(const hu_config_request *request, int index) {
    char whole[SHOWN_BYTES];
    join(request, index - 1, index, " ", whole);
    return hu_fail(HU_ERR_ARGUMENT,
                   "found '%.100s' behind '%.100s', expected key=value or a flag; a value with "
                   "blanks stands in quotes: \"%s\"",
                   word_at(request, index), word_at(request, index - 1), whole);
}

/* "model", "model =NAME" and "model = NAME". */
static hu_status refuse_key(const hu_config_request *request, int index) {
    const char *word = word_at(request, index), *next = word_at(request, index + 1);
    if (next[0] != '=')
        return hu_fail(HU_ERR_ARGUMENT, "found '%.100s' alone, expected a value: %.100s=...", word,
                       word);
    const char *value = next[1] ? next + 1 : word_at(request, index + 2);
    return hu_fail(HU_ERR_ARGUMENT,
                   "found '%.100s' apart from '=', expected no blanks around it: %.100s=%.100s",
                   word, word, *value ? value : "...");
}

hu_status hu_config_refuse_word(const hu_config_request *request, int index) {
    const char *word = request->argv[index];
    const char *verb = request->verb_index > 0 ? request->argv[request->verb_index] : "";
    const char *key = request->key_of ? request->key_of(word) : NULL;
    const char *before = word_at(request, index - 1);
    char values[SHOWN_BYTES];
    if (hu_config_key_find(word) || strcmp(word, "config") == 0) return refuse_key(request, index);
    /* "rules=fc.*: fp16" and "precision=e5m2, e4m3" go on, whatever the word itself is. */
    if (is_pair(before) && (!key || strchr(",:;", before[strlen(before) - 1])))
        return refuse_rest(request, index);
    if (hu_file_exists(word) && strcmp(verb, "compare") == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found '%.100s', expected key=value or a flag: compare trains; runs that "
                       "are there are put beside each other by `halfulp report RUN...`",
                       word);
    if (!key) return hu_fail(HU_ERR_ARGUMENT, "found '%.100s', expected key=value or a flag", word);
    join(request, index, index, ",", values); /* compare takes lists */
    return hu_fail(HU_ERR_ARGUMENT, "found '%.100s', expected key=value or a flag: %s=%s", word,
                   key, strcmp(verb, "compare") == 0 ? values : word);
}

hu_status hu_config_check_blanks(const hu_config_request *request, int index) {
    const char *word = request->argv[index], *next = word_at(request, index + 1);
    const char *before = word_at(request, index - 1), *equals = strchr(word, '=');
    if (!equals[1] && request->max_subjects == 0 && is_bare(next) && !hu_config_key_find(next))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found '%.100s' apart from '%.100s', expected no blanks around '=': "
                       "%.100s%.100s",
                       word, next, word, next);
    bool is_rest = is_pair(before) && !is_pair(word) && strcspn(word, ",: ") < strcspn(word, "=");
    return is_rest ? refuse_rest(request, index) : HU_OK;
}
