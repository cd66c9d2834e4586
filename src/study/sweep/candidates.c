#include "sweep/retrain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "render/json.h"
#include "settings/options.h"
#include "settings/saved_data.h"
#include "sweep/search.h"
#include "train/trainer.h"

/* ---- What advice costs: the memory that a training would hold with it ---- */

enum { FIXED_WORDS = 4, PATH_BYTES = 4096 };

/* The run's configuration with the words of an option, NULL: as it is. Words are borrowed by the
 * configuration. */
typedef struct words {
    char file[PATH_BYTES + 64], word[HU_REMEDY_WORDS][HU_REMEDY_WORD_BYTES];
    char *argv[FIXED_WORDS + HU_REMEDY_WORDS];
    int argc;
} words;

static void take_word(words *w, char *word) {
    w->argv[w->argc++] = word;
}

static void make_words(const char *folder, const hu_remedy_option *option, words *w) {
    static char program[] = "halfulp", verb[] = "plan", fresh[] = "scaler.init=auto";
    bool sets_scaler = false, sets_init = false;
    w->argc = 0;
    snprintf(w->file, sizeof w->file, "config=%s/config.resolved.yaml", folder);
    take_word(w, program);
    take_word(w, verb);
    take_word(w, w->file);
    for (int i = 0; option && i < option->words; i++) {
        memcpy(w->word[i], option->word[i], sizeof w->word[i]);
        sets_scaler |= strncmp(w->word[i], "scaler=", 7) == 0;
        sets_init |= strncmp(w->word[i], "scaler.init=", 12) == 0;
        take_word(w, w->word[i]);
    }
    if (sets_scaler && !sets_init) take_word(w, fresh);
}

static hu_status plan(const char *folder, words *w, uint64_t *bytes) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_dataset *dataset = NULL;
    hu_precision precision = {0};
    hu_train_options options;
    hu_trainer *trainer = NULL;
    const hu_config_request request = {.argc = w->argc, .argv = w->argv, .verb_index = 1};
    HU_TRY(hu_config_load(&request, &config));
    HU_TRY(hu_unread_data_open(config, folder, &dataset));
    HU_TRY(hu_options_train(config, dataset, &precision, &options));
    options.run.is_plan = true;
    HU_TRY(hu_trainer_create(&options, dataset, &trainer));
    *bytes = hu_trainer_ledger(trainer).total;
done:
    hu_trainer_free(trainer);
    hu_precision_free(&precision);
    hu_dataset_close(dataset);
    hu_config_free(config);
    return st;
}

/* What cannot be planned has no price, and is no failure of who asks why. */
static hu_status price(const char *folder, const hu_remedy_option *option, uint64_t *bytes) {
    words w;
    *bytes = 0;
    if (strlen(folder) >= PATH_BYTES) return HU_OK;
    make_words(folder, option, &w);
    hu_status st = plan(folder, &w, bytes);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

hu_status hu_remedy_price(const char *folder, hu_remedy *advice) {
    hu_status st = HU_OK;
    if (advice->count == 0) return HU_OK;
    HU_TRY(price(folder, NULL, &advice->bytes));
    for (int o = 0; o < advice->count && advice->bytes; o++)
        HU_TRY(price(folder, &advice->option[o], &advice->option[o].bytes));
done:
    return st;
}

/* ---- assign candidates ---- */

/* Candidates of a search: which sets of groups fit the budget, and which ones are tried instead of
 * those that promotions take beyond it. */

/* Most refills of one candidate: promotions of a smaller set may cost more again. */
enum { REFILLS = 4, HALVINGS = 12 };

/* Whether an earlier order found the same set. */
static hu_assign_candidate *find_known(const hu_assign *assign, const bool *low) {
    for (uint32_t i = 0; i < assign->count; i++)
        if (memcmp(assign->candidate[i].low, low, assign->groups.tensors.count * sizeof *low) == 0)
            return &assign->candidate[i];
    return NULL;
}

/* The name is a hash of the set: the same set is the same training, whatever order found it, and is
 * found again by the next command. */
static hu_status name_candidate(const hu_assign *assign, hu_assign_candidate *c) {
    enum { ITEM_BYTES = 20 };
    char *groups = NULL;
    size_t used = 0, capacity = (size_t)assign->groups.tensors.count * ITEM_BYTES + 1;
    hu_status st = HU_NEW_ARRAY(&groups, capacity);
    if (st != HU_OK) return st;
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++)
        if (c->low[g])
            used +=
                (size_t)snprintf(groups + used, capacity - used, "%sgroup:%u", used ? ", " : "", g);
    snprintf(c->name, sizeof c->name, "low-%08x", (unsigned)XXH64(groups, strlen(groups), 0));
    snprintf(c->path, sizeof c->path, "%s/plans/%s.yaml", assign->directory, c->name);
    hu_free(groups);
    return hu_assign_write_plan(assign, c->low, c->path, NULL);
}

/* Bits with every group low that saves any when its tensors that overflow are high. */
static int64_t least_bits(const hu_search_groups *groups) {
    int64_t bits = groups->all_high;
    for (uint32_t g = 0; g < groups->tensors.count; g++) {
        int64_t saved = groups->saved[g] - groups->promoted[g];
        bits -= saved > 0 ? saved : 0;
    }
    return bits;
}

/* Fills to so many bits with the promotions that are expected, and measures what the budget counts
 * of them. */
static hu_status fill(const hu_assign *assign, hu_assign_candidate *c, int64_t most) {
    int64_t ignored;
    hu_status st =
        hu_search_fill(&assign->groups, c->order, c->seed, most, c->is_trimmed, c->low, &ignored);
    return st == HU_OK ? hu_assign_plan_size(assign, c->low, true, &c->expected) : st;
}

/* Fills to a share of float32's. Shares of the ledger are no sum over groups: the bits that lead to
 * them are searched for by halving. */
static hu_status fill_share(const hu_assign *assign, hu_assign_candidate *c, double share) {
    hu_status st = HU_OK;
    const double slack = 1e-9;
    int64_t least = least_bits(&assign->groups), most = assign->groups.all_high;
    if (assign->kind == HU_BUDGET_METRIC || assign->kind == HU_BUDGET_MEMORY)
        return fill(assign, c, (int64_t)(share * (double)assign->groups.all_plain));
    for (int i = 0; i < HALVINGS && least < most; i++) {
        int64_t middle = least + (most - least + 1) / 2;
        HU_TRY(fill(assign, c, middle));
        if (c->expected <= share + slack)
            least = middle;
        else
            most = middle - 1;
    }
    HU_TRY(fill(assign, c, least));
done:
    return st;
}

/* What its low groups lose and how many they are, and its size before promotions. */
static hu_status weigh(const hu_assign *assign, hu_assign_candidate *c) {
    c->groups_low = 0;
    c->bits = hu_search_bits(&assign->groups, c->low, false);
    c->loss = 0.0;
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++) {
        c->groups_low += c->low[g];
        c->loss += c->low[g] ? assign->groups.loss[g] : 0.0;
    }
    return hu_assign_plan_size(assign, c->low, false, &c->planned);
}

/* Adds what an order makes of a limit, unless it is present already. like: order, seed, trimming,
 * refills. */
static hu_status add_candidate(hu_assign *assign, const hu_assign_candidate *like, double share,
                               bool *added) {
    hu_status st = HU_OK;
    const double slack = 1e-9;
    hu_assign_candidate c = {.order = like->order,
                             .seed = like->seed,
                             .is_trimmed = like->is_trimmed,
                             .is_plain = like->order == HU_SEARCH_SIZE && !like->is_trimmed,
                             .refills = like->refills};
    *added = false;
    HU_TRY(HU_NEW_ARRAY(&c.low, assign->groups.tensors.count));
    HU_TRY(fill_share(assign, &c, share));
    HU_TRY(weigh(assign, &c));
    hu_assign_candidate *known = find_known(assign, c.low);
    if (known) known->is_plain = known->is_plain || c.is_plain;
    if (known || c.expected > share + slack || c.groups_low == 0) goto done;
    void *block = assign->candidate;
    size_t capacity = assign->capacity;
    HU_TRY(hu_grow(&block, assign->count, &capacity, sizeof *assign->candidate));
    assign->candidate = block;
    assign->capacity = (uint32_t)capacity;
    HU_TRY(name_candidate(assign, &c));
    assign->candidate[assign->count++] = c;
    *added = true;
    return HU_OK;
done:
    hu_free(c.low);
    return st;
}

/* Every order under one limit. */
static hu_status add_orders(hu_assign *assign, double share) {
    hu_status st = HU_OK;
    bool added;
    for (int trims = 0; trims <= 1; trims++)
        for (int order = 0; order < HU_SEARCH_RANDOM; order++) {
            hu_assign_candidate like = {.order = (hu_search_order)order, .is_trimmed = trims};
            if (order == HU_SEARCH_TRAINED && assign->short_runs.steps == 0) continue;
            HU_TRY(add_candidate(assign, &like, share, &added));
        }
    for (int64_t i = 0; i < assign->random_orders; i++) {
        hu_assign_candidate like = {
            .order = HU_SEARCH_RANDOM, .seed = (uint64_t)i + 1, .is_trimmed = true};
        HU_TRY(add_candidate(assign, &like, share, &added));
    }
done:
    return st;
}

/* Plain demotion, and what the gradient says, to a smaller limit. */
static hu_status add_smaller(hu_assign *assign, double share) {
    hu_status st = HU_OK;
    bool added;
    hu_assign_candidate size = {.order = HU_SEARCH_SIZE};
    hu_assign_candidate loss = {.order = HU_SEARCH_LOSS, .is_trimmed = true};
    HU_TRY(add_candidate(assign, &size, share, &added));
    HU_TRY(add_candidate(assign, &loss, share, &added));
done:
    return st;
}

/* Every group low: the least that there is with the promotions that are expected. */
static hu_status least_share(const hu_assign *assign, double *share) {
    hu_assign_candidate all = {.order = HU_SEARCH_SIZE};
    hu_status st = HU_NEW_ARRAY(&all.low, assign->groups.tensors.count);
    if (st == HU_OK) st = fill(assign, &all, least_bits(&assign->groups));
    *share = all.expected;
    hu_free(all.low);
    return st;
}

hu_status hu_assign_make_candidates(hu_assign *assign) {
    /* For a metric: parts of what all groups together can save. For a size: what is left of it for
     * a set whose promotions cost the rest. */
    static const double parts[] = {1.0, 0.9, 0.75, 0.6, 0.45, 0.3}, smaller[] = {0.97, 0.94, 0.88};
    enum { PARTS = sizeof parts / sizeof *parts, SMALLER = sizeof smaller / sizeof *smaller };
    hu_status st = HU_OK;
    double least, high = hu_assign_share(assign, (double)assign->groups.all_high);
    HU_TRY(least_share(assign, &least));
    if (assign->kind == HU_BUDGET_METRIC) {
        for (int p = 0; p < PARTS; p++)
            HU_TRY(add_orders(assign, high - parts[p] * (high - least)));
        goto done;
    }
    HU_TRY(add_orders(assign, assign->budget));
    for (int p = 0; p < SMALLER; p++)
        if (smaller[p] * assign->budget > least)
            HU_TRY(add_smaller(assign, smaller[p] * assign->budget));
    HU_TRY(add_smaller(assign, least));
done:
    return st;
}

hu_status hu_assign_refill(hu_assign *assign, uint32_t i, int rung, bool *added) {
    const hu_assign_candidate *c = &assign->candidate[i];
    double limit = assign->budget - (c->rung[rung].size - c->expected), least;
    hu_assign_candidate like = *c;
    *added = false;
    if (c->refills >= REFILLS) return HU_OK;
    hu_status st = least_share(assign, &least);
    /* Promotions took as much as the budget leaves: only the least remains. */
    if (limit < least) limit = least;
    like.refills++;
    return st == HU_OK ? add_candidate(assign, &like, limit, added) : st;
}

/* ---- assign short ---- */

/* What short trainings lose with one group low each: they go on where float32 ended, for a few
 * steps over the same batches, and are judged by the loss of the validation samples. */

/* One step tells nothing that its gradient does not. */
enum { LEAST_STEPS = 2 };

/* Losses as they become known: kept in a file, so that the same command goes on with them. */
typedef struct record {
    char path[600];
    char search[20]; /* a hash of all keys and seeds: what the losses are of */
    int64_t steps;
    size_t seeds, rows; /* rows: everything high, then the groups */
    double *loss;       /* [seeds][rows]; NaN: diverged */
    bool *is_known;     /* [seeds][rows] */
} record;

static hu_status identify(const hu_assign *assign, char *search, size_t bytes) {
    hu_status st = HU_OK;
    char *keys = NULL, *seeds = NULL;
    HU_TRY(hu_keys_print(assign->common, &keys));
    HU_TRY(hu_keys_print(assign->seeds, &seeds));
    uint64_t hash = XXH64(seeds, strlen(seeds), XXH64(keys, strlen(keys), 0));
    snprintf(search, bytes, "%016llx", (unsigned long long)hash);
done:
    hu_free(keys);
    hu_free(seeds);
    return st;
}

static hu_status open_record(const hu_assign *assign, record *r) {
    hu_status st = HU_OK;
    r->steps = assign->short_runs.steps;
    r->seeds = hu_keys_count(assign->seeds);
    r->rows = (size_t)assign->groups.tensors.count + 1;
    snprintf(r->path, sizeof r->path, "%s/short-runs.json", assign->directory);
    HU_TRY(identify(assign, r->search, sizeof r->search));
    HU_TRY(HU_NEW_ARRAY(&r->loss, r->seeds * r->rows));
    HU_TRY(HU_NEW_ARRAY(&r->is_known, r->seeds * r->rows));
done:
    return st;
}

/* What an earlier command has measured in the same way: with the same keys and seeds, as many
 * steps, and the same scale. */
static hu_status read_record(const hu_assign *assign, record *r) {
    json_t *file, *one;
    size_t i;
    hu_status st = hu_json_load(r->path, &file);
    const char *search = json_string_value(json_object_get(file, "search"));
    bool is_same = search && strcmp(search, r->search) == 0 &&
                   hu_json_real(file, "steps") == (double)r->steps &&
                   hu_json_real(file, "loss_scale") == assign->scale;
    json_array_foreach(is_same ? json_object_get(file, "runs") : NULL, i, one) {
        double at = hu_json_real(one, "row");
        if (!(at >= 0.0 && at < (double)(r->seeds * r->rows))) continue;
        r->loss[(size_t)at] = hu_json_real(one, "loss");
        r->is_known[(size_t)at] = true;
    }
    json_decref(file);
    return st;
}

static hu_status write_record(const hu_assign *assign, const record *r) {
    hu_status st = HU_OK;
    char *text = NULL;
    json_t *runs = json_array();
    for (size_t i = 0; runs && i < r->seeds * r->rows; i++)
        if (r->is_known[i])
            json_array_append_new(runs, json_pack("{s:I, s:o}", "row", (json_int_t)i, "loss",
                                                  hu_json_number(r->loss[i])));
    HU_TRY(hu_json_pretty(json_pack("{s:s, s:I, s:o, s:o}", "search", r->search, "steps",
                                    (json_int_t)r->steps, "loss_scale",
                                    hu_json_number(assign->scale), "runs", runs),
                          &text));
    HU_TRY(hu_file_replace(r->path, text, strlen(text)));
done:
    hu_free(text);
    return st;
}

/* Steps of a training that begins where another one ended; the loss of the validation samples,
 * NaN if it is not finite. */
static hu_status go_on(const hu_assign *assign, const hu_trainer *from, hu_trainer *trainer,
                       int64_t steps, double *loss) {
    hu_status st = HU_OK;
    hu_step_report report;
    double metrics[HU_METRICS_MAX];
    HU_TRY(hu_trainer_begin_at(trainer, from));
    for (int64_t i = 0; i < steps; i++) {
        HU_TRY(hu_assign_check_stop(assign));
        HU_TRY(hu_trainer_step(trainer, &report));
    }
    HU_TRY(hu_trainer_evaluate_on(trainer, HU_SPLIT_VALIDATION, metrics, loss));
    if (!isfinite(*loss)) *loss = (double)NAN;
done:
    return st;
}

/* One short run. low NULL: everything high. NaN: it diverged. Loss scales begin where the gradients
 * of all groups did not overflow, so that no step is spent on finding one. */
static hu_status train_one(const hu_assign *assign, const hu_trainer *from, const bool *low,
                           size_t s, double *loss) {
    hu_status st = HU_OK;
    char path[660];
    hu_assign_probe probe = {0};
    hu_loss_scale_options *scaler = &probe.options.scaler;
    snprintf(path, sizeof path, "%s/plans/short.yaml", assign->directory);
    HU_TRY(hu_assign_write_plan(assign, low, path, NULL));
    HU_TRY(hu_assign_probe_read(assign, path, s, assign->short_runs.steps, &probe));
    if (scaler->kind == HU_LOSS_SCALE_DYNAMIC) scaler->init = (float)assign->scale;
    HU_TRY(hu_assign_probe_make(assign, &probe));
    st = go_on(assign, from, probe.trainer, assign->short_runs.steps, loss);
    if (st == HU_ERR_NONFINITE) {
        *loss = (double)NAN;
        st = HU_OK;
    }
done:
    hu_assign_probe_close(&probe);
    remove(path);
    return st;
}

/* All that are not known of a seed, from where its float32 training ended. */
static hu_status run_seed(const hu_assign *assign, record *r, size_t s, bool *low) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_saved_run ended = {0};
    if (!memchr(r->is_known + s * r->rows, false, r->rows)) return HU_OK;
    HU_TRY(hu_assign_open_ended(assign, s, &config, &ended));
    for (size_t row = 0; row < r->rows; row++) {
        size_t at = s * r->rows + row;
        if (r->is_known[at]) continue;
        memset(low, false, (r->rows - 1) * sizeof *low);
        if (row > 0) low[row - 1] = true;
        HU_TRY(train_one(assign, ended.trainer, row > 0 ? low : NULL, s, &r->loss[at]));
        r->is_known[at] = true;
        HU_TRY(write_record(assign, r));
    }
done:
    hu_saved_run_close(&ended);
    hu_config_free(config);
    return st;
}

/* Steps of each that the share of a training allows. */
static hu_status find_length(const hu_assign *assign, hu_assign_short_runs *made) {
    hu_status st = hu_config_f64(assign->config, "assign.short", &made->share);
    if (st != HU_OK) return st;
    double runs = (double)assign->groups.tensors.count + 1.0;
    made->steps = (int64_t)(made->share * (double)assign->steps / runs);
    if (made->steps > assign->steps) made->steps = assign->steps;
    if (made->steps < LEAST_STEPS) made->steps = 0;
    return HU_OK;
}

hu_status hu_assign_measure_short_runs(hu_assign *assign) {
    hu_status st = HU_OK;
    hu_assign_short_runs *made = &assign->short_runs;
    record r = {0};
    bool *low = NULL;
    HU_TRY(find_length(assign, made));
    if (made->steps == 0) return HU_OK;
    HU_TRY(open_record(assign, &r));
    made->runs = (int)(r.seeds * r.rows);
    if (!assign->jobs.is_quiet)
        fprintf(stderr, "%d short runs of %lld steps: each group low alone, and none\n", made->runs,
                (long long)made->steps);
    HU_TRY(HU_NEW_ARRAY(&low, assign->groups.tensors.count));
    HU_TRY(read_record(assign, &r));
    for (size_t s = 0; s < r.seeds; s++) HU_TRY(run_seed(assign, &r, s, low));
    made->noise = hu_search_judge_short(r.loss, r.seeds, &assign->groups, made->cost);
done:
    hu_free(low);
    hu_free(r.loss);
    hu_free(r.is_known);
    return st;
}
