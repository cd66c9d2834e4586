/* halfulp report: one page of pictures and tables from run folders. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/verb.h"
#include "render/table.h"
#include "report/report.h"
#include "sweep/jobs.h"

/* Runs of one page: what a shell's pattern may expand to. */
enum { MAX_SUBJECTS = 1024 };

/* out.file, else report.html in the only folder, else here. Owner frees. */
static hu_status path_of(const hu_config *config, char **path) {
    const char *out;
    hu_status st = hu_config_text(config, "out.file", &out);
    if (st != HU_OK) return st;
    if (strcmp(out, "auto") != 0) return hu_strdup(out, path);
    if (hu_config_subjects(config) == 1)
        return hu_path_join(hu_config_subject(config, 0), "report.html", path);
    return hu_strdup("report.html", path);
}

/* A folder that is only read has room for no page, other folders have. */
static hu_status advise(const hu_config *config, hu_status st) {
    if (st != HU_ERR_IO || hu_config_asked(config, "out.file")) return st;
    return hu_fail(st, "%s; out=FILE.html writes it elsewhere", hu_last_error());
}

/* What was written, and what the runs lack. */
static hu_status print(const hu_config *config, const hu_report *report, const char *path) {
    json_t *runs = json_array();
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        /* On stderr, so that --json stays one object. */
        if (run->missing[0]) fprintf(stderr, "%s lacks: %s\n", run->folder, run->missing);
        json_array_append_new(runs, json_pack("{s:s, s:s, s:s}", "run", run->folder, "label",
                                              run->label, "missing", run->missing));
    }
    if (hu_config_flag(config, "json", NULL))
        return hu_json_print(json_pack("{s:s, s:o}", "report", path, "runs", runs));
    json_decref(runs);
    printf("report %s (%zu run%s)\n", path, report->count, report->count == 1 ? "" : "s");
    return HU_OK;
}

static hu_status run_report(hu_config *config, int *exit_code) {
    hu_status st;
    hu_report report = {0};
    char *path = NULL;
    const char *section;
    (void)exit_code;
    for (int i = 0; i < hu_config_subjects(config); i++)
        HU_TRY(hu_report_add(&report, hu_config_subject(config, i)));
    HU_TRY(path_of(config, &path));
    HU_TRY(hu_config_text(config, "out.section", &section));
    HU_TRY(advise(config, hu_report_file(&report, path, section)));
    HU_TRY(print(config, &report, path));
done:
    hu_free(path);
    hu_report_free(&report);
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const report_keys[] = {"out.file", "out.section", NULL};

const hu_verb hu_verb_report = {
    .name = "report",
    .group = HU_VERBS_UNDERSTAND,
    .help = "one page of pictures and tables from run folders",
    .usage = "RUN... [out=FILE] [section=NAME[:N]] [--json]",
    .details =
        "RUN is the folder of a run, or of a compare or demo, of which all runs are taken. The "
        "page\n"
        "is one file that needs no scripts and no network: metric against memory, loss curves "
        "with\n"
        "skipped steps and promotions, exponent histograms and what formats would lose of them,\n"
        "bits of the groups, memory by role, results and settings. Default: RUN/report.html, or\n"
        "report.html here for several. out=FILE.svg, .pdf (a page for each section) and .png are\n"
        "its pictures, in fixed colours, as papers want them; section=curves those of one section "
        "of\n"
        "the page, section=exponents:2 its second picture. out=FILE.csv and .tex are the table of\n"
        "results with means and deviations over the seeds. Also -o FILE.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = MAX_SUBJECTS,
    .keys = report_keys,
    .examples = {{"report RUN", "the page RUN/report.html again"},
                 {"report RUN out=FILE.pdf section=curves", "its curves as a figure"},
                 {"report RUN out=FILE.tex", "its results as a table of LaTeX"}},
    .run = run_report,
};
