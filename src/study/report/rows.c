/* The table of results as files for papers and programs: CSV and LaTeX. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "render/csv.h"
#include "report/summary.h"

static const double mib = 1024.0 * 1024.0;

/* ---- CSV ---- */

static hu_status put_flag(hu_byte_writer *out, bool is_true) {
    return hu_csv_put_word(out, is_true ? "1" : "0");
}

static const char csv_titles[] =
    "name,model,data,precision,metric,better,value,deviation,least,most,best,best_deviation,behind,"
    "within_noise,pareto,runs,ended,diverged,collapsed,ledger_bytes,peak_rss_bytes,"
    "samples_per_second,low_precision_ratio,model_aggregate_bits_start,model_aggregate_bits,"
    "model_aggregate_bits_mean,promoted,skipped_steps,relative_training_cost,"
    "relative_inference_cost\n";

/* Names first, then numbers as compare.json has them: shares, bytes, bits. */
static hu_status put_csv_row(hu_byte_writer *out, const hu_summary *s) {
    const hu_report_run *run = s->run;
    const double bits = 8.0 * mib;
    hu_status st;
    HU_TRY(hu_csv_put_cell(out, run->name));
    HU_TRY(hu_csv_put_word(out, hu_report_text(run, "model.name", "")));
    HU_TRY(hu_csv_put_word(out, hu_report_text(run, "data.name", "")));
    HU_TRY(hu_csv_put_word(out, run->precision));
    HU_TRY(hu_csv_put_word(out, run->metric->name));
    HU_TRY(hu_csv_put_word(out, run->metric->higher_is_better ? "higher" : "lower"));
    const double metric[] = {s->value, s->deviation,      s->least, s->most,
                             s->best,  s->best_deviation, s->behind};
    for (size_t i = 0; i < sizeof metric / sizeof *metric; i++)
        HU_TRY(hu_csv_put_real(out, metric[i]));
    HU_TRY(put_flag(out, s->is_noise));
    HU_TRY(put_flag(out, s->is_front[HU_BY_MEMORY]));
    const double numbers[] = {s->runs,
                              s->done,
                              s->diverged,
                              s->collapsed,
                              s->memory * mib,
                              s->rss * mib,
                              s->rate,
                              s->low_ratio,
                              s->aggregate_start * bits,
                              s->aggregate * bits,
                              s->aggregate_mean * bits,
                              s->promoted,
                              s->skipped,
                              s->training_cost,
                              s->inference_cost};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        HU_TRY(hu_csv_put_real(out, numbers[i]));
    HU_TRY(hu_csv_put_text(out, "\n"));
done:
    return st;
}

hu_status hu_report_csv(const hu_report *report, const char *path) {
    hu_status st;
    hu_summary *all = NULL;
    hu_byte_writer out = {0};
    HU_TRY(hu_report_summarise(report, &all));
    HU_TRY(hu_csv_put_text(&out, csv_titles));
    for (int i = 0; i < report->precisions; i++) HU_TRY(put_csv_row(&out, &all[i]));
    HU_TRY(hu_file_replace(path, out.data, out.size));
done:
    hu_writer_free(&out);
    hu_free(all);
    return st;
}

/* ---- LaTeX ---- */

static hu_status put(hu_byte_writer *out, const char *text) {
    return hu_csv_put_text(out, text);
}

/* Text with what TeX would take for its own. */
static hu_status put_tex(hu_byte_writer *out, const char *text) {
    static const struct {
        char letter;
        const char *tex;
    } escapes[] = {{'\\', "\\textbackslash{}"},
                   {'{', "\\{"},
                   {'}', "\\}"},
                   {'$', "\\$"},
                   {'&', "\\&"},
                   {'#', "\\#"},
                   {'%', "\\%"},
                   {'_', "\\_"},
                   {'^', "\\textasciicircum{}"},
                   {'~', "\\textasciitilde{}"},
                   {'<', "\\textless{}"},
                   {'>', "\\textgreater{}"},
                   {'"', "\\textquotedbl{}"}};
    hu_status st = HU_OK;
    for (; *text && st == HU_OK; text++) {
        const char letter[2] = {(unsigned char)*text < ' ' ? ' ' : *text, '\0'};
        const char *tex = letter;
        for (size_t e = 0; e < sizeof escapes / sizeof *escapes; e++)
            if (*text == escapes[e].letter) tex = escapes[e].tex;
        st = put(out, tex);
    }
    return st;
}

/* " & $75.70 \pm 0.10$": without the deviation of one run; a dash for none. */
static hu_status put_tex_metric(hu_byte_writer *out, const hu_metric *metric, double value,
                                double deviation) {
    char text[4 * HU_METRIC_TEXT_BYTES], mean[HU_METRIC_TEXT_BYTES], spread[HU_METRIC_TEXT_BYTES];
    if (!isfinite(value)) return put(out, " & --");
    snprintf(text, sizeof text, " & $%s%s%s$", hu_metric_number(metric, value, mean),
             isfinite(deviation) ? " \\pm " : "",
             isfinite(deviation) ? hu_metric_number(metric, deviation, spread) : "");
    return put(out, text);
}

static hu_status put_tex_number(hu_byte_writer *out, const char *form, double value) {
    char number[40], text[64];
    if (!isfinite(value)) return put(out, " & --");
    snprintf(number, sizeof number, form[0] == '1' ? "%.1f" : "%.2f", value);
    snprintf(text, sizeof text, " & $%s$", number);
    return put(out, text);
}

static hu_status put_tex_head(hu_byte_writer *out, const hu_report *report, const char *title) {
    hu_status st;
    char words[HU_METRIC_TEXT_BYTES];
    const hu_metric *metric = report->metric;
    HU_TRY(put(out, "% "));
    HU_TRY(put_tex(out, title));
    HU_TRY(put(out, "; made by halfulp " HALFULP_VERSION " (halfulp report). Needs "
                    "\\usepackage{booktabs}\n"
                    "% and \\usepackage[T1]{fontenc}. Mean and standard deviation over the seeds "
                    "that ended; * on the front of\n% metric and memory.\n"
                    "\\begin{tabular}{lrrrrr}\n\\toprule\nprecision & "));
    HU_TRY(put_tex(out, hu_metric_words(metric, words)));
    HU_TRY(put_tex(out, metric->unit));
    HU_TRY(put(out, " & best"));
    HU_TRY(put_tex(out, metric->unit));
    HU_TRY(put(out, " & memory, MiB & aggregate, MiB & seeds \\\\\n\\midrule\n"));
done:
    return st;
}

static hu_status put_tex_row(hu_byte_writer *out, const hu_report *report, const hu_summary *s) {
    hu_status st;
    char seeds[40];
    bool is_same = s->run->metric == report->metric;
    HU_TRY(put_tex(out, s->run->name));
    if (report->precisions > 1 && s->is_front[HU_BY_MEMORY]) HU_TRY(put(out, "*"));
    HU_TRY(put_tex_metric(out, s->run->metric, is_same ? s->value : (double)NAN, s->deviation));
    HU_TRY(put_tex_metric(out, s->run->metric, is_same ? s->best : (double)NAN, s->best_deviation));
    HU_TRY(put_tex_number(out, "1", s->memory));
    HU_TRY(put_tex_number(out, "2", s->aggregate));
    snprintf(seeds, sizeof seeds, " & $%d/%d$", s->done, s->runs);
    HU_TRY(put(out, seeds));
    HU_TRY(put(out, " \\\\\n"));
done:
    return st;
}

hu_status hu_report_tex(const hu_report *report, const char *title, const char *path) {
    hu_status st;
    hu_summary *all = NULL;
    hu_byte_writer out = {0};
    HU_TRY(hu_report_summarise(report, &all));
    HU_TRY(put_tex_head(&out, report, title));
    for (int i = 0; i < report->precisions; i++) HU_TRY(put_tex_row(&out, report, &all[i]));
    HU_TRY(put(&out, "\\bottomrule\n\\end{tabular}\n"));
    HU_TRY(hu_file_replace(path, out.data, out.size));
done:
    hu_writer_free(&out);
    hu_free(all);
    return st;
}
