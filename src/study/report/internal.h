/* report/internal.h - what the files of the report share: sections of its page, precisions as rows,
 * tensors by group, pictures as files. */
#ifndef HU_REPORT_INTERNAL_H
#define HU_REPORT_INTERNAL_H
#include <time.h>

#include <halfulp/format.h>

#include "base/keys.h"
#include "base/statistics.h"
#include "data/directory.h"
#include "engine/run.h"
#include "graph/tensor_order.h"
#include "precision/rules.h"
#include "render/chart.h"
#include "render/html.h"
#include "render/json.h"
#include "render/table.h"
#include "report/drawn.h"
#include "report/report.h"
#include "runlog/events.h"
#include "runlog/history.h"
#include "runlog/names.h"
#include "runlog/result.h"

/* ---- Layers of a planned run ---- */

/* Room for "saved 8 bit, waits". */
enum { HU_FATE_BYTES = 64 };

/* One row. Formats: of the output, of the first parameter and of the gradients of both; "-" where
 * there is none. */
typedef struct hu_plan_layer {
    const char *name, *op;
    const hu_shape *output;
    int64_t parameters, macs;
    char activation[HU_QUANTIZER_BYTES], weight[HU_QUANTIZER_BYTES];
    char gradient[HU_QUANTIZER_BYTES], weight_gradient[HU_QUANTIZER_BYTES];
    char fate[HU_FATE_BYTES];
    bool is_scaled; /* the network has factors: that of the output, and how many times the gradient
                       of the loss is held of it */
    double made, held;
} hu_plan_layer;

/* Views compute nothing and hold nothing. */
bool hu_plan_is_row(const hu_node *node);

/* The row of a node: what the plan says of its first output. */
hu_plan_layer hu_plan_layer_of(const hu_run *run, uint32_t index);

/* The row of --json, with who computes each pass. New reference. */
json_t *hu_plan_layer_json(const hu_run *run, uint32_t index);

/* Extents of one sample, as a list. New reference. */
json_t *hu_plan_shape_json(const hu_shape *shape);

/* A format's name up to its first parameter, with a star if there are any; a number, of which zeros
 * are left out, so that the eye finds what counts. */
hu_status hu_plan_format_cell(hu_table *table, const char *format);
hu_status hu_plan_number_cell(hu_table *table, int64_t number);

/* ---- Runs ---- */

/* Numbers, labels and colours, when all are added. Labels name what the runs do not share of model,
 * data set and precision. */
void hu_report_number(hu_report *report);

/* "cnn-s in 2 precisions", "cnn-s and autoencoder in fp32, 8 workers, e5m2 aps"; and what is
 * trained on what, with the batch and the steps that all runs share. */
void hu_report_title(const hu_report *report, char *text, size_t capacity);
void hu_report_subtitle(const hu_report *report, char *text, size_t capacity);

/* A key of a run's configuration as one text, preset if it is missing. */
const char *hu_report_text(const hu_report_run *run, const char *key, const char *preset);

/* The precisions of a numbered report as rows: means and deviations over their seeds. */
hu_status hu_report_csv(const hu_report *report, const char *path);
hu_status hu_report_tex(const hu_report *report, const char *title, const char *path);

/* The sections, in the order of the page. All but overview and settings write nothing where no run
 * has what they show.
 *
 *   endings    which runs broke, where, and what to try: the first sentences of the page
 *   overview   the metric against costs of bits and against memory, and the table of results
 *   confusion  of one run: which classes it takes for which, and mistakes
 *   curves     metrics over the steps, skipped steps, changes of precision
 *   classes    metrics of each class
 *   pictures   what models of pictures make of some
 *   ratios     how the losses of the worst tensors went over the steps
 *   promoted   what promotion added, against the share that was demoted
 *   layer_bits bits of the layers over the steps, and what they cost
 *   exponents  histograms of every tensor, and what formats would lose of them
 *   losses     tensors that lost most to rounding
 *   groups     bits of the groups over the steps
 *   memory     the ledger by role
 *   answers    label maps and enlarged pictures of the first test samples
 *   settings   keys that differ, keys that are shared, files that are missing
 *   made       where the runs' folders are, when, by which commands, by what and on what they were
 *              made */
void hu_report_endings(hu_page *page, const hu_report *report);
void hu_report_overview(hu_page *page, const hu_report *report);
void hu_report_confusion(hu_page *page, const hu_report *report);
void hu_report_curves(hu_page *page, const hu_report *report);
void hu_report_classes(hu_page *page, const hu_report *report);
void hu_report_pictures(hu_page *page, const hu_report *report);
void hu_report_answers(hu_page *page, const hu_report *report);
void hu_report_exponents(hu_page *page, const hu_report *report);
void hu_report_losses(hu_page *page, const hu_report *report);
void hu_report_ratios(hu_page *page, const hu_report *report);
void hu_report_promoted(hu_page *page, const hu_report *report);
void hu_report_groups(hu_page *page, const hu_report *report);
void hu_report_layer_bits(hu_page *page, const hu_report *report);
void hu_report_memory(hu_page *page, const hu_report *report);

/* "2026-05-31 17:05 UTC" */
enum { HU_DATE_BYTES = 32 };

/* Bytes of a picture file that a page holds. */
enum { HU_REPORT_PICTURE_MOST = 1 << 24 };

/* A file of a picture inside of the page, under a heading if not NULL; nothing of one that cannot
 * be read: the page is worth having without it. */
void hu_report_put_picture(hu_page *page, const char *path, const char *label, const char *heading);

/* A section of what some runs have: of the first of them, in a fold each if there are several. */
typedef struct hu_report_part {
    const char *id, *title, *text;
    const char *verb; /* what is done to runs: "drawn", "shown" */
    bool (*has)(const hu_report_run *run);
    void (*put)(hu_page *page, const hu_report_run *run, const void *context);
    const void *context;
    int most, open; /* runs that are shown; if there are at most `open`, all folds are open, else
                       the first; if open is `most`, all that are shown */
    size_t bytes;   /* of the page after which no further run is drawn; 0: no such bound */
    bool is_one_picture; /* of each run: several stand side by side */
    /* Instead of run->name and open, if not NULL: what stands on a fold, and whether it is open. */
    bool (*fold)(const hu_report_run *run, int all, char *text, size_t capacity);
} hu_report_part;

/* Nothing where no run has it. */
void hu_report_put_part(hu_page *page, const hu_report *report, const hu_report_part *part);

/* A note that names the runs whose metric a picture leaves out; nothing where there are none. */
void hu_report_left_out(hu_page *page, const hu_report *report);

/* The range of a format as log2 of its thresholds. name: borrowed by the range. */
hu_chart_range hu_report_range(const char *name, const hu_format *format);

/* ---- The precisions of a report as means over their seeds, with their fronts ---- */

/* What a picture has across. That of the ratio has no front. */
enum { HU_BY_MEMORY, HU_BY_TRAINING, HU_BY_INFERENCE, HU_FRONTS, HU_BY_RATIO = HU_FRONTS, HU_AXES };

/* One precision: means over its seeds that ended well. */
typedef struct hu_summary {
    const hu_report_run *run; /* the first */
    int runs, done, diverged, collapsed;
    int ended;                       /* done or diverged: they have counts of their own */
    double value, least, most, best; /* of the run's metric, not yet as printed */
    double behind; /* how far from the value of the best, 0 or more; NaN: not known */
    bool is_noise; /* after the best, but no further than seeds scatter; of one
                      seed each: than the test samples leave open */
    bool is_far;   /* far below the rest, by more than noise: on no front */
    double deviation, best_deviation;
    hu_sample_stats last_spread, best_spread;
    double low_ratio, aggregate_start, aggregate, aggregate_mean, memory, rss, rate, promoted,
        skipped, loss; /* loss: of those with_loss; NaN: there are none */
    int with_loss;
    double training_cost, inference_cost; /* shares; NaN: no schedule of bits */
    double training_bitops, inference_bitops;
    bool is_front[HU_FRONTS];
} hu_summary;

/* Summaries of all precisions of a numbered report, [precisions]; owner frees with hu_free. */
hu_status hu_report_summarise(const hu_report *report, hu_summary **all);

/* What a summary has across. */
double hu_summary_across(const hu_summary *s, int axis);

/* ---- The tensors of a run by group, layer and role ---- */

/* What a recorded tensor is for: an hu_role, state of the optimizer, or unknown. */
enum { HU_REPORT_STATE = HU_ROLE_COUNT, HU_REPORT_ROLES, HU_LABEL_BYTES = 128 };

/* Reads the graph of a run that has a history, and finds each of its tensors there. HU_ERR_MISSING
 * (a folder of an older version), HU_ERR_CORRUPT, HU_ERR_VERSION: the run stays without. */
hu_status hu_report_find_tensors(hu_report_run *run);

/* What a recorded tensor (number in history->tensors) is for; HU_REPORT_ROLES: the graph does not
 * have it, or is missing. */
int hu_report_role(const hu_report_run *run, uint32_t tensor);

/* Whether it is a parameter of one dimension (a bias, a scale of a norm), or the gradient of one:
 * these are many, small and alike. */
bool hu_report_is_vector(const hu_report_run *run, uint32_t tensor);

/* What a tensor is called where its role is told already: by its node or layer, if that alone tells
 * it from others, else by its value; sums of gradients and state say so.
 */
void hu_report_label(const hu_report_run *run, uint32_t tensor, char label[HU_LABEL_BYTES]);

/* ---- Pictures as files of their own: SVG, PDF and PNG ---- */

typedef enum hu_figure_form { HU_FIGURE_SVG, HU_FIGURE_PDF, HU_FIGURE_PNG } hu_figure_form;

/* Pictures of one file; as {0} at first. */
typedef struct hu_figures {
    hu_drawn_figure *figure; /* [count] */
    char **svg;              /* [count] */
    size_t count, capacity, svg_capacity;
} hu_figures;

/* The charts of a page that was begun with hu_picture_begin, which is freed; nothing if it has
 * none. label: what they show, for those who cannot see them. */
hu_status hu_figures_add(hu_figures *figures, hu_page *page, const char *label);

/* Writes the file: a PDF with a page for each picture; SVG and PNG have one. HU_ERR_UNSUPPORTED for
 * PDF and PNG where halfulp was built without librsvg; HU_ERR_LIMIT for a picture that is too large
 * for a PNG; HU_ERR_IO. */
hu_status hu_figures_write(const hu_figures *figures, hu_figure_form form, const char *path);
void hu_figures_free(hu_figures *figures);

#endif
