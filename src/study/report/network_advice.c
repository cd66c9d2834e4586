#include "report/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "render/table.h"
#include "report/reductions.h"

enum { NUMBER_BYTES = 32, LINE_BYTES = 512 };

static const double mib = 1024.0 * 1024.0;

/* Titles: two words, then the formats. */
static hu_status begin_table(const hu_comm_advice *advice, const char *first, const char *second,
                             hu_table **table) {
    enum { COLUMNS_MOST = 32 };
    hu_status st = HU_OK;
    const char *titles[COLUMNS_MOST];
    hu_reduction_names *names = NULL;
    size_t used = 0;
    HU_TRY(HU_NEW_ARRAY(&names, (size_t)advice->choices));
    titles[used++] = first;
    if (second) titles[used++] = second;
    for (int32_t c = 0; c < advice->choices; c++) {
        hu_reduction_name(&advice->answer[c].options, &names[c]);
        titles[used++] = names[c].format;
    }
    HU_TRY(hu_table_create(titles, (int)used, table));
done:
    hu_free(names);
    return st;
}

/* Three digits or more, never a power of ten. */
static const char *brief(double x, char *text) {
    snprintf(text, NUMBER_BYTES, "%.*f", x < 10.0 ? 2 : x < 1000.0 ? 1 : 0, x);
    return text;
}

static hu_status add_schedule(hu_table *table, const hu_comm_answer *answer) {
    hu_reduction_names names;
    hu_reduction_name(&answer->options, &names);
    return hu_table_cell(table, "%s", names.schedule);
}

/* "53.1 + 40.2", of the network and of a processor; a "*" where few bits do not pay. */
static hu_status add_times(hu_table *table, const hu_comm_answer *a) {
    char network[NUMBER_BYTES], work[NUMBER_BYTES];
    if (a->is_missing) return hu_table_cell(table, "-");
    return hu_table_cell(table, "%s + %s%s", brief(1e3 * a->time.seconds, network),
                         brief(1e3 * a->work_seconds, work), a->is_narrow && !a->pays ? " *" : "");
}

static hu_status make_times(const hu_comm_advice *advice, hu_table **table) {
    hu_status st = HU_OK;
    *table = NULL;
    HU_TRY(begin_table(advice, "schedule", "together", table));
    for (int32_t i = 0; i < advice->count; i++) {
        const hu_comm_answer *a = &advice->answer[i];
        if (i % advice->choices == 0) {
            HU_TRY(add_schedule(*table, a));
            HU_TRY(hu_table_cell(*table, "%s", hu_comm_fusion_name(a->fusion)));
        }
        HU_TRY(add_times(*table, a));
    }
    return HU_OK;
done:
    hu_table_free(*table);
    *table = NULL;
    return st;
}

/* MiB that a worker holds and sends, of all layers at once. */
static hu_status make_memory(const hu_comm_advice *advice, hu_table **table) {
    hu_status st = HU_OK;
    char held[NUMBER_BYTES], sent[NUMBER_BYTES];
    *table = NULL;
    HU_TRY(begin_table(advice, "MiB held, sent", NULL, table));
    for (int32_t i = 0; i < advice->count; i++) {
        const hu_comm_answer *a = &advice->answer[i];
        if (a->fusion != HU_COMM_WHOLE) continue;
        if (i % advice->choices == 0) HU_TRY(add_schedule(*table, a));
        if (a->is_missing)
            HU_TRY(hu_table_cell(*table, "-"));
        else
            HU_TRY(hu_table_cell(*table, "%s, %s", brief((double)a->memory_bytes / mib, held),
                                 brief((double)a->time.traffic.bytes_per_worker / mib, sent)));
    }
    return HU_OK;
done:
    hu_table_free(*table);
    *table = NULL;
    return st;
}

/* ---- sentences ---- */

/* "e5m2 or e4m3": the formats that take exactly as long as the answer, on its way. */
static void tell_formats(const hu_comm_advice *advice, const hu_comm_answer *answer, char *text,
                         size_t capacity) {
    int32_t at = (int32_t)(answer - advice->answer);
    text[0] = '\0';
    for (int32_t i = at; i < at - at % advice->choices + advice->choices; i++) {
        const hu_comm_answer *other = &advice->answer[i];
        hu_reduction_names names;
        if (other->is_missing || other->all_zero || other->is_narrow != answer->is_narrow ||
            hu_comm_answer_seconds(other) != hu_comm_answer_seconds(answer))
            continue;
        hu_reduction_name(&other->options, &names);
        hu_note_add(text, capacity, " or ", "%.40s", names.format);
    }
}

/* "e5m2 takes 91.3 ms (halving, whole)" */
static void tell_answer(const hu_comm_advice *advice, const hu_comm_answer *answer, char *text,
                        size_t capacity) {
    char formats[LINE_BYTES / 8];
    hu_reduction_names names;
    hu_reduction_name(&answer->options, &names);
    tell_formats(advice, answer, formats, sizeof formats);
    snprintf(text, capacity, "%s takes %.4g ms (%.30s, %s)", formats,
             1e3 * hu_comm_answer_seconds(answer), names.schedule,
             hu_comm_fusion_name(answer->fusion));
}

static bool does_pay(const hu_comm_advice *advice) {
    return advice->narrow && advice->wide &&
           hu_comm_answer_seconds(advice->narrow) < hu_comm_answer_seconds(advice->wide);
}

/* One line; "" where there is nothing to compare. */
static void tell_verdict(const hu_comm_advice *advice, char *text) {
    char narrow[LINE_BYTES / 4], wide[LINE_BYTES / 4];
    text[0] = '\0';
    if (advice->count && advice->answer[0].options.workers == 1)
        snprintf(text, LINE_BYTES, "compression will not pay: one node sends nothing");
    if (!advice->narrow || !advice->wide) return;
    tell_answer(advice, advice->narrow, narrow, sizeof narrow);
    tell_answer(advice, advice->wide, wide, sizeof wide);
    if (does_pay(advice))
        snprintf(text, LINE_BYTES, "compression pays: at best %s, %s: %.2f times faster", narrow,
                 wide,
                 hu_comm_answer_seconds(advice->wide) / hu_comm_answer_seconds(advice->narrow));
    else
        snprintf(text, LINE_BYTES, "compression will not pay: at best %s, %s", narrow, wide);
}

static void tell_flush(const hu_comm_answer *answer, char *text) {
    hu_reduction_names names;
    hu_reduction_name(&answer->options, &names);
    text[0] = '\0';
    if (!answer->all_zero) return;
    snprintf(
        text, LINE_BYTES,
        "%s under %s: every gradient becomes zero, as from %.0f nodes on, because room for the "
        "sum takes the whole range; to try: scaling=aps2 with pairwise, hier:K or hier2d:K",
        names.format, names.scaling, hu_comm_flush_workers(&answer->options));
}

/* "resnet50 for 32x32x3 images, 10 classes: 23,520,842 gradients": a model has as many as its data
 * make it have. */
static void tell_model(const hu_advice_head *head, char *text) {
    char parameters[HU_GROUPED_BYTES], images[HU_IMAGES_TEXT_BYTES];
    snprintf(text, LINE_BYTES, "%s for %s: %s gradients", head->model,
             hu_images_text(head->image, head->classes, images),
             hu_grouped(head->parameters, parameters));
}

/* The model once more, beside the verdict, which is of it alone. Of one that sees grey images the
 * assumed ones are its own. */
static void print_model(const hu_advice_head *head) {
    char line[LINE_BYTES];
    tell_model(head, line);
    bool is_open = head->is_assumed && head->image[2] > 1;
    printf("%s%s\n", line, is_open ? "; data.crop=224 data.classes=1000 for ImageNet's" : "");
}

/* Every format once: the first row has them all. */
static void print_text(const hu_advice_head *head, const hu_comm_advice *advice) {
    char line[LINE_BYTES];
    for (int32_t c = 0; c < advice->choices && c < advice->count; c++) {
        tell_flush(&advice->answer[c], line);
        if (*line) puts(line);
    }
    print_model(head);
    tell_verdict(advice, line);
    if (*line) puts(line);
}

static void print_head(const hu_advice_head *head) {
    const hu_comm_question *q = head->question;
    char model[LINE_BYTES], link[HU_COMM_LINK_BYTES];
    hu_comm_link_print(&q->link, link);
    tell_model(head, model);
    printf("%s in %d tensors\n%d nodes, %s, scaling %s\n\n", model, q->layers, q->nodes, link,
           q->scaling->name);
}

hu_status hu_advice_print(const hu_advice_head *head, const hu_comm_advice *advice) {
    hu_status st = HU_OK;
    hu_table *times = NULL, *memory = NULL;
    HU_TRY(make_times(advice, &times));
    HU_TRY(make_memory(advice, &memory));
    print_head(head);
    HU_TRY(hu_show_table(times));
    puts("\nmilliseconds of the network + of one core of this processor (measured; nothing of it "
         "hidden). *: compression will not\npay: no faster than fp32 or fp16 on the same way, or "
         "every number lost. -: the scaling cannot have the schedule.\n"
         "together: what travels at once (bucket: comm.bucket= MB of float32)\n");
    HU_TRY(hu_show_table(memory));
    puts("\nheld: codes of the busiest worker, beside its gradient; sent: in one reduction\n");
    print_text(head, advice);
done:
    hu_table_free(times);
    hu_table_free(memory);
    return st;
}

/* ---- JSON ---- */

static json_t *answer_json(const hu_comm_answer *a) {
    hu_reduction_names names;
    hu_reduction_name(&a->options, &names);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:b, s:b}", "schedule",
        names.schedule, "fusion", hu_comm_fusion_name(a->fusion), "format", names.format, "scaling",
        names.scaling, "predicted_seconds", hu_json_number(a->time.seconds),
        "predicted_agreement_seconds", hu_json_number(a->time.agreement_seconds), "work_seconds",
        hu_json_number(a->work_seconds), "seconds", hu_json_number(hu_comm_answer_seconds(a)),
        "steps", (json_int_t)a->time.traffic.steps, "bytes_on_wire",
        (json_int_t)a->time.traffic.bytes, "bytes_per_worker",
        (json_int_t)a->time.traffic.bytes_per_worker, "memory_bytes", (json_int_t)a->memory_bytes,
        "pays", a->pays, "all_zero", a->all_zero);
}

json_t *hu_advice_json(const hu_advice_head *head, const hu_comm_advice *advice) {
    const hu_comm_question *q = head->question;
    char verdict[LINE_BYTES];
    json_t *rows = json_array();
    for (int32_t i = 0; i < advice->count; i++)
        if (!advice->answer[i].is_missing)
            json_array_append_new(rows, answer_json(&advice->answer[i]));
    tell_verdict(advice, verdict);
    return json_pack("{s:s, s:[I, I, I], s:I, s:I, s:i, s:i, s:o, s:o, s:s, s:b, s:o}", "model",
                     head->model, "image", (json_int_t)head->image[0], (json_int_t)head->image[1],
                     (json_int_t)head->image[2], "classes", (json_int_t)head->classes, "parameters",
                     (json_int_t)head->parameters, "tensors", q->layers, "nodes", q->nodes,
                     "link_bits_per_second", hu_json_number(q->link.bits_per_second),
                     "latency_seconds", hu_json_number(q->link.latency_seconds), "verdict", verdict,
                     "pays", does_pay(advice), "rows", rows);
}
