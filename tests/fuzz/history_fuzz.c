/* Run folders as `why`, `stats` and `report` read them: an input is the files below one
 * after the other, with a byte 0xff between them (which no UTF-8 has). What is read is pooled too.
 */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include "base/text_file.h"
#include "render/json.h"
#include "runlog/history.h"
#include "runlog/history_reader.h"

static const char *const files[] = {"metrics.jsonl",    "numerics.jsonl", "bits.jsonl",
                                    "histograms.jsonl", "plan.json",      "result.json"};
enum { FILES = sizeof files / sizeof *files };

static void check_names(const hu_names *names) {
    for (uint32_t i = 0; i < names->count; i++) {
        FUZZ_CHECK(hu_names_find(names, names->name[i]) == i);
        for (const char *c = names->name[i]; *c; c++) FUZZ_CHECK((unsigned char)*c >= ' ');
    }
}

static void check_history(const hu_history *history) {
    check_names(&history->tensors);
    check_names(&history->formats);
    check_names(&history->products);
    check_names(&history->layers);
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *record = &history->numerics[r];
        (void)hu_history_was_skipped(history, record->step);
        (void)hu_history_loss_scale(history, record->step);
        for (uint32_t i = 0; i < record->tensor_count; i++) {
            FUZZ_CHECK(record->tensor[i].tensor < history->tensors.count);
            FUZZ_CHECK(record->tensor[i].format < history->formats.count);
        }
    }
    for (size_t h = 0; h < history->histogram_count; h++)
        for (uint32_t i = 0; i < history->histograms[h].count; i++) {
            const hu_exponents *exponents = &history->histograms[h].tensor[i].exponents;
            uint64_t sum = exponents->zero + exponents->nonfinite;
            FUZZ_CHECK(exponents->first >= -149 &&
                       (int64_t)exponents->first + exponents->count <= 128);
            for (uint32_t b = 0; b < exponents->count; b++) sum += exponents->bin[b];
            FUZZ_CHECK(sum == exponents->elements);
        }
}

/* Rows become fewer and fewer, and stay what they are. */
static void check_added_up(hu_history *history) {
    size_t rows = history->numerics_count;
    history->brief_most = history->brief_lines = 1;
    for (int i = 0; i < 3 && FUZZ_DONE(hu_history_add_up(history)); i++) {
        FUZZ_CHECK(history->numerics_count <= rows);
        rows = history->numerics_count;
    }
    history->brief_histograms = 2;
    for (size_t n = history->histogram_count; n > 2; n--) hu_history_thin(history);
    FUZZ_CHECK(history->histogram_count <= 2);
    check_history(history);
}

static void check_failure(hu_status st, const hu_history *history) {
    FUZZ_CHECK(!history);
    FUZZ_CHECK(st == HU_ERR_CORRUPT || st == HU_ERR_VERSION || st == HU_ERR_MISSING ||
               fuzz_was_fault(st));
    FUZZ_CHECK(hu_last_error()[0] != '\0');
}

/* Lines from the end begin where lines from the beginning did. */
static void check_lines(void) {
    char path[512], first[1];
    hu_lines *lines;
    hu_line line;
    uint64_t at = 0, start;
    size_t got;
    bool is_present = true;
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), files[0]);
    if (!FUZZ_DONE(hu_lines_open(path, &lines))) return;
    while (FUZZ_DONE(hu_lines_next(lines, &line, &is_present)) && is_present) {
        FUZZ_CHECK(line.offset == at);
        at += line.bytes + line.has_end;
        if (!FUZZ_DONE(hu_lines_start_of(lines, at, &start))) break;
        FUZZ_CHECK(start == line.offset);
        FUZZ_CHECK(hu_lines_peek(lines, start, first, 1, &got) == HU_OK && got == 1);
        FUZZ_CHECK(first[0] == (line.bytes > 0 ? line.text[0] : '\n'));
    }
    hu_lines_seek(lines, hu_lines_size(lines));
    (void)FUZZ_DONE(hu_lines_next(lines, &line, &is_present));
    hu_lines_close(lines);
}

void fuzz_one(const uint8_t *data, size_t size) {
    static bool is_guarded;
    if (!is_guarded) hu_json_guard();
    is_guarded = true;
    uint64_t blocks = hu_json_blocks();
    fuzz_cursor cursor = {data, size, 0};
    fuzz_keep("config.resolved.yaml", "model: cnn-s\n", 13);
    for (int i = 0; i < FILES; i++) {
        size_t left = size - cursor.offset;
        const uint8_t *from = data + cursor.offset, *end = left ? memchr(from, 0xff, left) : NULL;
        size_t bytes = end ? (size_t)(end - from) : left;
        from = fuzz_take(&cursor, &bytes);
        fuzz_keep(files[i], from, bytes);
        (void)fuzz_u8(&cursor);
    }
    hu_history *history;
    hu_status st = hu_history_read(fuzz_folder(), &history);
    if (st == HU_OK)
        check_history(history);
    else
        check_failure(st, history);
    hu_history_free(history);
    check_lines();
    static hu_status (*const readers[])(const char *, hu_history **) = {hu_history_read_brief,
                                                                        hu_history_read_metrics};
    st = readers[size % 2](fuzz_folder(), &history);
    if (st != HU_OK) check_failure(st, history);
    hu_history_free(history);
    /* What one file lacks does not keep the others from being read. */
    st = hu_history_read_some(fuzz_folder(), &history);
    FUZZ_CHECK(st == HU_OK || fuzz_was_fault(st));
    if (history) check_history(history);
    if (history) check_added_up(history);
    if (history) hu_names_sort(&history->tensors);
    if (history) check_names(&history->tensors);
    hu_history_free(history);
    FUZZ_CHECK(hu_json_blocks() == blocks);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const examples[] = {
        /* a run with everything */
        "{\"step\":0,\"epoch\":0,\"loss\":2.23,\"lr\":0.1,\"loss_scale\":8,\"skipped\":true,"
        "\"gradient_norm\":\"inf\",\"images_per_second\":3.5,\"culprit\":\"a\"}\n\xff"
        "{\"step\":0,\"steps\":1,\"skipped\":true,\"tensors\":[[\"input\",\"e4m3fn\",10,1,2,3,4,0,"
        "5,"
        "-6,0.1,0.2,0.3],[\"c.weight\",\"fp16\",4,0,0,0,0,0,null,null,0,0,0]],\"products\":[["
        "\"c.forward\",\"fmac:fp16\",5,1,0,6,2]],\"updates\":[[\"c.weight\",4,1,2]],\"held\":[["
        "\"input\",\"nan\",2,1,3,4]]}\n"
        "{\"step\":1,\"events\":[[\"input\",\"nan\",\"fp16\",1,2]],\"promoted\":[[\"input\","
        "\"e4m3fn\",\"fp16\",0.5]]}\n"
        "{\"step\":1,\"epoch\":1,\"precision\":\"fp32\"}\n\xff"
        "{\"step\":0,\"bits\":[[\"c\",8,6],[\"d\",1,32]]}\n{\"step\":1,\"beta\":0.5}\n\xff"
        "{\"step\":0,\"tensors\":[[\"input\",6,1,0,-3,[1,2,2],0.5]]}\n\xff"
        "{\"tensor_elements\":10,\"model_aggregate_bits\":80,\"low_precision_ratio\":0.5,"
        "\"groups\":"
        "[{\"id\":0,\"elements\":10,\"share\":1.0,\"precision\":\"low\",\"tensors\":[\"input\"]}],"
        "\"memory_bytes\":{\"activations\":10}}\xff"
        "{\"metric\":{\"name\":\"accuracy\"},\"ledger_bytes\":{\"total\":3},\"diverged\":\"loss is "
        "nan\"}",
        /* one that was stopped in the middle of a line, with numbers at the ends of their ranges */
        "{\"step\":0,\"epoch\":0,\"loss\":null,\"lr\":\"-inf\",\"skipped\":false}\n{\"ste\xff"
        "{\"step\":9007199254740992,\"steps\":9223372036854775807,\"tensors\":[]}\n\xff\xff"
        "{\"step\":0,\"tensors\":[[\"a\",1,0,1,127,[0],0]]}\n\xff\xff",
        /* rows to add up */
        "\xff"
        "{\"step\":0,\"steps\":1,\"tensors\":[[\"a\",\"fp16\",4,0,0,0,0,0,0,0,0,0,0]]}\n"
        "{\"step\":1,\"steps\":1,\"tensors\":[[\"a\",\"fp16\",4,0,0,0,0,0,0,0,0,0,0],[\"b\","
        "\"fp16\","
        "4,0,0,0,0,0,0,0,0,0,0]],\"products\":[[\"c\",\"fmac:fp16\",5,1,0,6,2]],"
        "\"updates\":[[\"a\",4,1,2]]}\n"
        "{\"step\":2,\"steps\":1,\"tensors\":[[\"b\",\"fp16\",4,0,0,0,0,0,0,0,0,0,0],[\"a\","
        "\"fp16\","
        "4,0,0,0,0,0,0,0,0,0,0]],\"products\":[[\"c\",\"fmac:fp16\",5,1,0,6,2],[\"d\","
        "\"fmac:fp16\",5,1,0,6,2]],\"updates\":[[\"a\",4,1,2],[\"b\",4,1,2]]}\n"
        "{\"step\":3,\"steps\":1,\"tensors\":[]}\n\xff\xff\xff"};
    /* what else may stand in place of a number */
    static const char *const others[] = {"{}", "[]", "1.5", "\"a\"", "null", "true"};
    enum { EXAMPLES = sizeof examples / sizeof *examples };
    if (index < EXAMPLES) return fuzz_text_seed(examples[index], seed);
    if (index - EXAMPLES >= sizeof others / sizeof *others) return false;
    fuzz_text_seed("{\"step\":", seed);
    fuzz_text_seed(others[index - EXAMPLES], seed);
    return fuzz_text_seed("}\n", seed);
}
