/* The league: formats that were scored once and for all, and how a new one stands among them. */
#include "sweep/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "render/chart.h"
#include "render/table.h"
#include "tensor/quantizer.h"

const hu_league_row hu_league[] = {
#define X(name, score, error, bits) {name, score, error, bits},
#include "sweep/league.list"
#undef X
    {NULL, 0.0, 0.0, 0.0}};

const int hu_league_count = (int)(sizeof hu_league / sizeof *hu_league) - 1;

bool hu_score_is_same(const char *name, const char *other) {
    const hu_rounding usual = HU_ROUND_NEAREST_EVEN;
    hu_quantizer a, b;
    if (strcmp(name, other) == 0) return true;
    return hu_quantizer_parse(name, usual, &a) == HU_OK &&
           hu_quantizer_parse(other, usual, &b) == HU_OK && a.rounding == b.rounding &&
           hu_quantizer_same_numbers(&a, &b);
}

int hu_league_place(const char *name, double score, int *of) {
    int place = 1, rows = 1;
    for (int i = 0; i < hu_league_count; i++) {
        if (hu_score_is_same(hu_league[i].name, name)) continue;
        rows++;
        place += hu_league[i].score > score;
    }
    *of = rows;
    return place;
}

hu_status hu_league_print(char **text) {
    static const char *const titles[] = {"place", "format", "score", "error", "bits"};
    hu_table *table = NULL;
    hu_status st;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < hu_league_count; i++) {
        HU_TRY(hu_table_cell(table, "%d", i + 1));
        HU_TRY(hu_table_cell(table, "%s", hu_league[i].name));
        HU_TRY(hu_table_cell(table, "%.1f", hu_league[i].score));
        HU_TRY(hu_table_cell(table, "%.1f", hu_league[i].standard_error));
        HU_TRY(hu_table_cell(table, "%.2f", hu_league[i].bits));
    }
    st = hu_table_print(table, text);
done:
    hu_table_free(table);
    return st;
}

hu_status hu_league_json(json_t **object) {
    json_t *rows = json_array();
    for (int i = 0; i < hu_league_count; i++)
        json_array_append_new(rows, json_pack("{s:s, s:o, s:o, s:o, s:i}", "format",
                                              hu_league[i].name, "score",
                                              hu_json_number(hu_league[i].score), "standard_error",
                                              hu_json_number(hu_league[i].standard_error), "bits",
                                              hu_json_number(hu_league[i].bits), "place", i + 1));
    *object = json_pack("{s:s, s:i, s:o}", "suite", HU_SCORE_SUITE, "version", HU_SCORE_VERSION,
                        "league", rows);
    return *object ? HU_OK : hu_fail(HU_ERR_MEMORY, "out of memory while making JSON");
}

/* ---- The picture: score against bits, with the front ---- */

/* Rows of the league are of one colour, those of the command of another. */
enum { OF_LEAGUE, OF_COMMAND };

static bool is_scored(const hu_scores *scores, const char *name) {
    for (size_t i = 0; scores && i < hu_keys_count(scores->precisions); i++)
        if (hu_score_is_same(scores->score[i].name, name)) return true;
    return false;
}

/* Nothing is as good in both and better in one. */
static void mark_front(hu_chart_point *point, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool is_beaten = false;
        for (size_t k = 0; k < count; k++)
            is_beaten = is_beaten || (point[k].y >= point[i].y && point[k].x <= point[i].x &&
                                      (point[k].y > point[i].y || point[k].x < point[i].x));
        point[i].is_front = !is_beaten;
    }
}

static hu_chart_point point_of(const char *name, double score, double error, double bits,
                               int series) {
    bool has_error = isfinite(error);
    return (hu_chart_point){.label = name,
                            .tip = name,
                            .x = bits,
                            .y = score,
                            .least = has_error ? score - error : (double)NAN,
                            .most = has_error ? score + error : (double)NAN,
                            .series = series};
}

/* Names of points that are on the front; of the others a pointer tells, or there would be nothing
 * but names. The command's own have theirs. */
static void hide_names(hu_chart_point *point, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!point[i].is_front && point[i].series == OF_LEAGUE) point[i].label = "";
}

static size_t list_points(const hu_scores *scores, hu_chart_point *point) {
    size_t count = 0;
    for (int i = 0; i < hu_league_count; i++) {
        const hu_league_row *row = &hu_league[i];
        if (is_scored(scores, row->name)) continue;
        point[count++] = point_of(row->name, row->score, row->standard_error, row->bits, OF_LEAGUE);
    }
    for (size_t i = 0; scores && i < hu_keys_count(scores->precisions); i++) {
        const hu_score *s = &scores->score[i];
        if (isfinite(s->score))
            point[count++] = point_of(s->name, s->score, s->standard_error, s->bits, OF_COMMAND);
    }
    return count;
}

hu_status hu_league_draw(const hu_scores *scores, char **svg) {
    static const hu_chart_axes axes = {.x_title = "bits of a number",
                                       .y_title = "score (float32: 100)",
                                       .front_title = "nothing is better with fewer bits"};
    hu_chart_point *point = NULL;
    hu_page page = {0};
    hu_status st;
    size_t most = (size_t)hu_league_count + (scores ? hu_keys_count(scores->precisions) : 0);
    *svg = NULL;
    HU_TRY(HU_NEW_ARRAY(&point, most + 1));
    size_t count = list_points(scores, point);
    if (count == 0)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "score: found no row to draw, expected a format"));
    mark_front(point, count);
    hide_names(point, count);
    hu_picture_begin(&page);
    page.is_untitled = true;
    hu_chart_points(&page, point, count, &axes);
    st = hu_picture_finish(&page, "Score of formats against the bits of a number", svg);
done:
    hu_page_free(&page);
    hu_free(point);
    return st;
}
