/* kernel/block/pass.c - whole tiles in two passes: which blockers are served, and batches of tiles.
 */
#include "kernel/block/pass.h"
#include "kernel/pack/bits.h"

/* ---- served blockers ---- */

#if defined(__x86_64__)
/* Elements far below the smallest one become 0 whatever their quotient's last bits are. How long
 * tiles are hu_blocker_set_row looks at: lines may be shorter. */
static bool is_served(const hu_blocker *b) {
    const hu_block_format *f = &b->format;
    const hu_rounder *r = &b->rounder;
    bool is_row = f->lines == 1 && f->length <= HU_PASS_MOST;
    bool is_plain = !f->hadamard && !f->choice && f->way != HU_BLOCK_WAY_EDEN;
    return is_row && is_plain && (b->width == 4 || b->width == 6 || b->width == 8) &&
           r->rounding == HU_ROUND_NEAREST_EVEN && r->route == HU_ROUTE_MAGIC &&
           r->finish == HU_FINISH_PLAIN && r->overflow_value[0] == r->max_bits &&
           r->min_nonzero_bits >= hu_f32_bits(0x1p-38f);
}

extern const hu_block_pass hu_block_pass_avx2, hu_block_pass_avx512;

const hu_block_pass *hu_block_pass_for(const hu_blocker *blocker, hu_isa isa) {
    if (isa < HU_ISA_AVX2 || !is_served(blocker)) return NULL;
    return isa == HU_ISA_AVX2 ? &hu_block_pass_avx2 : &hu_block_pass_avx512;
}
#else
const hu_block_pass *hu_block_pass_for(const hu_blocker *blocker, hu_isa isa) {
    (void)blocker, (void)isa;
    return NULL;
}
#endif

/* ---- batches of tiles ---- */

/* Maxima and units of a batch. */
typedef struct batch {
    size_t tiles;
    uint32_t tops[HU_PASS_TILES];
    float unit[HU_PASS_TILES], inverse[HU_PASS_TILES];
} batch;

/* scales NULL: not stored. */
static bool prepare(const hu_block_job *job, int64_t first, size_t n, batch *all, uint8_t *scales,
                    uint32_t *top) {
    const hu_blocker *b = job->b;
    all->tiles = n >> b->shift;
    b->pass->tops((size_t)b->format.length, all->tiles, job->x + first, all->tops);
    b->kernels->set_both(b, job->tensor_scale, all->tiles, all->tops, scales, all->unit,
                         all->inverse);
    uint32_t most = b->kernels->calm(b, all->tiles, all->tops, all->unit, all->inverse);
    if (most >= HU_F32_INFINITY) return false;
    if (most > *top) *top = most;
    return true;
}

/* Units say nothing about the exponents of x. */
static void add_counts(const hu_block_job *job, size_t n, tally *t) {
    t->top = 0;
    t->under = NO_INPUT;
    if (job->counts) add_tally(false, n, t, 0, job->counts);
}

bool hu_block_pass_round(const hu_block_job *job, int64_t first, size_t n, float *y,
                         uint32_t *top) {
    const hu_blocker *b = job->b;
    batch all;
    tally t = {0};
    if (!prepare(job, first, n, &all, NULL, top)) return false;
    b->pass->round(b, all.tiles, all.unit, all.inverse, job->x + first, y, &t);
    add_counts(job, n, &t);
    return true;
}

bool hu_block_pass_pack(const hu_block_job *job, int64_t first, size_t n, uint8_t *codes,
                        uint8_t *scales, uint32_t *top) {
    const hu_blocker *b = job->b;
    batch all;
    tally t = {0};
    uint8_t bytes[HU_PASS_MOST];
    bool is_joined = b->width == 6;
    if (!prepare(job, first, n, &all, scales, top)) return false;
    b->pass->pack(b, all.tiles, all.unit, all.inverse, job->x + first, is_joined ? bytes : codes,
                  &t);
    if (is_joined) hu_join_bits(n, bytes, 1, b->width, codes);
    add_counts(job, n, &t);
    return true;
}

void hu_block_pass_unpack(const hu_blocker *blocker, float tensor_scale, size_t n,
                          const uint8_t *codes, const uint8_t *scales, float *y) {
    float unit[HU_PASS_TILES];
    uint8_t bytes[HU_PASS_MOST];
    bool is_joined = blocker->width == 6;
    const size_t code_bytes = hu_block_dense_bytes(blocker, HU_PASS_MOST);
    const size_t tiles = (size_t)HU_PASS_MOST >> blocker->shift;
    for (size_t at = 0; at < n; at += HU_PASS_MOST) {
        size_t count = (n - at < HU_PASS_MOST ? n - at : HU_PASS_MOST) >> blocker->shift;
        blocker->kernels->set_units(blocker, tensor_scale, count, scales, unit, NULL);
        if (is_joined) hu_split_bits(count << blocker->shift, codes, blocker->width, bytes, 1);
        blocker->pass->unpack(blocker, count, unit, is_joined ? bytes : codes, y + at);
        codes += code_bytes;
        scales += tiles * blocker->scale_bytes;
    }
}
