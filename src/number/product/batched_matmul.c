#include "product/batched_matmul.h"

#include <string.h>

#include "kernel/conv/sweep.h"
#include "product/batched_accumulate.h"

enum { WIDTH = 16 }; /* of the panels of kernel/conv */

/* Rows of 16 in the panels of all blocks: so many lie in the L1 cache beside what they meet. */
static const int64_t panel_rows = 384;

/* Rows or keys whose sums end or begin at different terms are taken together in groups of so many:
 * the terms that all of them have, and the few that only some have. */
static const int64_t group_places = 8;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t hu_heads_pairs_seen(const hu_heads *h, hu_heads_valid valid) {
    int64_t seen = 0;
    for (int64_t t = 0; t < valid.rows; t++) seen += hu_heads_seen(h, valid, t);
    return seen;
}

/* ---- arrays ---- */

static int64_t width_of(const hu_heads *h) {
    return h->heads * h->depth;
}

/* Numbers of one sample, and how far the heads lie apart. */
typedef struct extent {
    int64_t count, step;
} extent;

static extent pairs_extent(const hu_heads *h) {
    return (extent){h->heads * h->rows * h->keys, h->rows * h->keys};
}

static extent places_extent(const hu_heads *h, int64_t places) {
    return (extent){places * width_of(h), h->depth};
}

static extent result_extent(const hu_heads *h, hu_heads_form form) {
    if (form == HU_HEADS_PAIRS) return pairs_extent(h);
    return places_extent(h, form == HU_HEADS_ROWS ? h->rows : h->keys);
}

static extent first_extent(const hu_heads *h, hu_heads_form form) {
    return form == HU_HEADS_PAIRS ? places_extent(h, h->rows) : pairs_extent(h);
}

static extent second_extent(const hu_heads *h, hu_heads_form form) {
    return places_extent(h, form == HU_HEADS_KEYS ? h->rows : h->keys);
}

/* ---- float32: sums of one head by the sweeps of kernel/conv ---- */

/* Up to 16 sums of every place in each of a few blocks, and a run of their terms. */
typedef struct block {
    const hu_conv_kernels *kernels;
    const float *source; /* of place 0, term 0 */
    int64_t source_place, source_term;
    const float *panel; /* [block][terms][16] from term `first` on */
    int64_t first, end; /* terms */
    float *target;      /* of place 0 */
    int64_t target_place, width;
} block;

/* Terms low .. high-1, as far as the block has them, of places first .. end-1; starts: the sums
 * begin here, even if there are no terms. */
static void sweep(const block *b, int64_t first, int64_t end, int64_t low, int64_t high,
                  bool starts) {
    static const float zeros[HU_CONV_MOST_BLOCKS * WIDTH];
    if (low < b->first) low = b->first;
    high = least(high, b->end);
    if (first >= end || (low >= high && !starts)) return;
    hu_conv_sweep s = {.source = b->source + first * b->source_place + low * b->source_term,
                       .panel = b->panel + (low - b->first) * WIDTH,
                       .start = starts ? zeros : NULL,
                       .target = b->target + first * b->target_place,
                       .images = 1,
                       .rows = 1,
                       .columns = end - first,
                       .width = b->width,
                       .source_column = b->source_place,
                       .target_column = b->target_place,
                       .tap_rows = 1,
                       .tap_columns = 1,
                       .depth = high > low ? high - low : 0,
                       .panel_block = (b->end - b->first) * WIDTH,
                       .source_term = b->source_term};
    b->kernels->sweep(&s);
}

/* Rows, each of which has the terms of the keys that it sees. */
static void sweep_rows(const block *b, const hu_heads *h, hu_heads_valid valid) {
    bool starts = b->first == 0;
    if (!h->is_causal) {
        sweep(b, 0, valid.rows, 0, valid.keys, starts);
        return;
    }
    for (int64_t t = 0; t < valid.rows; t += group_places) {
        int64_t end = least(t + group_places, valid.rows), common = hu_heads_seen(h, valid, t);
        sweep(b, t, end, 0, common, starts);
        for (int64_t i = t + 1; i < end; i++)
            sweep(b, i, i + 1, common, hu_heads_seen(h, valid, i), false);
    }
}

/* Keys, each of which has the terms of the rows that see it: key s is seen from row s on. */
static void sweep_keys(const block *b, const hu_heads *h, hu_heads_valid valid) {
    bool starts = b->first == 0;
    if (!h->is_causal) {
        sweep(b, 0, valid.keys, 0, valid.rows, starts);
        return;
    }
    for (int64_t s = 0; s < valid.keys; s += group_places) {
        int64_t end = least(s + group_places, valid.keys), common = least(end - 1, valid.rows);
        for (int64_t i = s; i < end; i++) sweep(b, i, i + 1, i, common, starts);
        sweep(b, s, end, common, valid.rows, false);
    }
}

/* width columns of terms rows of from, `step` apart -> [terms][16] */
static void pack_columns(int64_t terms, int64_t step, int64_t width, const float *from, float *to) {
    for (int64_t k = 0; k < terms; k++, from += step, to += WIDTH) {
        if (width == WIDTH) {
            memcpy(to, from, WIDTH * sizeof *to);
            continue;
        }
        for (int64_t i = 0; i < WIDTH; i++) to[i] = i < width ? from[i] : 0;
    }
}

/* Blocks of so many sums that are taken together. */
static int64_t blocks_of(int64_t sums) {
    return least((sums + WIDTH - 1) / WIDTH, HU_CONV_MOST_BLOCKS);
}

/* Terms of the panels of so many blocks. */
static int64_t panel_terms(int64_t blocks, int64_t terms) {
    return least(terms, panel_rows / blocks);
}

/* The sums of the blocks from `first` on, of `sums` in all. */
static int64_t block_sums(int64_t first, int64_t sums, int64_t blocks) {
    return least(sums - first, blocks * WIDTH);
}

/* Pairs of a causal row and keys that it does not see are computed with their neighbours, and
 * cleared afterwards. */
static void pairs_of_head(const hu_heads *h, const hu_heads_call *call) {
    int64_t step = width_of(h);
    block b = {.kernels = hu_conv_kernels_of_isa(),
               .source = call->first,
               .source_place = step,
               .source_term = 1,
               .panel = call->scratch,
               .target_place = h->keys};
    /* What few rows see is not worth wide tiles. */
    int64_t blocks = h->is_causal ? 1 : least(b.kernels->blocks, blocks_of(h->keys));
    for (int64_t s = 0; s < call->valid.keys; s += blocks * WIDTH) {
        const float *keys = call->second + s * step;
        b.width = block_sums(s, call->valid.keys, blocks);
        b.target = call->result + s;
        for (b.first = 0; b.first < h->depth; b.first = b.end) {
            float *panel = call->scratch;
            b.end = b.first + panel_terms(blocks, h->depth - b.first);
            for (int64_t i = 0; i < b.width; i += WIDTH, panel += (b.end - b.first) * WIDTH)
                b.kernels->turn(b.end - b.first, step, least(WIDTH, b.width - i),
                                keys + i * step + b.first, panel);
            sweep(&b, h->is_causal ? s : 0, call->valid.rows, 0, h->depth, b.first == 0);
        }
    }
    for (int64_t t = 0; t < h->rows; t++) {
        int64_t seen = hu_heads_seen(h, call->valid, t);
        memset(call->result + t * h->keys + seen, 0, (size_t)(h->keys - seen) * sizeof(float));
    }
}

/* ROWS or KEYS: sums of a head's columns, some blocks of 16 at a time. */
static void places_of_head(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    bool is_rows = form == HU_HEADS_ROWS;
    int64_t step = width_of(h), terms = is_rows ? call->valid.keys : call->valid.rows;
    block b = {.kernels = hu_conv_kernels_of_isa(),
               .source = call->first,
               .source_place = is_rows ? h->keys : 1,
               .source_term = is_rows ? 1 : h->keys,
               .panel = call->scratch,
               .target_place = step};
    int64_t blocks = least(b.kernels->blocks, blocks_of(h->depth));
    for (int64_t j = 0; j < h->depth; j += blocks * WIDTH) {
        b.width = block_sums(j, h->depth, blocks);
        b.target = call->result + j;
        for (b.first = 0; b.first < terms; b.first = b.end) {
            float *panel = call->scratch;
            b.end = b.first + panel_terms(blocks, terms - b.first);
            for (int64_t i = 0; i < b.width; i += WIDTH, panel += (b.end - b.first) * WIDTH)
                pack_columns(b.end - b.first, step, least(WIDTH, b.width - i),
                             call->second + b.first * step + j + i, panel);
            if (is_rows)
                sweep_rows(&b, h, call->valid);
            else
                sweep_keys(&b, h, call->valid);
        }
    }
}

/* ---- heads ---- */

/* Where nothing is there, the sums of rows and keys have no terms. */
static void clear_absent(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    int64_t places = form == HU_HEADS_ROWS ? h->rows : h->keys;
    int64_t valid = form == HU_HEADS_ROWS ? call->valid.rows : call->valid.keys;
    if (call->valid.rows == 0 || call->valid.keys == 0) valid = 0;
    memset(call->result + valid * width_of(h), 0,
           (size_t)((places - valid) * width_of(h)) * sizeof(float));
}

static bool run_head(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    if (call->accumulator) return hu_heads_accumulate_run(h, form, call);
    if (form == HU_HEADS_PAIRS)
        pairs_of_head(h, call);
    else
        places_of_head(h, form, call);
    return true;
}

hu_status hu_heads_scratch_bytes(const hu_heads *h, hu_heads_form form,
                                 const hu_accumulator *accumulator, size_t *bytes) {
    if (accumulator) return hu_heads_accumulate_scratch_bytes(h, form, accumulator, bytes);
    int64_t terms = form == HU_HEADS_PAIRS ? h->depth : form == HU_HEADS_ROWS ? h->keys : h->rows;
    int64_t blocks = blocks_of(form == HU_HEADS_PAIRS ? h->keys : h->depth);
    *bytes = (size_t)(blocks * panel_terms(blocks, terms) * WIDTH) * sizeof(float);
    return HU_OK;
}

void hu_heads_run(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    hu_heads_call head = *call;
    bool done = true;
    if (form == HU_HEADS_PAIRS && call->accumulator)
        memset(call->result, 0, (size_t)pairs_extent(h).count * sizeof(float));
    if (form != HU_HEADS_PAIRS) clear_absent(h, form, call);
    for (int64_t i = 0; i < h->heads; i++) {
        done = done && run_head(h, form, &head);
        head.first += first_extent(h, form).step;
        head.second += second_extent(h, form).step;
        head.result += result_extent(h, form).step;
    }
    if (!done) memset(call->result, 0xff, (size_t)result_extent(h, form).count * sizeof(float));
}
