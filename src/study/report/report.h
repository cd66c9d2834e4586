/* report/report.h - run folders read for the report, and the sections of its page. */
#ifndef HU_REPORT_REPORT_H
#define HU_REPORT_REPORT_H
#include <time.h>

#include <halfulp/format.h>

#include "base/keys.h"
#include "data/directory.h"
#include "graph/tensor_order.h"
#include "render/chart.h"
#include "render/html.h"
#include "render/json.h"
#include "runlog/events.h"
#include "runlog/history.h"
#include "runlog/names.h"
#include "runlog/result.h"

/* One training of the report: what its folder holds, and how the page names and colours it. */
typedef struct hu_report_run {
    char *folder;
    char *precision; /* precision.name */
    char label[200]; /* tells it from the other runs */
    char name[200];  /* the same without the seed */
    char family[96]; /* "demote+promote" of "demote:0.6+promote": one colour */
    int64_t seed;
    int number;              /* of its precision among the report's */
    int family_number;       /* of its family */
    bool is_first;           /* of the seeds of its precision */
    hu_keys *config;         /* resolved */
    json_t *confusion;       /* confusion.json; NULL: there is none */
    json_t *result;          /* NULL: not ended, or of an older version */
    const hu_metric *metric; /* of its results */
    char loss[80];           /* "nll of classify": what its training loss is */
    hu_history *history;
    hu_graph *graph; /* NULL: the folder has none that can be read */
    hu_tensor
        *tensor; /* [history->tensors.count] what each is in the graph; value HU_NONE: nothing */
    hu_trouble trouble; /* nothing where there is no graph */
    char missing[1024]; /* what the folder lacks; "": nothing */
} hu_report_run;

/* All runs of a page, in the order in which they were added. */
typedef struct hu_report {
    hu_report_run *run;
    size_t count, capacity;
    int precisions, families;
    const hu_metric *metric; /* of the first run: pictures show the runs that share it */
    const char *path;        /* of the page, borrowed while it is made; links begin there */
    hu_names folders;        /* those of comparisons, searches and demos that were added */
} hu_report;

/* Adds a run folder, or all runs of the folder of a comparison or a demo. HU_ERR_MISSING if it is
 * none of these. What a run lacks is noted in it. */
hu_status hu_report_add(hu_report *report, const char *folder);

/* Numbers, labels and colours, when all are added. Labels name what the runs do not share of model,
 * data set and precision. */
void hu_report_number(hu_report *report);

/* "cnn-s in 2 precisions", "cnn-s and autoencoder in fp32, 8 workers, e5m2 aps"; and what is
 * trained on what, with the batch and the steps that all runs share. */
void hu_report_title(const hu_report *report, char *text, size_t capacity);
void hu_report_subtitle(const hu_report *report, char *text, size_t capacity);

/* A key of a run's configuration as one text, preset if it is not there. */
const char *hu_report_text(const hu_report_run *run, const char *key, const char *preset);
void hu_report_free(hu_report *report);

/* The same as the ending of the path says: .html (or none), pictures as .svg, .pdf and .png, the
 * table of runs as .csv and .tex. section: of a picture file, "all", the id of a section of the
 * page or "ID:N", the Nth chart of it. HU_ERR_ARGUMENT for another ending, naming these;
 * HU_ERR_UNKNOWN for another section; HU_ERR_MISSING: the runs have no such picture. */
hu_status hu_report_file(hu_report *report, const char *path, const char *section);

/* The precisions of a numbered report as rows: means and deviations over their seeds. */
hu_status hu_report_csv(const hu_report *report, const char *path);
hu_status hu_report_tex(const hu_report *report, const char *title, const char *path);

/* The same at the end of trainings, whose results are to be told all the same: says on stderr what
 * is wrong, and keeps it for hu_report_end. */
typedef struct hu_report_tried {
    hu_status status;
    char why[600]; /* "": nothing is wrong */
} hu_report_tried;
hu_report_tried hu_report_try(const char *folder);

/* What a verb ends with that has told its results: HU_OK, or the failure of its report, with its
 * reason. */
hu_status hu_report_end(const hu_report_tried *tried, const char *folder);

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
void hu_report_made(hu_page *page, const hu_report *report);

/* "2026-05-31 17:05 UTC" */
enum { HU_DATE_BYTES = 32 };
const char *hu_date_text(time_t when, char text[HU_DATE_BYTES]);

/* Bytes of a picture file that a page holds. */
enum { HU_REPORT_PICTURE_MOST = 1 << 24 };

/* A file of a picture inside of the page, under a heading if not NULL; nothing of one that cannot
 * be read: the page is worth having without it. */
void hu_report_put_picture(hu_page *page, const char *path, const char *label, const char *heading);

/* The classes of a run with their colours, above its pictures; nothing where they have none. */
void hu_report_put_colours(hu_page *page, const hu_report_run *run);

/* The sheets of a run in the order of their steps, owner frees both; none where there is no folder
 * of them. */
hu_status hu_report_sheets(const hu_report_run *run, char **directory, hu_file_names *names);

/* A section of what some runs have: of the first of them, in a fold each if there are several. */
typedef struct hu_report_part {
    const char *id, *title, *text;
    const char *verb; /* what is done to runs: "drawn", "shown" */
    bool (*has)(const hu_report_run *run);
    void (*put)(hu_page *page, const hu_report_run *run, const void *context);
    const void *context;
    int most, open; /* runs that are shown; if there are at most `open`, all folds are open, else
                       the first; if open is `most`, all that are shown */
    size_t bytes;   /* of the page behind which no further run is drawn; 0: no such bound */
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

#endif
