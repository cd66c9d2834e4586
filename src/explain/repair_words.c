/* explain/repair_words.c - a change as words of the command line, as few as say it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "explain/repair.h"

#define LIST_HEAD "precision="

/* The words that are being written. */
typedef struct writing {
    const hu_opened_run *run;
    const hu_repair *advice;
    const hu_change *change;
    hu_repair_option *option;
} writing;

static char *new_word(writing *w) {
    return w->option->word[w->option->words++];
}

/* ---- rules ---- */

static void append(char *word, const char *before, const char *text, const char *after) {
    size_t used = strlen(word);
    snprintf(word + used, HU_REPAIR_WORD_BYTES - used, "%s%s%s", before, text, after);
}

/* Whether a rule of the run is about a tensor that goes as the rest of its role now. */
static bool is_dropped(const writing *w, const char *rule) {
    char pattern[HU_TENSOR_NAME_BYTES], name[HU_TENSOR_NAME_BYTES];
    const hu_recorded *recorded = &w->advice->recorded;
    snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(rule, ":"), rule);
    if (!w->change->way.is_freed) return false;
    for (uint32_t t = 0; t < recorded->count; t++) {
        if (!w->change->way.is_freed[t]) continue;
        hu_tensor_name(w->run->graph, w->run->walk.tensor[recorded->tensor[t].place], name);
        if (hu_glob_match(pattern, name)) return true;
    }
    return false;
}

/* Rules of the run that stay; returns how many there are. */
static int keep_rules(const writing *w, char *word) {
    int kept = 0;
    const hu_keys *rules = w->advice->setup.rules;
    for (size_t i = 0; rules && i < hu_keys_count(rules); i++) {
        const char *rule = hu_keys_value(hu_keys_at(rules, i));
        if (is_dropped(w, rule)) continue;
        append(word, kept++ ? ", '" : "'", rule, "'");
    }
    return kept;
}

/* Rules for whole roles stand behind those of the run, so that they win. */
static void write_rules(writing *w, bool with_roles) {
    int rules;
    if (!with_roles && !w->change->way.is_freed) return;
    char *word = new_word(w);
    snprintf(word, HU_REPAIR_WORD_BYTES, "precision.rules=[");
    rules = keep_rules(w, word);
    for (int r = 0; r < HU_ROLE_COUNT && with_roles; r++) {
        if (!w->change->way.changes[r]) continue;
        append(word, rules++ ? ", '" : "'", hu_role_names[r], ": ");
        append(word, w->change->format[r], "'", "");
    }
    append(word, "]", "", "");
}

/* ---- the precision as a whole ---- */

static bool is_named(const char *name) {
    for (int i = 0; i < hu_precision_name_count; i++)
        if (strcmp(hu_precision_names[i], name) == 0) return true;
    return false;
}

/* The one format that all roles get; NULL: they differ, or some stay. */
static const char *format_of_all(const hu_change *change) {
    for (int r = 0; r < HU_ROLE_COUNT; r++)
        if (!change->way.changes[r] || strcmp(change->format[r], change->format[0]) != 0)
            return NULL;
    return change->format[0];
}

static bool has_rules(const writing *w) {
    const hu_keys *rules = w->advice->setup.rules;
    return rules && hu_keys_count(rules) > 0;
}

/* precision=F becomes precision=F:scale=current; named precisions have more than their format. */
static bool write_whole(writing *w) {
    hu_quantizer quantizer;
    const char *name = w->advice->setup.precision, *format = format_of_all(w->change);
    if (!format || has_rules(w) || is_named(name) || is_named(format)) return false;
    if (hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer) != HU_OK) return false;
    snprintf(new_word(w), HU_REPAIR_WORD_BYTES, "precision=%s", format);
    return true;
}

/* What one role has in "w=F,act=F,..."; its own format where it does not change. */
static void write_role(const writing *w, hu_role role, const char *key, char *word) {
    size_t length = strlen(key);
    const char *name = w->advice->setup.precision;
    char own[HU_QUANTIZER_BYTES] = "";
    for (const char *at = name; *at; at += hu_word_length(at), at += *at == ',')
        if (strncmp(at, key, length) == 0)
            snprintf(own, sizeof own, "%.*s", (int)(hu_word_length(at) - length), at + length);
    const char *format = w->change->way.changes[role] ? w->change->format[role] : own;
    bool is_first = strcmp(word, LIST_HEAD) == 0;
    if (format[0]) append(word, is_first ? "" : ",", key, format);
}

/* precision=w=F,act=F,... with other formats. */
static bool write_list(writing *w) {
    const char *name = w->advice->setup.precision;
    bool is_list = false;
    for (size_t k = 0; k < HU_ROLE_COUNT; k++)
        is_list |= strncmp(name, hu_role_keys[k].key, strlen(hu_role_keys[k].key)) == 0;
    if (!is_list || has_rules(w)) return false;
    char *word = new_word(w);
    snprintf(word, HU_REPAIR_WORD_BYTES, LIST_HEAD);
    for (size_t k = 0; k < HU_ROLE_COUNT; k++)
        write_role(w, hu_role_keys[k].role, hu_role_keys[k].key, word);
    return true;
}

/* ---- loss scaling ---- */

/* The scaler that the run has, or another; said too where other formats would change the default.
 */
static void write_scaler(writing *w, bool is_list) {
    static const int32_t usual = 16;
    const hu_way *way = &w->change->way;
    const hu_setup *setup = &w->advice->setup;
    hu_precision parsed = {0};
    const char *name = hu_loss_scale_kinds[way->scaler].name;
    bool is_same = way->scaler == setup->scaler && way->scale == setup->scale;
    if (is_same && is_list) {
        bool is_read = hu_precision_parse(strchr(w->option->word[0], '=') + 1, &parsed) == HU_OK;
        bool is_dynamic = parsed.scaler == HU_SCALER_DYNAMIC;
        hu_precision_free(&parsed);
        if (is_read && is_dynamic != (way->scaler == HU_LOSS_SCALE_DYNAMIC))
            snprintf(new_word(w), HU_REPAIR_WORD_BYTES, "scaler=%s", name);
    }
    if (is_same) return;
    if (way->scaler != setup->scaler)
        snprintf(new_word(w), HU_REPAIR_WORD_BYTES, "scaler=%s", name);
    if (way->scaler == HU_LOSS_SCALE_DYNAMIC && way->scale == usual &&
        setup->scaler != HU_LOSS_SCALE_DYNAMIC)
        return;
    snprintf(new_word(w), HU_REPAIR_WORD_BYTES, "scaler.init=%.10g", ldexp(1.0, way->scale));
}

/* Sums in blocks of eight with nine bits and a wide range (Popescu et al.), else in float32. */
static void write_accumulator(writing *w) {
    static const char blocks[] = "fmac8:1/6/9";
    const hu_setup *setup = &w->advice->setup;
    bool has_blocks = strcmp(setup->accumulator, blocks) == 0;
    if (!setup->needs_accumulator) return;
    bool is_plain = strcmp(setup->accumulator, "fp32") == 0;
    if (!is_plain)
        snprintf(new_word(w), HU_REPAIR_WORD_BYTES, "accumulator=%s", has_blocks ? "fp32" : blocks);
    if (setup->has_accumulator_rules)
        snprintf(new_word(w), HU_REPAIR_WORD_BYTES, "accumulator.rules=");
}

static bool changes_formats(const hu_change *change) {
    for (int r = 0; r < HU_ROLE_COUNT; r++)
        if (change->way.changes[r]) return true;
    return false;
}

void hu_repair_words(const hu_opened_run *run, const hu_repair *advice, const hu_change *change,
                     hu_repair_option *option) {
    writing w = {run, advice, change, option};
    bool changes = changes_formats(change), is_list = false;
    option->words = 0;
    if (changes && !change->way.is_freed && write_whole(&w)) changes = false;
    if (changes && !change->way.is_freed) is_list = write_list(&w);
    write_rules(&w, changes && !is_list);
    write_scaler(&w, is_list);
    if (advice->setup.needs_masters) snprintf(new_word(&w), HU_REPAIR_WORD_BYTES, "master=on");
    write_accumulator(&w);
}
