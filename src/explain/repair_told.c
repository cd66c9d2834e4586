#include "explain/repair_told.h"

#include <stdio.h>
#include <string.h>

#include "explain/closest.h"
#include "explain/harm.h"
#include "explain/sums.h"
#include "show/json.h"

const char *hu_repair_line(const hu_repair_option *option, char *text) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < option->words; i++) {
        const char *word = option->word[i];
        /* Lists have quotes, brackets and blanks, formats may have brackets. */
        const char *quote = strpbrk(word, "'[]() ;*?&|<>#$\\") ? "\"" : "";
        int more = snprintf(text + used, HU_REPAIR_LINE_BYTES - used, "%s%s%s%s", i ? " " : "",
                            quote, word, quote);
        if (more < 0 || (used += (size_t)more) >= HU_REPAIR_LINE_BYTES) break;
    }
    return text;
}

/* Whether the numbers died where no format has a part in it. */
static const char *beyond_formats(const hu_explaining *x) {
    const hu_death *death = &x->why.death;
    if (hu_sums_suspected(death)) return NULL;
    if (death->kind == HU_DEATH_UPDATE)
        return "No other format helps: the update itself was too large. A lower learning rate "
               "(lr=) may.";
    if (death->kind == HU_DEATH_NAN && death->cause == HU_CAUSE_GIVEN)
        return "No other format helps: the training began with NaN.";
    if (death->kind == HU_DEATH_INFINITY)
        return "No other format helps: float32 itself had no more range. A lower learning rate "
               "(lr=) or smaller initial weights may.";
    return NULL;
}

/* Whether a training that is long enough to tell does not go well, though nothing died. */
static bool has_own_trouble(const hu_why *why) {
    return !why->trains_well && hu_why_steps_done(why->history) >= HU_STEPS_TO_TELL;
}

/* What no advice was tried on, as the end of a sentence about tensors. */
static const char *tell_beside(const hu_explaining *x, const char *sentence, char *text) {
    char beside[HU_BESIDE_BYTES];
    hu_closest closest = hu_closest_find(x);
    if (hu_closest_beside(x, &closest, beside)[0] == '\0') return sentence;
    snprintf(text, HU_REASON_BYTES, "%s Not among what was tried: %s.", sentence, beside);
    return text;
}

/* Whether float32 would not train either is known only where nothing else is rounded. */
static const char *own_trouble(const hu_explaining *x, char *text) {
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

const char *hu_repair_reason(const hu_explaining *x, const hu_repair *advice,
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

static json_t *tensor_json(const hu_explaining *x, const hu_repair *advice, uint32_t t) {
    char name[HU_TENSOR_NAME_BYTES];
    if (t == HU_NONE) return json_null();
    return json_string(hu_fact_name(x, advice->recorded.tensor[t].place, name));
}

static json_t *outcome_json(const hu_explaining *x, const hu_repair *advice, const hu_outcome *o) {
    return json_pack("{s:o, s:o, s:o, s:o}", "error", hu_json_number(o->error), "error_tensor",
                     tensor_json(x, advice, o->error_tensor), "lost", hu_json_number(o->lost),
                     "lost_tensor", tensor_json(x, advice, o->lost_tensor));
}

/* Null where nobody could plan it. */
static json_t *bytes_json(uint64_t bytes) {
    return bytes ? json_integer((json_int_t)bytes) : json_null();
}

static json_t *option_json(const hu_explaining *x, const hu_repair *advice,
                           const hu_repair_option *option) {
    char line[HU_REPAIR_LINE_BYTES];
    const hu_change *change = &option->change;
    json_t *keys = json_array();
    for (int i = 0; i < option->words; i++)
        json_array_append_new(keys, json_string(option->word[i]));
    return json_pack("{s:o, s:s, s:b, s:i, s:i, s:o, s:o}", "keys", keys, "line",
                     hu_repair_line(option, line), "repairs", hu_repair_mends(option), "changes",
                     (int)change->changes, "bits", (int)change->bits, "planned_bytes",
                     bytes_json(option->bytes), "after", outcome_json(x, advice, &change->outcome));
}

json_t *hu_repair_json(const hu_explaining *x, const hu_repair *advice) {
    json_t *options = json_array();
    char text[HU_REASON_BYTES];
    const char *reason = hu_repair_reason(x, advice, text);
    for (int o = 0; o < advice->count; o++)
        json_array_append_new(options, option_json(x, advice, &advice->option[o]));
    char untold[HU_QUANTIZER_BYTES];
    const char *format = hu_repair_untold(advice, untold);
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

static const char *name_of(const hu_explaining *x, const hu_repair *advice, uint32_t t,
                           char *name) {
    return t == HU_NONE ? "no tensor" : hu_fact_name(x, advice->recorded.tensor[t].place, name);
}

/* "memory 6.0 MiB (now 2.4)" */
static void write_memory(const hu_repair *advice, const hu_repair_option *option,
                         const char *before, FILE *file) {
    const double mib = 1024.0 * 1024.0;
    if (!option->bytes || !advice->bytes) return;
    fprintf(file, "%smemory %.1f MiB (now %.1f)", before, (double)option->bytes / mib,
            (double)advice->bytes / mib);
}

static void write_effect(const hu_explaining *x, const hu_repair *advice,
                         const hu_repair_option *option, FILE *file) {
    char name[HU_TENSOR_NAME_BYTES];
    const hu_change *change = &option->change;
    const hu_outcome *before = &advice->before, *after = &change->outcome;
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
    if (!advice->is_partial && !hu_repair_mends(option)) fputs("; does not mend all", file);
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

void hu_repair_write(const hu_explaining *x, const hu_repair *advice, FILE *file) {
    char line[HU_REPAIR_LINE_BYTES];
    char text[HU_REASON_BYTES];
    const char *reason = hu_repair_reason(x, advice, text);
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
        fprintf(file, "  %d. %s\n", o + 1, hu_repair_line(&advice->option[o], line));
        write_effect(x, advice, &advice->option[o], file);
        if (o == 0) write_others(&advice->setup, file);
    }
    char untold[HU_QUANTIZER_BYTES];
    if (hu_repair_untold(advice, untold))
        fprintf(file,
                "No gradients were recorded: the run ended before it had any. They stay in %s, of "
                "which nothing is\nknown; the run that try=1 trains tells.\n",
                untold);
    fprintf(file, "`halfulp why %s try=1` trains with the first of them.\n", x->run.folder);
}
