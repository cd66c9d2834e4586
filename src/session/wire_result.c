#include "session/wire_result.h"

#include <stdio.h>
#include <string.h>

#include "comm/plan.h"

/* The keys that say how, as texts. Borrowed: from the configuration. */
typedef struct way {
    const char *format, *scaling, *schedule;
} way;

/* code: room for what stands for a format where the scaling has codes of its own. */
enum { CODE_BYTES = 32 };
static way way_of(const hu_config *config, char code[CODE_BYTES]) {
    way w = {"", "", ""};
    hu_comm_options o = {.workers = 1};
    (void)hu_config_text(config, "comm.format", &w.format);
    (void)hu_config_text(config, "comm.scaling", &w.scaling);
    (void)hu_config_text(config, "comm.schedule", &w.schedule);
    if (hu_comm_scaling_parse(w.scaling, &o.scaling, &o.constant) == HU_OK && o.scaling->code) {
        hu_comm_code_print(&o, code, CODE_BYTES);
        w.format = code;
    }
    return w;
}

/* Of numbers that were not there nothing was lost. */
static double share(uint64_t count, const hu_round_counts *of) {
    return of->elements ? (double)count / (double)of->elements : 0.0;
}

static bool read(const hu_trainer *trainer, hu_wire_report *report) {
    return hu_trainer_wire(trainer, report) == HU_OK && report->workers > 0;
}

void hu_wire_result_put(json_t *object, const hu_config *config, const hu_trainer *trainer) {
    hu_wire_report report;
    if (!object || !read(trainer, &report)) return;
    const hu_round_counts *sent = &report.lost.rounded, *sums = &report.lost.added;
    char code[CODE_BYTES];
    way w = way_of(config, code);
    json_object_set_new(
        object, "comm",
        json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "workers",
                  (int)report.workers, "format", w.format, "scaling", w.scaling, "schedule",
                  w.schedule, "bytes_per_step", (json_int_t)report.traffic.bytes,
                  "bytes_per_worker", (json_int_t)report.traffic.bytes_per_worker, "overflow_share",
                  hu_json_number(share(sent->overflow, sent)), "underflow_share",
                  hu_json_number(share(sent->underflow, sent)), "sum_overflow_share",
                  hu_json_number(share(sums->overflow, sums)), "sum_underflow_share",
                  hu_json_number(share(sums->underflow, sums))));
}

const char *hu_wire_result_text(const hu_config *config, const hu_trainer *trainer,
                                char text[HU_WIRE_TEXT_BYTES]) {
    hu_wire_report report;
    text[0] = '\0';
    if (!read(trainer, &report)) return text;
    char code[CODE_BYTES];
    way w = way_of(config, code);
    const hu_round_counts *sent = &report.lost.rounded, *sums = &report.lost.added;
    int used = snprintf(text, HU_WIRE_TEXT_BYTES,
                        "%d worker%s, %.60s, scaling %.20s by %.30s: each sends up to %.3g MB a "
                        "step",
                        report.workers, report.workers == 1 ? "" : "s", w.format, w.scaling,
                        w.schedule, (double)report.traffic.bytes_per_worker / 1e6);
    if (sent->elements > 0)
        snprintf(text + used, HU_WIRE_TEXT_BYTES - (size_t)used,
                 "; lost %.3g %% by underflow, %.3g %% by overflow, and %.3g %% of sums",
                 100.0 * share(sent->underflow, sent), 100.0 * share(sent->overflow, sent),
                 100.0 * share(sums->overflow + sums->underflow, sums));
    return text;
}
