#include "product/batched_matmul.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "kernel/conv/sweep.h"

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- with a chosen accumulator ---- */

/* Rows or keys that a causal product takes together: where they are neighbours a few tiles, so that
 * what a call costs and what is computed in vain are alike; else one tile. */
enum { ALIGNMENT = 64, GROUP = 32, APART_GROUP = 8 };

/* Places (rows, or keys where these are computed), `apart` from each other, and so many sums of
 * each, from sum `skip` on, that run over terms low .. low + terms - 1. */
typedef struct part {
    int64_t first, count, apart;
    int64_t low, terms;
    int64_t skip, sums;
} part;

/* Floats from the beginnings of the call's arrays. */
typedef struct offsets {
    int64_t first, second, result;
} offsets;

/* All places, where each row sees all keys. */
static part all_of(const hu_heads *h, hu_heads_form form, hu_heads_valid valid) {
    part all = {.count = valid.rows, .apart = 1};
    all.terms = form == HU_HEADS_PAIRS ? h->depth : valid.keys;
    all.sums = form == HU_HEADS_PAIRS ? valid.keys : h->depth;
    if (form != HU_HEADS_KEYS) return all;
    all.count = valid.keys;
    all.terms = valid.rows;
    return all;
}

/* The task of a part, without its arrays, and where they begin. */
static hu_gemm_task task_of(const hu_heads *h, hu_heads_form form, const part *p, offsets *at) {
    int64_t step = h->heads * h->depth;
    hu_gemm_task task = {
        .m = p->count, .n = p->sums, .k = p->terms, .c_stride = step * p->apart, .threads = 1};
    task.a = (hu_operand){.stride = h->keys, .k_stride = 1};
    task.b = (hu_operand){.stride = 1, .k_stride = step};
    *at = (offsets){p->first * h->keys, 0, p->first * step};
    if (form == HU_HEADS_PAIRS) {
        task.a = task.b = (hu_operand){.stride = step, .k_stride = 1};
        task.c_stride = h->keys;
        *at = (offsets){p->first * step, p->skip * step, p->first * h->keys + p->skip};
    } else if (form == HU_HEADS_KEYS) {
        task.a = (hu_operand){.stride = p->apart, .k_stride = h->keys};
        at->first = p->low * h->keys + p->first;
        at->second = p->low * step;
    }
    return task;
}

/* Widens *bytes to what a part needs. */
static hu_status add_scratch(const hu_heads *h, hu_heads_form form, const part *p,
                             const hu_accumulator *accumulator, size_t *bytes) {
    offsets at;
    size_t needed;
    hu_gemm_task task = task_of(h, form, p, &at);
    task.accumulator = *accumulator;
    hu_status st = hu_gemm_scratch_bytes(&task, &needed);
    if (st == HU_OK && needed > *bytes) *bytes = needed;
    return st;
}

/* Of groups of all sizes that see so many keys, or are seen by so many rows. */
static hu_status add_groups(const hu_heads *h, hu_heads_form form, int64_t seen,
                            const hu_accumulator *accumulator, size_t *bytes) {
    hu_status st = HU_OK;
    for (int64_t count = 1; st == HU_OK && count <= GROUP; count++) {
        part p = {.count = count, .apart = 1, .terms = seen, .sums = h->depth};
        if (form == HU_HEADS_PAIRS) p.terms = h->depth, p.sums = seen;
        st = add_scratch(h, form, &p, accumulator, bytes);
    }
    return st;
}

/* Of all numbers of rows and keys that may be there. */
static hu_status heads_accumulate_scratch_bytes(const hu_heads *h, hu_heads_form form,
                                                const hu_accumulator *accumulator, size_t *bytes) {
    hu_status st = HU_OK;
    int64_t most = h->rows > h->keys ? h->rows : h->keys;
    *bytes = 0;
    for (int64_t valid = 1; st == HU_OK && valid <= most; valid++) {
        hu_heads_valid here = {least(valid, h->rows), least(valid, h->keys)};
        if (h->is_causal) st = add_groups(h, form, valid, accumulator, bytes);
        for (int64_t all = 0; st == HU_OK && !h->is_causal && all < 3; all++) {
            hu_heads_valid some = {all == 1 ? h->rows : here.rows, all == 2 ? h->keys : here.keys};
            part p = all_of(h, form, some);
            st = add_scratch(h, form, &p, accumulator, bytes);
        }
    }
    *bytes = hu_round_up(*bytes, ALIGNMENT);
    return st;
}

static bool run_part(const hu_heads *h, hu_heads_form form, const hu_heads_call *call, part p) {
    offsets at;
    hu_gemm_task task = task_of(h, form, &p, &at);
    task.a.data = call->first + at.first;
    task.b.data = call->second + at.second;
    task.c = call->result + at.result;
    task.accumulator = *call->accumulator;
    task.counts = call->counts;
    task.scratch = call->scratch;
    return hu_gemm(&task) == HU_OK;
}

/* ---- causal: a row alone would fill an eighth of a tile of kernel/gemm ---- */

/* Rows first .. end-1. What only some of them see is computed for all and cleared, unless somebody
 * counts: then row by row. */
static bool pairs_of_group(const hu_heads *h, const hu_heads_call *call, int64_t first,
                           int64_t end) {
    bool counts = call->counts != NULL, done;
    int64_t common = hu_heads_seen(h, call->valid, counts ? first : end - 1);
    part all = {
        .first = first, .count = end - first, .apart = 1, .terms = h->depth, .sums = common};
    done = run_part(h, HU_HEADS_PAIRS, call, all);
    for (int64_t t = first; done && t < end; t++) {
        int64_t seen = hu_heads_seen(h, call->valid, t);
        part rest = {.first = t, .count = 1, .apart = 1, .terms = h->depth, .skip = common};
        rest.sums = seen - common;
        if (counts && rest.sums > 0) done = run_part(h, HU_HEADS_PAIRS, call, rest);
        for (int64_t s = seen; s < common; s++) call->result[t * h->keys + s] = 0.0f;
    }
    return done;
}

/* A row, or a key, that is computed alone. */
static part alone(const hu_heads *h, hu_heads_form form, hu_heads_valid valid, int64_t i) {
    part p = {.first = i, .count = 1, .apart = 1, .sums = h->depth};
    p.low = form == HU_HEADS_KEYS ? least(i, valid.rows) : 0;
    p.terms = form == HU_HEADS_KEYS ? valid.rows - p.low : hu_heads_seen(h, valid, i);
    return p;
}

/* Numbers of the pairs that row t does not see, but others in there. */
static bool are_zero(const hu_heads *h, const hu_heads_call *call, int64_t t) {
    int bits = 0;
    for (int64_t s = hu_heads_seen(h, call->valid, t); s < call->valid.keys; s++)
        bits |= call->first[t * h->keys + s] != 0.0f;
    return !bits;
}

static bool are_finite(const hu_heads *h, const float *places, int64_t count) {
    int others = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < h->depth; j++)
            others |= !(fabsf(places[i * h->heads * h->depth + j]) <= FLT_MAX);
    return !others;
}

/* Kahan's sums, and those of steps that align to fewer bits than they keep, are others after a term
 * of zero. */
static bool feels_zeros(const hu_accumulator *accumulator) {
    hu_mac mac = accumulator->mac;
    return mac == HU_MAC_KAHAN || mac == HU_MAC_KAHAN_CPD ||
           (mac == HU_MAC_TC && accumulator->align_bits < accumulator->format.man_bits);
}

/* True if a pair that is not seen adds 0 times a finite number: that leaves each sum as it is, but
 * those of feels_zeros, and a -0 in float32 (keeps_sign). Somebody who counts would see it. */
static bool may_pad(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    if (call->counts || feels_zeros(call->accumulator)) return false;
    for (int64_t t = 0; t < call->valid.rows; t++)
        if (!are_zero(h, call, t)) return false;
    int64_t count = form == HU_HEADS_ROWS ? call->valid.keys : call->valid.rows;
    return are_finite(h, call->second, count);
}

/* False: a sum of the place may be -0 alone, and +0 with zeros after it. */
static bool keeps_sign(const hu_heads *h, const hu_heads_call *call, int64_t place) {
    hu_mac mac = call->accumulator->mac;
    const float *sums = call->result + place * h->heads * h->depth;
    int zeros = 0;
    for (int64_t j = 0; j < h->depth; j++) zeros |= sums[j] == 0.0f;
    return !zeros || (mac != HU_MAC_FMACS && mac != HU_MAC_MACS);
}

/* Rows first .. end-1, with the keys that the last one sees. */
static bool rows_of_group(const hu_heads *h, const hu_heads_call *call, int64_t first,
                          int64_t end) {
    part p = alone(h, HU_HEADS_ROWS, call->valid, end - 1);
    p.first = first;
    p.count = end - first;
    bool done = run_part(h, HU_HEADS_ROWS, call, p);
    for (int64_t t = first; done && t < end - 1; t++)
        if (!keeps_sign(h, call, t))
            done = run_part(h, HU_HEADS_ROWS, call, alone(h, HU_HEADS_ROWS, call->valid, t));
    return done;
}

/* Keys from `first` on, with the rows that see the first one. Blocks of FMAC-K, and steps of TC,
 * begin where the terms of a key do: there keys are as far apart as a block is long, so that blocks
 * of zeros come before. */
static bool keys_of_group(const hu_heads *h, const hu_heads_call *call, int64_t first,
                          int64_t apart) {
    part p = alone(h, HU_HEADS_KEYS, call->valid, first);
    p.apart = apart;
    p.count =
        least(apart > 1 ? APART_GROUP : GROUP, (call->valid.keys - first + apart - 1) / apart);
    return run_part(h, HU_HEADS_KEYS, call, p);
}

static int64_t apart_of(const hu_accumulator *accumulator) {
    if (accumulator->mac == HU_MAC_TC && accumulator->promote) return accumulator->promote;
    return accumulator->mac == HU_MAC_FMAC_K || accumulator->mac == HU_MAC_TC ? accumulator->block
                                                                              : 1;
}

static bool run_keys(const hu_heads *h, const hu_heads_call *call) {
    const hu_accumulator *accumulator = call->accumulator;
    int64_t apart = apart_of(accumulator);
    bool done = true;
    apart = least(apart, call->valid.keys);
    int64_t group = (apart > 1 ? APART_GROUP : GROUP) * apart;
    for (int64_t r = 0; r < apart; r++)
        for (int64_t s = r; done && s < call->valid.keys; s += group)
            done = keys_of_group(h, call, s, apart);
    return done;
}

static bool run_causal(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    int64_t places = form == HU_HEADS_KEYS ? call->valid.keys : call->valid.rows;
    bool done = true, is_padded = form != HU_HEADS_PAIRS && may_pad(h, form, call);
    if (is_padded && form == HU_HEADS_KEYS) return run_keys(h, call);
    if (form != HU_HEADS_PAIRS && !is_padded) {
        for (int64_t i = 0; done && i < places; i++)
            done = run_part(h, form, call, alone(h, form, call->valid, i));
        return done;
    }
    for (int64_t t = 0; done && t < places; t += GROUP) {
        int64_t end = least(t + GROUP, places);
        done = is_padded ? rows_of_group(h, call, t, end) : pairs_of_group(h, call, t, end);
    }
    return done;
}

/* The sums of one head, whose arrays the call names from its first numbers on; of the result only
 * sums that have terms are written. False: out of memory. */
static bool heads_accumulate_run(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    if (h->is_causal) return run_causal(h, form, call);
    return run_part(h, form, call, all_of(h, form, call->valid));
}

enum { WIDTH = 16 }; /* of the panels of kernel/conv */

/* Rows of 16 in the panels of all blocks: so many lie in the L1 cache beside what they meet. */
static const int64_t panel_rows = 384;

/* Rows or keys whose sums end or begin at different terms are taken together in groups of so many:
 * the terms that all of them have, and the few that only some have. */
static const int64_t group_places = 8;

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

/* Where nothing is present, the sums of rows and keys have no terms. */
static void clear_absent(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    int64_t places = form == HU_HEADS_ROWS ? h->rows : h->keys;
    int64_t valid = form == HU_HEADS_ROWS ? call->valid.rows : call->valid.keys;
    if (call->valid.rows == 0 || call->valid.keys == 0) valid = 0;
    memset(call->result + valid * width_of(h), 0,
           (size_t)((places - valid) * width_of(h)) * sizeof(float));
}

static bool run_head(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    if (call->accumulator) return heads_accumulate_run(h, form, call);
    if (form == HU_HEADS_PAIRS)
        pairs_of_head(h, call);
    else
        places_of_head(h, form, call);
    return true;
}

hu_status hu_heads_scratch_bytes(const hu_heads *h, hu_heads_form form,
                                 const hu_accumulator *accumulator, size_t *bytes) {
    if (accumulator) return heads_accumulate_scratch_bytes(h, form, accumulator, bytes);
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
