#include "diagnose/remedy.h"

#include <math.h>
#include <string.h>

#include <halfulp/gemm.h>

#include "base/text.h"
#include "diagnose/closest.h"
#include "diagnose/failures.h"

/* ---- A change as words of the command line, as few as say it ---- */

#define LIST_HEAD "precision="

/* The words that are being written. */
typedef struct writing {
    const hu_run_record *run;
    const hu_remedy *advice;
    const hu_change *change;
    hu_remedy_option *option;
} writing;

static char *new_word(writing *w) {
    return w->option->word[w->option->words++];
}

/* ---- rules ---- */

static void append(char *word, const char *before, const char *text, const char *after) {
    hu_note_add(word, HU_REMEDY_WORD_BYTES, "", "%s%s%s", before, text, after);
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

/* Rules for whole roles stand after those of the run, so that they win. */
static void write_rules(writing *w, bool with_roles) {
    int rules;
    if (!with_roles && !w->change->way.is_freed) return;
    char *word = new_word(w);
    snprintf(word, HU_REMEDY_WORD_BYTES, "precision.rules=[");
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
    snprintf(new_word(w), HU_REMEDY_WORD_BYTES, "precision=%s", format);
    return true;
}

/* What one role has in "w=F,act=F,..."; its own format where it does not change. */
static void write_role(const writing *w, hu_role role, const char *key, char *word) {
    size_t length = strlen(key);
    const char *name = w->advice->setup.precision;
    char own[HU_QUANTIZER_BYTES] = "";
    for (const char *at = name; *at; at += hu_list_word_length(at), at += *at == ',')
        if (strncmp(at, key, length) == 0)
            snprintf(own, sizeof own, "%.*s", (int)(hu_list_word_length(at) - length), at + length);
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
    snprintf(word, HU_REMEDY_WORD_BYTES, LIST_HEAD);
    for (size_t k = 0; k < HU_ROLE_COUNT; k++)
        write_role(w, hu_role_keys[k].role, hu_role_keys[k].key, word);
    return true;
}

/* ---- loss scaling ---- */

/* The scaler that the run has, or another; said too where other formats would change the default.
 */
static void write_scaler(writing *w, bool is_list) {
    static const int32_t usual = 16;
    const hu_remedy_rounding *way = &w->change->way;
    const hu_setup *setup = &w->advice->setup;
    hu_precision parsed = {0};
    const char *name = hu_loss_scale_kinds[way->scaler].name;
    bool is_same = way->scaler == setup->scaler && way->scale == setup->scale;
    if (is_same && is_list) {
        bool is_read = hu_precision_parse(strchr(w->option->word[0], '=') + 1, &parsed) == HU_OK;
        bool is_dynamic = parsed.scaler == HU_SCALER_DYNAMIC;
        hu_precision_free(&parsed);
        if (is_read && is_dynamic != (way->scaler == HU_LOSS_SCALE_DYNAMIC))
            snprintf(new_word(w), HU_REMEDY_WORD_BYTES, "scaler=%s", name);
    }
    if (is_same) return;
    if (way->scaler != setup->scaler)
        snprintf(new_word(w), HU_REMEDY_WORD_BYTES, "scaler=%s", name);
    if (way->scaler == HU_LOSS_SCALE_DYNAMIC && way->scale == usual &&
        setup->scaler != HU_LOSS_SCALE_DYNAMIC)
        return;
    snprintf(new_word(w), HU_REMEDY_WORD_BYTES, "scaler.init=%.10g", ldexp(1.0, way->scale));
}

/* The sums of a tensor core with a float32 sum outside, which takes over after some 128 terms
 * (DeepSeek-V3, 3.3.2); false: they are none, or have it. */
static bool promoted(const char *accumulator, char *text, uint32_t capacity) {
    enum { USUAL_TERMS = 128 };
    hu_accumulator core;
    if (hu_accumulator_parse(accumulator, &core) != HU_OK) return false;
    if (core.mac != HU_MAC_TC || core.promote) return false;
    core.promote = (USUAL_TERMS + core.block - 1) / core.block * core.block;
    return hu_accumulator_print(&core, text, capacity) == HU_OK;
}

/* Promoted sums of a tensor core, sums in blocks of eight with nine bits and a wide range (Popescu
 * et al.), else in float32. */
static void write_accumulator(writing *w) {
    static const char blocks[] = "fmac8:1/6/9";
    char core[192];
    const hu_setup *setup = &w->advice->setup;
    bool has_blocks = strcmp(setup->accumulator, blocks) == 0;
    if (!setup->needs_accumulator) return;
    bool is_plain = strcmp(setup->accumulator, "fp32") == 0;
    if (!is_plain)
        snprintf(new_word(w), HU_REMEDY_WORD_BYTES, "accumulator=%s",
                 promoted(setup->accumulator, core, sizeof core) ? core
                 : has_blocks                                    ? "fp32"
                                                                 : blocks);
    if (setup->has_accumulator_rules)
        snprintf(new_word(w), HU_REMEDY_WORD_BYTES, "accumulator.rules=");
}

static bool changes_formats(const hu_change *change) {
    for (int r = 0; r < HU_ROLE_COUNT; r++)
        if (change->way.changes[r]) return true;
    return false;
}

void hu_remedy_words(const hu_run_record *run, const hu_remedy *advice, const hu_change *change,
                     hu_remedy_option *option) {
    writing w = {run, advice, change, option};
    bool changes = changes_formats(change), is_list = false;
    option->words = 0;
    if (changes && !change->way.is_freed && write_whole(&w)) changes = false;
    if (changes && !change->way.is_freed) is_list = write_list(&w);
    write_rules(&w, changes && !is_list);
    write_scaler(&w, is_list);
    if (advice->setup.needs_masters) snprintf(new_word(&w), HU_REMEDY_WORD_BYTES, "master=on");
    write_accumulator(&w);
}

/* ---- What is told of advice: words and JSON ---- */

const char *hu_remedy_line(const hu_remedy_option *option, char *text) {
    text[0] = '\0';
    for (int i = 0; i < option->words; i++) {
        const char *word = option->word[i];
        /* Lists have quotes, brackets and blanks, formats may have brackets. */
        const char *quote = strpbrk(word, "'[]() ;*?&|<>#$\\") ? "\"" : "";
        hu_note_add(text, HU_REMEDY_LINE_BYTES, " ", "%s%s%s", quote, word, quote);
    }
    return text;
}

/* Whether the numbers died where no format has a part in it. */
static const char *beyond_formats(const hu_diagnosis *x) {
    const hu_failure *death = &x->why.death;
    if (hu_sums_suspected(death)) return NULL;
    if (death->kind == HU_FAILURE_UPDATE)
        return "No other format helps: the update itself was too large. A lower learning rate "
               "(lr=) may.";
    if (death->kind == HU_FAILURE_NAN && death->cause == HU_CAUSE_GIVEN)
        return "No other format helps: the training began with NaN.";
    if (death->kind == HU_FAILURE_INFINITY)
        return "No other format helps: float32 itself had no more range. A lower learning rate "
               "(lr=) or smaller initial weights may.";
    return NULL;
}

/* Whether a training that is long enough to tell does not go well, though nothing died. */
static bool has_own_trouble(const hu_why *why) {
    return !why->trains_well && hu_why_steps_done(why->history) >= HU_STEPS_TO_TELL;
}

/* What no advice was tried on, as the end of a sentence about tensors. */
static const char *tell_beside(const hu_diagnosis *x, const char *sentence, char *text) {
    char beside[HU_BESIDE_BYTES];
    hu_closest closest = hu_closest_find(x);
    if (hu_closest_beside(x, &closest, beside)[0] == '\0') return sentence;
    snprintf(text, HU_REASON_BYTES, "%s Not among what was tried: %s.", sentence, beside);
    return text;
}

/* Whether float32 would not train either is known only where nothing else is rounded. */
static const char *own_trouble(const hu_diagnosis *x, char *text) {
    char beside[HU_BESIDE_BYTES];
    hu_closest closest = hu_closest_find(x);
    if (hu_closest_beside(x, &closest, beside)[0] == '\0')
        return "The loss has hardly fallen, but not for rounding: no tensor loses more than trains "
               "as float32 does. float32 itself may not train so; another learning rate (lr=), a "
               "warm-up (lr.warmup=) or another seed may.";
    snprintf(text, HU_REASON_BYTES,
             "The loss has hardly fallen, but no tensor of the network loses more than trains as "
             "float32 does. What else is rounded may be why: %s. Or float32 itself does not train "
             "so; another learning rate (lr=), a warm-up (lr.warmup=) or another seed may.",
             beside);
    return text;
}

const char *hu_remedy_reason(const hu_diagnosis *x, const hu_remedy *advice,
                             char text[HU_REASON_BYTES]) {
    bool is_hurt = x->why.verdict != HU_VERDICT_FINE;
    if (advice->count > 0) return NULL;
    const char *beyond = is_hurt ? beyond_formats(x) : NULL;
    if (beyond) return beyond;
    if (advice->before.score > 1.0)
        return "None of the formats and loss scales tried halves the largest error.";
    if (!is_hurt && has_own_trouble(&x->why)) return own_trouble(x, text);
    if (!is_hurt) return NULL;
    if (advice->recorded.count == 0)
        return tell_beside(x,
                           "No tensor of the network is rounded: neither another format nor a loss "
                           "scale helps. A lower learning rate (lr=) may.",
                           text);
    if (advice->recorded.histograms == 0)
        return "Nothing was tried: the run recorded no histograms (run.histogram_every=).";
    return tell_beside(
        x, "What the run recorded shows no loss that another format or loss scale mends.", text);
}

/* ---- JSON ---- */

static json_t *tensor_json(const hu_diagnosis *x, const hu_remedy *advice, uint32_t t) {
    char name[HU_TENSOR_NAME_BYTES];
    if (t == HU_NONE) return json_null();
    return json_string(hu_fact_name(x, advice->recorded.tensor[t].place, name));
}

static json_t *outcome_json(const hu_diagnosis *x, const hu_remedy *advice,
                            const hu_remedy_outcome *o) {
    return json_pack("{s:o, s:o, s:o, s:o}", "error", hu_json_number(o->error), "error_tensor",
                     tensor_json(x, advice, o->error_tensor), "lost", hu_json_number(o->lost),
                     "lost_tensor", tensor_json(x, advice, o->lost_tensor));
}

/* Null where nobody could plan it. */
static json_t *bytes_json(uint64_t bytes) {
    return bytes ? json_integer((json_int_t)bytes) : json_null();
}

static json_t *option_json(const hu_diagnosis *x, const hu_remedy *advice,
                           const hu_remedy_option *option) {
    char line[HU_REMEDY_LINE_BYTES];
    const hu_change *change = &option->change;
    json_t *keys = json_array();
    for (int i = 0; i < option->words; i++)
        json_array_append_new(keys, json_string(option->word[i]));
    return json_pack("{s:o, s:s, s:b, s:i, s:i, s:o, s:o}", "keys", keys, "line",
                     hu_remedy_line(option, line), "repairs", hu_remedy_mends(option), "changes",
                     (int)change->changes, "bits", (int)change->bits, "planned_bytes",
                     bytes_json(option->bytes), "after", outcome_json(x, advice, &change->outcome));
}

json_t *hu_remedy_json(const hu_diagnosis *x, const hu_remedy *advice) {
    json_t *options = json_array();
    char text[HU_REASON_BYTES];
    const char *reason = hu_remedy_reason(x, advice, text);
    for (int o = 0; o < advice->count; o++)
        json_array_append_new(options, option_json(x, advice, &advice->option[o]));
    char untold[HU_QUANTIZER_BYTES];
    const char *format = hu_remedy_untold(advice, untold);
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:s?}", "histograms",
                     (json_int_t)advice->recorded.histograms, "tensors",
                     (json_int_t)advice->recorded.count, "before",
                     outcome_json(x, advice, &advice->before), "options", options, "planned_bytes",
                     bytes_json(advice->bytes), "reason",
                     reason ? json_string(reason) : json_null(), "untold_gradients", format);
}

/* ---- text ---- */

static double percent(double share) {
    return 100.0 * share;
}

static const char *name_of(const hu_diagnosis *x, const hu_remedy *advice, uint32_t t, char *name) {
    return t == HU_NONE ? "no tensor" : hu_fact_name(x, advice->recorded.tensor[t].place, name);
}

/* "memory 6.0 MiB (now 2.4)" */
static void write_memory(const hu_remedy *advice, const hu_remedy_option *option,
                         const char *before, FILE *file) {
    const double mib = 1024.0 * 1024.0;
    if (!option->bytes || !advice->bytes) return;
    fprintf(file, "%smemory %.1f MiB (now %.1f)", before, (double)option->bytes / mib,
            (double)advice->bytes / mib);
}

static void write_effect(const hu_diagnosis *x, const hu_remedy *advice,
                         const hu_remedy_option *option, FILE *file) {
    char name[HU_TENSOR_NAME_BYTES];
    const hu_change *change = &option->change;
    const hu_remedy_outcome *before = &advice->before, *after = &change->outcome;
    if (change->changes == 0 && !change->way.is_freed) {
        write_memory(advice, option, "     ", file);
        if (option->bytes && advice->bytes) fputs("\n", file);
        return;
    }
    fprintf(file,
            "     largest error of a tensor %.3g %% (now %.3g %%), largest share lost %.3g %% "
            "(now %.3g %%), worst in %s",
            percent(after->error), percent(before->error), percent(after->lost),
            percent(before->lost), name_of(x, advice, after->error_tensor, name));
    if (change->bits > 0) fprintf(file, "; %d bits more over the roles", (int)change->bits);
    if (change->bad_before)
        fprintf(file, "; gradients in trouble: %u (now %u)", change->bad, change->bad_before);
    write_memory(advice, option, "; ", file);
    if (!advice->is_partial && !hu_remedy_mends(option)) fputs("; does not mend all", file);
    fputs("\n", file);
}

/* Masters and accumulators are no matter of recorded tensors. */
static void write_others(const hu_setup *setup, FILE *file) {
    if (setup->needs_masters)
        fputs("     master=on: weights in a narrow format lose updates that are smaller than half "
              "of its steps\n",
              file);
    if (setup->needs_accumulator)
        fputs("     another accumulator: sums left the range of theirs, or stop growing in it\n",
              file);
}

void hu_remedy_write(const hu_diagnosis *x, const hu_remedy *advice, FILE *file) {
    char line[HU_REMEDY_LINE_BYTES];
    char text[HU_REASON_BYTES];
    const char *reason = hu_remedy_reason(x, advice, text);
    if (reason) fprintf(file, "\n%s\n", reason);
    if (advice->count == 0) return;
    /* What died is told above; a run that trains can lose to many small errors, too. */
    if (x->why.verdict == HU_VERDICT_FINE && advice->before.score > 1.0)
        fputs("\nBut rounding errors are larger than what trains as float32 does.\n", file);
    else
        fputs("\n", file);
    if (advice->recorded.count == 0)
        fputs("To try", file);
    else
        fprintf(file, "To try, by the recorded numbers of all %u rounded tensors in %lld step%s",
                (unsigned)advice->recorded.count, (long long)advice->recorded.histograms,
                advice->recorded.histograms == 1 ? "" : "s");
    fputs(advice->is_partial ? " (none mends it all):\n" : ":\n", file);
    for (int o = 0; o < advice->count; o++) {
        fprintf(file, "  %d. %s\n", o + 1, hu_remedy_line(&advice->option[o], line));
        write_effect(x, advice, &advice->option[o], file);
        if (o == 0) write_others(&advice->setup, file);
    }
    char untold[HU_QUANTIZER_BYTES];
    if (hu_remedy_untold(advice, untold))
        fprintf(file,
                "No gradients were recorded: the run ended before it had any. They stay in %s, of "
                "which nothing is\nknown; the run that try=1 trains tells.\n",
                untold);
    fprintf(file, "`halfulp why %s try=1` trains with the first of them.\n", x->run.folder);
}
