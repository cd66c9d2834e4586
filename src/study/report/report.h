/* report/report.h - run folders read for a report, and the report in a file. */
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

void hu_report_free(hu_report *report);

/* Writes the report as the ending of the path says: .html (or none), pictures as .svg, .pdf and
 * .png, the table of runs as .csv and .tex. section: of a picture file, "all", the id of a section
 * of the page or "ID:N", the Nth chart of it. HU_ERR_ARGUMENT for another ending, naming these;
 * HU_ERR_UNKNOWN for another section; HU_ERR_MISSING: the runs have no such picture. */
hu_status hu_report_file(hu_report *report, const char *path, const char *section);

/* A report at the end of trainings, whose results are to be told all the same: says on stderr what
 * is wrong, and keeps it for hu_report_end. */
typedef struct hu_report_tried {
    hu_status status;
    char why[600]; /* "": nothing is wrong */
} hu_report_tried;
hu_report_tried hu_report_try(const char *folder);

/* What a verb ends with that has told its results: HU_OK, or the failure of its report, with its
 * reason. */
hu_status hu_report_end(const hu_report_tried *tried, const char *folder);

/* ---- One recorded tensor of a run ---- */

typedef struct hu_report_tensor {
    hu_history *history;
    const hu_exponents *exponents; /* of the history; NULL: nothing was read */
    char words[700];               /* "conv1.weight.grad of RUN, step 24" */
} hu_report_tensor;

/* Reads the last histogram of a tensor at or before a step (-1: of all). HU_ERR_UNKNOWN with the
 * nearest names; HU_ERR_MISSING: the run has no histogram of it up to there. Owner frees. */
hu_status hu_report_tensor_read(const char *folder, const char *name, int64_t step,
                                hu_report_tensor *tensor);
void hu_report_tensor_free(hu_report_tensor *tensor);

#endif
