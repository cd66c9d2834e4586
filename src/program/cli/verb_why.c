#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/verb.h"
#include "config/unused_keys.h"
#include "diagnose/answer.h"
#include "diagnose/closest.h"
#include "diagnose/facts.h"
#include "diagnose/failures.h"
#include "diagnose/remedy.h"
#include "diagnose/run_record.h"
#include "diagnose/sentences.h"
#include "diagnose/why.h"
#include "diagnose/wire_remedy.h"
#include "render/table.h"
#include "sweep/retrain.h"

/* ---- What `why` tells, in words ---- */

/* A tensor that was not counted has no elements: its share is 0, not NaN. */
static double percent(uint64_t count, uint64_t elements) {
    return elements ? 100.0 * (double)count / (double)elements : 0.0;
}

/* Whether the text is a format of single numbers, which has a range, or an accumulator of sums in
 * one. */
static bool number_format(const char *text, hu_format *format) {
    hu_quantizer quantizer;
    hu_accumulator accumulator;
    if (hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &quantizer) == HU_OK) {
        *format = quantizer.format;
        return quantizer.kind == HU_QUANTIZER_FLOAT;
    }
    if (hu_accumulator_parse(text, &accumulator) != HU_OK) return false;
    *format = accumulator.format;
    return hu_adder_may_vanish(&accumulator); /* else its sums are float32's */
}

/* The range of a tensor's format, in numbers and powers of two. */
static void print_range(const char *name) {
    hu_format format;
    if (!number_format(name, &format)) return;
    hu_format_limits limits = hu_format_limits_of(&format);
    printf("%s holds numbers up to %.6g (below 2^%d), normal ones from 2^%d, the smallest is "
           "2^%.0f.\n",
           name, limits.max_finite, limits.emax + 1, limits.emin, log2(limits.min_subnormal));
}

/* What one input of the dead tensor was like in that step. Sums that were not counted are passed
 * over: their parts are told. */
static void print_source(const hu_diagnosis *x, uint32_t place, int64_t step) {
    char name[HU_TENSOR_NAME_BYTES], text[HU_MAGNITUDES_BYTES];
    hu_condition condition = hu_why_condition(&x->why, place, step);
    if (!condition.record && x->run.walk.tensor[place].kind == HU_TENSOR_SUM) return;
    printf("  %-34s ", hu_fact_name(x, place, name));
    if (!condition.record) {
        puts("not counted in that step");
        return;
    }
    const hu_round_counts *c = &condition.record->counts;
    printf("%-12s ", x->run.history->formats.name[condition.record->format]);
    fputs(hu_magnitudes_words(c, text), stdout);
    if (c->overflow) printf(", %.3g %% overflowed", percent(c->overflow, c->elements));
    if (c->underflow)
        printf(", %.3g %% of the nonzero vanished", percent(c->underflow, hu_nonzero_before(c)));
    if (c->nan) printf(", %.3g %% NaN", percent(c->nan, c->elements));
    if (c->zero) printf(", %.3g %% zero", percent(c->zero, c->elements));
    puts("");
}

/* Whether the tensor made the loss itself, got it, or began with it; and what it is made of. */
static void print_cause(const hu_diagnosis *x, const hu_failure *death) {
    /* Inputs that are told; a tensor with more of them is told with the first. */
    enum { ROOM = 64 };
    uint32_t source[ROOM],
        count = hu_tensor_order_sources(&x->run.walk, death->place, ROOM, source);
    const hu_value_info *value = &x->run.graph->value[x->run.walk.tensor[death->place].value];
    switch (death->cause) {
    case HU_CAUSE_MADE_HERE:
        if (death->kind == HU_FAILURE_LOST) {
            puts("Without master weights a weight keeps of an update what its own format holds; "
                 "with\n"
                 "master=on small updates add up.");
            return;
        }
        if (death->kind == HU_FAILURE_UNDERFLOW)
            puts("Its own rounding lost them; it is made of:");
        else if (death->kind != HU_FAILURE_UPDATE)
            puts("It produced them itself; what it is made of was alive:");
        else if (value->role == HU_VALUE_BUFFER)
            puts("The statistics of the batch were beyond float32; they are of:");
        else
            puts("The gradient was finite, but not the weights behind the update: a lower learning "
                 "rate\nmakes smaller ones.");
        break;
    case HU_CAUSE_INHERITED:
        puts("It only passed on what it got:");
        break;
    /* Nothing in the graph makes such a tensor: it is loaded, drawn, or changed by updates. */
    case HU_CAUSE_GIVEN:
        if (hu_is_loaded(value))
            puts("The data are such, before anything is rounded.");
        else
            puts(death->step == 0 ? "The training began with such weights (see model.init)."
                                  : "The weights have become so by their updates.");
        break;
    default:
        puts("Whether it produced them is not known: not all that it is made of is rounded, and\n"
             "such tensors are counted every run.histogram_every steps and in skipped steps only:");
    }
    for (uint32_t i = 0; i < count && i < ROOM; i++) print_source(x, source[i], death->step);
}

/* Formats that would have held the numbers, and what the others would have lost. NaN is held by
 * none, an update is no rounding. */
static void print_fits(const hu_diagnosis *x, const hu_failure *death) {
    bool is_any = false;
    if (death->kind == HU_FAILURE_NAN || death->kind == HU_FAILURE_UPDATE) return;
    printf("Formats that would have held it:");
    for (int f = 0; f < x->run.candidates.count; f++) {
        if (!hu_fact_fit(x, death->place, death->step, f).holds) continue;
        printf("%s %s", is_any ? "," : "", x->run.candidates.name[f]);
        is_any = true;
    }
    puts(is_any ? "" : " none of those tried");
    for (int f = 0; f < x->run.candidates.count; f++) {
        hu_fit fit = hu_fact_fit(x, death->place, death->step, f);
        if (fit.holds || !fit.has_shares) continue;
        printf("  %-12s would have lost %.3g %% by overflow, %.3g %% of the nonzero by underflow\n",
               x->run.candidates.name[f], 100.0 * fit.lost.overflow.share, 100.0 * fit.vanished);
    }
}

static void print_wire(const hu_diagnosis *x, uint32_t place, const hu_failure *death) {
    char text[HU_WIRE_WORDS_BYTES];
    fputs(hu_wire_words(&x->run, &x->why, place, death, text), stdout);
}

/* The whole story of one death: what, in which format, who made it, why, what would have helped. */
static void print_death(const hu_diagnosis *x, const hu_failure *death) {
    char name[HU_TENSOR_NAME_BYTES], maker[512], text[HU_LOSS_WORDS_BYTES];
    char state[HU_STATE_WORDS_BYTES];
    const char *format;
    hu_round_counts c = hu_fact_counts(x, death, &format);
    printf("%s, step %lld: ", hu_fact_failure_name(x, death, name), (long long)death->step);
    printf("%s", hu_loss_words(x, death, &c, format, text));
    if (death->steps > 1) printf("; so it was %s", hu_duration_words(death, text));
    puts(".");
    print_range(format);
    hu_fact_maker(x, death->place, maker, sizeof maker);
    /* The maker's words begin a sentence here. */
    printf("%c%s.\n", maker[0] >= 'a' && maker[0] <= 'z' ? maker[0] - 'a' + 'A' : maker[0],
           maker + 1);
    print_cause(x, death);
    if (death->spread)
        printf("From there they reached %u tensor%s made behind it in the same step.\n",
               death->spread, death->spread == 1 ? "" : "s");
    if (hu_is_on_wire(&x->run, death->place)) {
        print_wire(x, death->place, death);
        return;
    }
    char sums[HU_SUMS_WORDS_BYTES];
    fputs(hu_sums_failure_words(x, death, sums), stdout);
    /* Other formats of the tensor do not help these. */
    if (hu_sums_suspected(death) || death->kind == HU_FAILURE_LOST ||
        death->kind == HU_FAILURE_EVALUATION)
        return;
    print_fits(x, death);
    fputs(hu_state_words(x, death, state), stdout);
}

/* Numbers of a scale of few bits end, too: E4M3FN's least is rounded to from 2^-10 on, and a scale
 * of 448 is that of the largest block. */
static void print_scales(const hu_closest *c) {
    if (c->number_scales)
        printf("Scales of blocks end, too: a block of %s whose largest number is below 1/458752 of "
               "the tensor's\nbecomes zero.\n",
               c->number_scales);
}

/* Largest numbers against the ends of the formats. */
static void print_headroom(const hu_closest *c) {
    if (c->overflow_tensor) {
        int binades = (int)(c->headroom < 0 ? -c->headroom : c->headroom);
        printf("Closest to overflow: %s (%s), whose largest number was %d %s %s the largest of its "
               "format (by step %lld).\n",
               c->overflow_tensor, c->overflow_format, binades, binades == 1 ? "binade" : "binades",
               c->headroom < 0 ? "above" : "below", (long long)c->overflow_step);
    } else if (c->rounds_own || c->rounds_state) {
        puts(c->all_current
                 ? "Every tensor has a scale of its own (scale=current), so nothing is too "
                   "large for its format."
                 : "Every format is scaled to its numbers, so none ends at a fixed one.");
    }
    if (c->wire_scaling)
        printf("What workers send is scaled to the end of its format (scaling=%s).\n",
               c->wire_scaling);
    print_scales(c);
}

static void print_loss(const char *how, const hu_closest_loss *loss, const char *of) {
    if (!loss->tensor) return;
    printf("Lost most by %s: %s (%s), %.3g %% of its %s in ", how, loss->tensor, loss->format,
           100.0 * loss->share, of);
    if (loss->steps == 1)
        printf("its worst step, %lld", (long long)loss->step);
    else
        printf("its worst %lld steps, up to %lld", (long long)loss->steps, (long long)loss->step);
    if (loss->all_steps > loss->steps)
        printf("; %.3g %% over all %lld steps that counted it", 100.0 * loss->all,
               (long long)loss->all_steps);
    puts(".");
}

/* Rounded tensors. */
static void print_tensors(const hu_closest *c) {
    if (!c->is_counted) {
        puts("Every recorded step was skipped, so none tells how near numbers came to an end.");
        return;
    }
    print_headroom(c);
    print_loss("saturation", &c->saturation, "numbers");
    print_loss("underflow", &c->underflow, "nonzero numbers");
    if (!c->underflow.tensor) puts("No number became zero by rounding.");
    print_loss("updates that changed nothing", &c->updates, "updates");
}

/* For a run in which nothing died: how near it came. Rounded is more than tensors of the network.
 */
static void print_closest(const hu_diagnosis *x) {
    char beside[HU_BESIDE_BYTES], sums[HU_SUMS_WORDS_BYTES];
    hu_closest c = hu_closest_find(x);
    if (hu_fact_last_step(x) < 0) return;
    hu_closest_beside(x, &c, beside);
    if (!c.rounds_own && beside[0])
        printf("Every tensor of the network is float32. Rounded are: %s.\n", beside);
    else if (!c.rounds_own)
        puts("Nothing is rounded: every tensor is float32.");
    if (c.rounds) print_tensors(&c);
    fputs(hu_sums_run_words(x, sums), stdout);
    if (!x->run.history->collapsed || c.rounds_own) return;
    puts(beside[0]
             ? "Whether that is why it learned nothing, the same training without it tells."
             : "That it learned nothing has other causes than formats: look at the learning rate, "
               "the number\nof updates and the data.");
}

/* Deaths beside the one that was explained, the worst first. Those that only got its zeros are told
 * with it. */
static void print_others(const hu_diagnosis *x) {
    /* Lines of a screen; the rest is counted. */
    enum { SHOWN = 5 };
    char name[HU_TENSOR_NAME_BYTES], text[HU_MAGNITUDES_BYTES];
    int shown = 0, more = 0;
    for (size_t d = 0; d < x->why.death_count; d++) {
        const hu_failure *death = &x->why.deaths[d];
        bool is_same = death->kind == x->why.death.kind || (death->sums && x->why.death.sums);
        if (death->place == x->why.death.place && is_same) continue;
        if (hu_propagated_only(&x->why, death)) continue;
        if (shown == SHOWN) {
            more++;
            continue;
        }
        if (shown++ == 0) puts("\nOther tensors of which much was lost, the worst first:");
        printf("  step %-6lld %-34s %-10s %.3g %% %s\n", (long long)death->step,
               hu_fact_failure_name(x, death, name), hu_failure_kind_name(death->kind),
               100.0 * death->share, hu_duration_words(death, text));
    }
    if (more) printf("  and %d more\n", more);
}

/* Tensors in trouble that did not die, those that lost the largest shares first. */
static void print_troubled(const hu_diagnosis *x) {
    enum { SHOWN = 5 };
    char text[HU_MAGNITUDES_BYTES];
    const hu_history *history = x->run.history;
    const hu_event_record *last = NULL, *next;
    uint32_t shown = 0;
    for (; shown < SHOWN && (next = hu_closest_troubled(x, last)) != NULL; last = next) {
        const hu_failure loss = {.step = next->step, .steps = next->steps, .last = next->last};
        if (shown++ == 0) puts("In trouble were, from the first such step on:");
        printf("  step %-6lld %-34s %-12s %.3g %% of its nonzero numbers %s\n",
               (long long)next->step, history->tensors.name[next->tensor],
               history->formats.name[next->format], 100.0 * hu_event_share(next),
               hu_duration_words(&loss, text));
    }
    if (x->why.trouble.lost > shown && shown > 0)
        printf("  and %u more\n", x->why.trouble.lost - shown);
    if (shown) puts("");
}

/* What a training without deaths told of itself, by the same measure. */
static void print_fine(const hu_diagnosis *x, long long last) {
    char words[HU_TROUBLE_BYTES];
    const hu_trouble *trouble = &x->why.trouble;
    if (hu_is_in_trouble(trouble))
        printf("%s: up to step %lld, %s, but nothing died.", x->run.folder, last,
               hu_trouble_words(trouble, words));
    else
        printf("%s: nothing died up to step %lld.", x->run.folder, last);
}

static void print_hurt(const hu_diagnosis *x, long long last) {
    char words[HU_TROUBLE_BYTES];
    printf("%s went on to step %lld, but numbers died on the way", x->run.folder, last);
    if (hu_is_in_trouble(&x->why.trouble)) printf(": %s", hu_trouble_words(&x->why.trouble, words));
    printf(".");
}

/* The tensor that the user named, in the step of the death or the last. */
static void print_asked(const hu_diagnosis *x, uint32_t place) {
    int64_t step = x->why.death.place == HU_NONE ? hu_fact_last_step(x) : x->why.death.step;
    hu_failure death = {.place = place, .step = step, .cause = hu_why_cause(&x->why, place, step)};
    char name[HU_TENSOR_NAME_BYTES];
    hu_condition condition = hu_why_condition(&x->why, place, step);
    printf("\n%s at step %lld: %s.\n", hu_fact_name(x, place, name), (long long)step,
           !condition.record                   ? "not counted in that step"
           : condition.kind == HU_FAILURE_NONE ? "alive"
                                               : hu_failure_kind_name(condition.kind));
    if (condition.record) print_source(x, place, step);
    print_wire(x, place, &(hu_failure){.kind = HU_FAILURE_NONE, .step = step});
    if (condition.kind != HU_FAILURE_NONE) print_cause(x, &death);
}

/* The whole in words, to stdout. */
static void why_print(const hu_diagnosis *x, uint32_t asked) {
    /* Verdict first, then the death, then what came after it. */
    const hu_why *why = &x->why;
    long long last = (long long)hu_fact_last_step(x);
    char followed[HU_FOLLOWED_BYTES];
    const char *collapsed = x->run.history->collapsed;
    if (why->verdict == HU_VERDICT_DIVERGED)
        printf("%s diverged at step %lld.", x->run.folder, last);
    else if (why->verdict == HU_VERDICT_HURT)
        print_hurt(x, last);
    else
        print_fine(x, last);
    if (why->skipped && why->verdict != HU_VERDICT_DIVERGED)
        printf(" %zu steps were skipped, which loss scaling does to find its scale.", why->skipped);
    if (collapsed) printf(" It collapsed: %s.", collapsed);
    puts("\n");
    if (why->death.place != HU_NONE && (collapsed || why->end.place != HU_NONE))
        puts("What went wrong first:");
    if (why->death.place != HU_NONE) print_death(x, &why->death);
    fputs(hu_propagated_words(why, followed), stdout);
    if (why->end.place != HU_NONE) {
        puts("\nThe training ended later with:");
        print_death(x, &why->end);
    }
    if (why->verdict == HU_VERDICT_FINE) print_troubled(x);
    if (why->verdict == HU_VERDICT_FINE) print_closest(x);
    print_others(x);
    if (asked != HU_NONE) print_asked(x, asked);
    if (x->run.history->warning[0]) printf("\n(%s)\n", x->run.history->warning);
}

/* ---- Halfulp why: where the numbers of a run died ---- */

/* Tensors that a glob names, instead of the story. */
static hu_status print_listed(const hu_diagnosis *x, const char *glob, bool as_json) {
    hu_status st = HU_OK;
    hu_tensor_table_row *tensor = NULL;
    hu_table *table = NULL;
    uint32_t count;
    HU_TRY(hu_tensor_table_create(&x->run, glob, &tensor, &count));
    if (as_json)
        HU_TRY(hu_json_print(json_pack("{s:s, s:o}", "run", x->run.folder, "tensors",
                                       hu_tensor_table_json(tensor, count))));
    if (!as_json) HU_TRY(hu_tensor_table_table(tensor, count, &table));
    if (!as_json) HU_TRY(hu_show_table(table));
done:
    hu_table_free(table);
    hu_free(tensor);
    return st;
}

static const char *const why_keys[] = {"bench.format", "why.try", "run.threads",
                                       "run.seed",     "run.dir", NULL};

/* What is asked of try=; without it nothing trains, and nothing reads the keys of a training. */
static hu_status read_request(const hu_config *config, hu_try_request *request) {
    static const char *const keys[] = {"bench.format", "why.try", NULL};
    hu_status st = HU_OK;
    *request = (hu_try_request){0};
    HU_TRY(hu_config_i64(config, "why.try", &request->number));
    HU_TRY(hu_keys_used(config, "why", request->number > 0 ? why_keys : keys));
    request->threads = hu_config_typed(config, "run.threads");
    request->seed = hu_config_typed(config, "run.seed");
    if (hu_config_given(config, "run.dir") && !hu_config_is_auto(config, "run.dir"))
        HU_TRY(hu_config_text(config, "run.dir", &request->folder));
done:
    return st;
}

static hu_status run_why(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    uint32_t asked;
    hu_answer answer = {0};
    hu_try_request request;
    const char *formats, *name = hu_config_subject(config, 1);
    const hu_diagnosis *x = &answer.x;
    bool as_json = hu_config_flag(config, "json", NULL);
    (void)exit_code;
    HU_TRY(read_request(config, &request));
    HU_TRY(hu_config_text(config, "bench.format", &formats));
    HU_TRY(hu_answer_open(hu_config_subject(config, 0), formats, &answer));
    if (name && name[strcspn(name, "*?")]) {
        HU_TRY(print_listed(x, name, as_json));
        goto done;
    }
    HU_TRY(hu_fact_place(x, name, &asked));
    HU_TRY(hu_answer_advise(&answer));
    hu_remedy *advice = hu_answer_advice(&answer);
    if (advice) HU_TRY(hu_remedy_price(x->run.folder, advice));
    if (request.number > 0) {
        HU_TRY(hu_why_try(x, advice, &request, as_json));
    } else if (as_json) {
        st = hu_json_print(hu_answer_json(&answer, asked));
    } else {
        why_print(x, asked);
        if (advice) hu_remedy_write(x, advice, stdout);
    }
done:
    hu_answer_close(&answer);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_why = {
    .name = "why",
    .group = HU_VERBS_UNDERSTAND,
    .help = "where the numbers of a run died: tensor, step, cause, what would have held them",
    .usage = "RUN [TENSOR|GLOB] [format=F,...] [try=N [run.dir=DIR] [threads=N] [seed=N]] [--json]",
    .details =
        "Of a run that diverged: names the first tensor with infinities or NaNs in the step with\n"
        "which it ended. Else the worst of those of which much was lost for at least half of the\n"
        "time: by how much, how long, and how many others are made of it. All zero, 90 % too "
        "small\n"
        "or half too large is much; less is only where the error is a tenth of the tensor's sum "
        "of\n"
        "squares and the loss has not fallen by a fifth. Else the one that came closest. Tells\n"
        "whether it made the loss itself or got it, and which of the formats of format= would "
        "have\n"
        "held its numbers. Of a product's output the accumulator is asked first (accumulator=).\n"
        "TENSOR asks for another one; a GLOB lists what became of all that it\n"
        "names ('*.wire': gradients between workers, as sent; '*.momentum', '*.squares': state of "
        "the\n"
        "optimizer that optimizer.state= packs).\n"
        "Says what to try: other formats for a role, a loss scale, another rule; each is tried on\n"
        "the recorded numbers of all tensors first. try=1 trains the run again with the first,\n"
        "into run.dir= (RUN-try1), with threads= and seed=.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = 2,
    .keys = why_keys,
    .refuses_others = true,
    .examples = {{"why RUN", "where numbers died, and what to try"},
                 {"why RUN '*.grad'", "what became of all gradients"}},
    .run = run_why,
};
