/* The cache of `score`: a file for each training, by the hash of all that it depends on. */
#include "sweep/score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "format/value.h"
#include "precision/precision.h"
#include "sweep/compare.h"

/* ---- What a training depends on ---- */

/* Adds a text and a separator to a hash. */
static void mix(XXH64_state_t *state, const char *text) {
    XXH64_update(state, text, strlen(text) + 1);
}

/* Formats of files change with what stands there. A format that cannot be read is told of by the
 * training. */
static void mix_content(XXH64_state_t *state, const hu_quantizer *quantizer) {
    uint64_t content = hu_format_content(&quantizer->format);
    if (content) XXH64_update(state, &content, sizeof content);
}

/* Those that a text names: of lists by epoch, of rules and of plans. */
static void mix_contents(XXH64_state_t *state, const char *text) {
    static const char prefix[] = "table:", ends[] = " \t\r\n,;+'\"[]{}";
    char name[HU_QUANTIZER_BYTES];
    hu_quantizer quantizer;
    for (const char *at = text; (at = strstr(at, prefix)) != NULL; at += sizeof prefix - 1) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ends), at);
        if (hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer) == HU_OK)
            mix_content(state, &quantizer);
    }
}

/* The precision as it is meant: one format by its own name, however it was typed; of a plan file
 * what stands in it. */
static hu_status mix_precision(XXH64_state_t *state, const char *precision) {
    hu_status st = HU_OK;
    char name[HU_QUANTIZER_BYTES], *text = NULL;
    hu_quantizer quantizer;
    size_t bytes;
    if (hu_is_plan_path(precision)) {
        HU_TRY(hu_text_read(precision, 1 << 20, &text, &bytes));
        XXH64_update(state, text, bytes);
        mix_contents(state, text);
    } else if (hu_quantizer_parse(precision, HU_ROUND_NEAREST_EVEN, &quantizer) == HU_OK &&
               quantizer.rounding == HU_ROUND_NEAREST_EVEN) {
        hu_quantizer_print(&quantizer, name, sizeof name);
        mix(state, name);
        mix_content(state, &quantizer);
    } else {
        mix(state, precision);
        mix_contents(state, precision);
    }
done:
    hu_free(text);
    return st;
}

hu_status hu_score_hash(const hu_score_network *n, const char *precision, const hu_job *job,
                        uint64_t *hash) {
    hu_status st;
    XXH64_state_t state;
    XXH64_reset(&state, HU_SCORE_VERSION);
    HU_TRY(mix_precision(&state, precision));
    for (int w = 0; w < job->words; w++)
        if (!n->file || strncmp(job->word[w], "model.name=", strlen("model.name=")) != 0)
            mix(&state, job->word[w]), mix_contents(&state, job->word[w]);
    mix(&state, n->file ? n->file : "");
    *hash = XXH64_digest(&state);
done:
    return st;
}

/* ---- Files ---- */

static hu_status damaged(const char *path, const char *found) {
    char note[1200] = "";
    hu_status st = hu_file_set_aside(path, note, sizeof note);
    if (st != HU_OK) return st;
    fprintf(stderr,
            "note: %s: found %s, expected what score keeps of a training; it is trained "
            "again\n%s",
            path, found, note);
    return HU_OK;
}

/* A record is taken only where it says itself of what it is: its name may have been changed. */
static bool is_of(const json_t *record, const hu_job *job) {
    const char *of = json_string_value(json_object_get(record, "of"));
    return of && strcmp(of, hu_path_name(job->directory)) == 0 &&
           json_integer_value(json_object_get(record, "version")) == HU_SCORE_VERSION;
}

hu_status hu_score_record_read(const hu_job *job, hu_score_run *run) {
    char path[1100];
    bool is_present;
    uint8_t *data = NULL;
    size_t bytes;
    json_t *record = NULL;
    json_error_t error;
    hu_status st;
    snprintf(path, sizeof path, "%s.json", job->directory);
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
    HU_TRY(hu_file_read_plain(path, 1 << 20, &data, &bytes));
    st = hu_json_parse((const char *)data, bytes, &record, &error);
    if (st == HU_ERR_CORRUPT) {
        st = damaged(path, "no JSON");
        goto done;
    }
    if (st != HU_OK) goto done;
    *run = (hu_score_run){.is_known = is_of(record, job),
                          .value = hu_json_real(record, "value"),
                          .guess = hu_json_real(record, "guess"),
                          .bits = hu_json_real(record, "bits"),
                          .seconds = hu_json_real(record, "seconds")};
    const char *why = json_string_value(json_object_get(record, "why"));
    snprintf(run->why, sizeof run->why, "%s", why ? why : "");
    run->is_known = run->is_known && isfinite(run->guess) && run->bits > 0.0;
    if (!run->is_known) st = damaged(path, "another training's figures");
done:
    json_decref(record);
    hu_free(data);
    return st;
}

hu_status hu_score_record_write(const hu_job *job, const char *network, const hu_score_run *run) {
    char path[1100], *text = NULL;
    hu_status st;
    json_t *record = /* hu_json_pretty frees it */
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:s}", "suite",
                  HU_SCORE_SUITE, "version", HU_SCORE_VERSION, "of", hu_path_name(job->directory),
                  "network", network, "training", job->label, "value", hu_json_number(run->value),
                  "guess", hu_json_number(run->guess), "bits", hu_json_number(run->bits), "seconds",
                  hu_json_number(run->seconds), "why", run->why, "halfulp", HALFULP_VERSION);
    snprintf(path, sizeof path, "%s.json", job->directory);
    HU_TRY(hu_json_pretty(record, &text));
    st = hu_file_replace(path, text, strlen(text));
done:
    hu_free(text);
    return st;
}
