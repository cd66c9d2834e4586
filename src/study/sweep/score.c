/* What a score is made of: gains over guessing, their shares of float32's, means and errors. */
#include "sweep/score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "render/table.h"

/* ---- Arithmetic ---- */

double hu_score_gain(const hu_score_network *network, const hu_score_run *run) {
    return network->by_metric ? run->value - run->guess : run->guess - run->value;
}

double hu_score_share(const hu_score_network *network, const hu_score_run *run,
                      const hu_score_run *reference) {
    double gain = hu_score_gain(network, run), whole = hu_score_gain(network, reference);
    if (!(whole > 0.0)) return (double)NAN;
    return gain > 0.0 ? 100.0 * (gain / whole) : 0.0; /* a NaN is not above 0 */
}

/* Mean of the finite values. */
static double mean_value(const hu_score_run *run, int seeds) {
    double sum = 0.0;
    int finite = 0;
    for (int s = 0; s < seeds; s++) {
        if (!isfinite(run[s].value)) continue;
        sum += run[s].value;
        finite++;
    }
    return finite ? sum / finite : (double)NAN;
}

static const char *first_failure(const hu_score_run *run, int seeds) {
    for (int s = 0; s < seeds; s++)
        if (run[s].why[0]) return run[s].why;
    return NULL;
}

/* Mean and standard error of the shares. A seed with which float32 did not learn leaves the network
 * without a score: no figure stands for fewer seeds than it says. */
static hu_score_part part_of(const hu_score_network *network, int seeds, const hu_score_run *run,
                             const hu_score_run *reference) {
    double sum = 0.0, squares = 0.0;
    hu_score_part part = {.network = network,
                          .float32 = mean_value(reference, seeds),
                          .value = mean_value(run, seeds),
                          .guess = reference[0].guess,
                          .seeds = seeds,
                          .failure = first_failure(run, seeds)};
    for (int s = 0; s < seeds; s++) sum += hu_score_share(network, &run[s], &reference[s]);
    part.score = sum / seeds;
    for (int s = 0; s < seeds; s++) {
        double away = hu_score_share(network, &run[s], &reference[s]) - part.score;
        squares += away * away;
    }
    part.standard_error =
        seeds > 1 ? sqrt(squares / (double)(seeds - 1) / (double)seeds) : (double)NAN;
    return part;
}

void hu_score_sum_up(const hu_score_network *const *network, int networks, int seeds,
                     const hu_score_run *run, const hu_score_run *reference, hu_score *score) {
    double sum = 0.0, squares = 0.0, bits = 0.0;
    score->parts = networks;
    for (int n = 0; n < networks; n++) {
        hu_score_part *part = &score->part[n];
        *part = part_of(network[n], seeds, run + n * seeds, reference + n * seeds);
        sum += part->score;
        squares += part->standard_error * part->standard_error;
        for (int s = 0; s < seeds; s++) bits += run[n * seeds + s].bits / seeds;
    }
    score->score = sum / networks;
    score->standard_error = sqrt(squares) / networks;
    score->bits = bits / networks;
}

/* ---- JSON ---- */

static json_t *part_json(const hu_score_part *part) {
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:o}", "name", part->network->name,
                     "measure", part->network->by_metric ? "metric" : "loss", "guess",
                     hu_json_number(part->guess), "float32", hu_json_number(part->float32), "value",
                     hu_json_number(part->value), "score", hu_json_number(part->score),
                     "standard_error", hu_json_number(part->standard_error), "seeds", part->seeds,
                     "failure", part->failure ? json_string(part->failure) : json_null());
}

/* 0: there is none. */
static json_t *number_or_null(int number) {
    return number > 0 ? json_integer(number) : json_null();
}

static json_t *score_json(const hu_scores *scores, const hu_score *score) {
    json_t *networks = json_array();
    for (int n = 0; n < score->parts; n++)
        json_array_append_new(networks, part_json(&score->part[n]));
    return json_pack("{s:s, s:i, s:b, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "suite",
                     HU_SCORE_SUITE, "version", HU_SCORE_VERSION, "quick", scores->is_quick,
                     "comparable", scores->is_whole, "format", score->name, "networks", networks,
                     "score", hu_json_number(score->score), "standard_error",
                     hu_json_number(score->standard_error), "bits", hu_json_number(score->bits),
                     "place", number_or_null(score->place), "of", number_or_null(score->of));
}

hu_status hu_scores_json(const hu_scores *scores, json_t **object) {
    size_t count = hu_keys_count(scores->precisions);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, score_json(scores, &scores->score[i]));
    if (count == 1) {
        *object = json_incref(json_array_get(list, 0));
        json_decref(list);
    } else {
        *object = json_pack("{s:s, s:i, s:o}", "suite", HU_SCORE_SUITE, "version", HU_SCORE_VERSION,
                            "formats", list);
    }
    return *object ? HU_OK : hu_fail(HU_ERR_MEMORY, "out of memory while making JSON");
}

/* ---- Tables ---- */

enum { CELL_BYTES = 64, LINE_BYTES = 512 };

/* "97.1 +- 0.8", "97.1" without an error, "-" without a figure. */
static const char *figure(double value, double error, char text[CELL_BYTES]) {
    if (isnan(value))
        snprintf(text, CELL_BYTES, "-");
    else if (isnan(error))
        snprintf(text, CELL_BYTES, "%.1f", value);
    else
        snprintf(text, CELL_BYTES, "%.1f +- %.1f", value, error);
    return text;
}

/* More digits than a loss needs. */
static const char *number(double value, char text[CELL_BYTES]) {
    if (isnan(value))
        snprintf(text, CELL_BYTES, "-");
    else
        snprintf(text, CELL_BYTES, "%.4g", value);
    return text;
}

static hu_status networks_table(const hu_score *score, char **text) {
    static const char *const titles[] = {"network", "score", "value", "float32", "guessing", "of"};
    hu_table *table = NULL;
    char room[4][CELL_BYTES];
    hu_status st;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int n = 0; n < score->parts; n++) {
        const hu_score_part *part = &score->part[n];
        HU_TRY(hu_table_cell(table, "%s", part->network->name));
        HU_TRY(hu_table_cell(table, "%s", figure(part->score, part->standard_error, room[0])));
        HU_TRY(hu_table_cell(table, "%s", number(part->value, room[1])));
        HU_TRY(hu_table_cell(table, "%s", number(part->float32, room[2])));
        HU_TRY(hu_table_cell(table, "%s", number(part->guess, room[3])));
        HU_TRY(hu_table_cell(table, "%s", part->network->by_metric ? "mAP" : "test loss"));
    }
    st = hu_table_print(table, text);
done:
    hu_table_free(table);
    return st;
}

/* What the figure may be compared with. */
static const char *comparable(const hu_scores *scores) {
    int quick = 0;
    for (int n = 0; n < HU_SCORE_NETWORKS; n++) quick += hu_score_suite[n].is_quick;
    bool is_own = scores->steps >= 0 || scores->train >= 0 || scores->test >= 0 ||
                  scores->networks != quick || hu_keys_count(scores->seeds) != 1;
    if (scores->is_whole) return "";
    return scores->is_quick && !is_own ? " (quick: not comparable with the league)"
                                       : " (another suite than the league's: not comparable)";
}

/* The whole figure in one line. */
static void headline(const hu_scores *scores, const hu_score *score, char line[LINE_BYTES]) {
    char room[CELL_BYTES], place[CELL_BYTES] = "";
    if (score->place > 0)
        snprintf(place, sizeof place, "; place %d of %d in the league", score->place, score->of);
    snprintf(line, LINE_BYTES, "%.200s: score %s of 100, %.2f bits a number%s%s\n", score->name,
             figure(score->score, score->standard_error, room), score->bits, place,
             comparable(scores));
}

/* Adds text to what is there already. */
static hu_status append(char **whole, size_t *bytes, const char *text) {
    size_t length = strlen(text);
    hu_status st = hu_realloc((void **)whole, *bytes + length + 1);
    if (st != HU_OK) return st;
    memcpy(*whole + *bytes, text, length + 1);
    *bytes += length;
    return HU_OK;
}

static hu_status append_failures(const hu_score *score, char **whole, size_t *bytes) {
    hu_status st = HU_OK;
    char line[HU_SCORE_WHY_BYTES + CELL_BYTES];
    for (int n = 0; n < score->parts && st == HU_OK; n++) {
        const hu_score_part *part = &score->part[n];
        if (part->failure)
            snprintf(line, sizeof line, "%s: %s\n", part->network->name, part->failure);
        else if (isnan(part->score))
            snprintf(line, sizeof line,
                     "%s: no score, as float32 itself gained nothing over guessing; more steps\n",
                     part->network->name);
        else
            continue;
        st = append(whole, bytes, line);
    }
    return st;
}

hu_status hu_scores_print(const hu_scores *scores, char **text) {
    hu_status st = HU_OK;
    char line[LINE_BYTES], *table = NULL, *whole = NULL;
    size_t bytes = 0;
    *text = NULL;
    for (size_t i = 0; i < hu_keys_count(scores->precisions); i++) {
        const hu_score *score = &scores->score[i];
        headline(scores, score, line);
        if (i > 0) HU_TRY(append(&whole, &bytes, "\n"));
        HU_TRY(append(&whole, &bytes, line));
        HU_TRY(networks_table(score, &table));
        HU_TRY(append(&whole, &bytes, table));
        HU_TRY(append_failures(score, &whole, &bytes));
        hu_free(table);
        table = NULL;
    }
    *text = whole;
    whole = NULL;
done:
    hu_free(table);
    hu_free(whole);
    return st;
}
