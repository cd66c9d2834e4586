/* kernel/gemm/gemm.c - products: the loops over blocks, and the threads.
 * Proof: tests/unit/kernel_gemm_driver_test.c, bit for bit against hu_gemm_reference.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "kernel/gemm/kernel.h"
#include "kernel/gemm/multiply.h"
#include "kernel/gemm/operand.h"
#include "kernel/gemm/pack.h"
#include "kernel/gemm/source.h"
#include "kernel/gemm/tile.h"

/* One stretch of terms: `first` .. `first + terms - 1` of the call. */
typedef struct stretch {
    int64_t first, terms;
    bool is_last;
} stretch;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t part_of(int64_t count, int part, int parts) {
    return count * part / parts;
}

/* Rows or columns of the other factor: measuring slices is a hundredth of its product. */
enum { SLICED_FROM = 192 };

/* ---- packing ---- */

static hu_round_counts *a_counts(hu_gemm_worker *w) {
    return w->job->task->a.counts ? &w->a_counts : NULL;
}

static hu_round_counts *b_counts(hu_gemm_worker *w) {
    return w->job->task->b.counts ? &w->b_counts : NULL;
}

/* Where panels go: run r of panel p becomes unit at + p * runs + r of `units`, each of `unit`
 * floats, [terms of the run][width]; its facts, if anybody needs them, facts[at + p * runs + r]. */
typedef struct units {
    float *panels;
    hu_unit_facts *facts;
    bool has_slices;
    size_t unit;
    int64_t at, runs;
} units;

/* The facts of a panel [run][width]. */
static void measure_panel(const hu_gemm_job *job, const hu_source *source, const float *panel,
                          int64_t run, int width, bool has_slices, hu_unit_facts *facts) {
    uint32_t low[HU_PANEL_SLICES];
    facts->all = source->has_facts ? source->facts : hu_gemm_measure(job, panel, run, width, width);
    facts->has_slices = has_slices && !isinf(facts->all.top);
    if (!facts->has_slices) return;
    job->pack->lows((size_t)(run * width), panel, (size_t)(HU_SLICE_TERMS * width), low);
    for (int64_t i = 0; i * HU_SLICE_TERMS < run; i++)
        facts->quantum[i] = (int16_t)hu_panel_quantum(low[i]);
}

/* `count` panels of a factor from number `panel` on, `width` rows of it each, in all runs of the
 * stretch. */
static void pack_panels(const hu_gemm_job *job, const hu_source *source, int64_t panel,
                        int64_t count, int width, const stretch *s, const units *to,
                        hu_round_counts *counts) {
    int64_t step = to->runs * (int64_t)to->unit, length = job->plan.run, at = to->at;
    for (int64_t k = 0; k < s->terms; k += length, at++) {
        int64_t run = least(length, s->terms - k);
        float *out = to->panels + at * (int64_t)to->unit;
        hu_source_pack_side(source, panel * width, width, count, s->first + k, run, step, out,
                            counts);
        for (int64_t p = 0; p < count && job->needs_facts; p++)
            measure_panel(job, source, out + p * step, run, width, to->has_slices,
                          &to->facts[at + p * to->runs]);
    }
}

/* Units of B from number `at` on; of a panel, `runs` lie one after the other. */
static units b_units(const hu_gemm_job *job, int64_t at, int64_t runs) {
    const hu_gemm_plan *p = &job->plan;
    return (units){hu_gemm_shared(job, p->b_panels),
                   hu_gemm_shared(job, p->b_facts),
                   job->b_slices,
                   p->b_unit,
                   at,
                   runs};
}

/* A thread's share of the column panels of B; unit j * runs + r is run r of panel j. */
static void pack_b(hu_gemm_worker *w, const stretch *s, int team) {
    const hu_gemm_job *job = w->job;
    const hu_gemm_plan *p = &job->plan;
    int64_t end = part_of(p->column_panels, w->thread + 1, team);
    for (int64_t j = part_of(p->column_panels, w->thread, team); j < end; j++) {
        const units to = b_units(job, j * p->runs, p->runs);
        pack_panels(job, &job->b, j, 1, p->columns, s, &to, b_counts(w));
    }
}

/* Row panels `first` .. `end` - 1 into the units from number `at` on. */
static void pack_a(hu_gemm_worker *w, const stretch *s, int64_t first, int64_t end, int64_t at) {
    const hu_gemm_job *job = w->job;
    const hu_gemm_plan *p = &job->plan;
    /* With B near every thread packs all of A for itself: only the first counts what it rounds. */
    hu_round_counts *counts = p->is_b_near && w->thread > 0 ? NULL : a_counts(w);
    units to = {hu_gemm_shared(job, p->a_panels),
                hu_gemm_shared(job, p->a_facts),
                job->a_slices,
                p->a_unit,
                at,
                p->runs};
    for (int64_t i = first; i < end; i++, to.at += p->runs)
        pack_panels(job, &job->a, i, 1, p->rows, s, &to, counts);
}

/* A thread's share of the panels of A: blocks lie one after the other, so all are one block. */
static void pack_a_part(hu_gemm_worker *w, const stretch *s, int team) {
    const hu_gemm_plan *p = &w->job->plan;
    int64_t first = part_of(p->row_panels, w->thread, team);
    pack_a(w, s, first, part_of(p->row_panels, w->thread + 1, team), first * p->runs);
}

/* ---- one block of rows x chunk of columns ---- */

/* Terms that the block of FMAC-K or TC holds when term k of the call comes (hu_gemm_tile.phase).
 * FMAC, and TC without `promote`, are one endless block: all terms so far. */
static int64_t phase_at(const hu_gemm_task *task, int64_t k) {
    const hu_accumulator *accumulator = &task->accumulator;
    int64_t promote = accumulator->mac == HU_MAC_TC ? accumulator->promote : 0;
    if (accumulator->mac == HU_MAC_FMAC_K) return (task->before + k) % accumulator->block;
    if (promote > 0) return (task->before + k) % promote;
    if (accumulator->mac == HU_MAC_FMAC || accumulator->mac == HU_MAC_TC) return task->before + k;
    return 0;
}

/* Column panels j .. j + count - 1 of a run, of the chunk at hand. */
typedef struct group {
    int64_t j, count;
} group;

/* The thread's own group of panels. */
static void pack_near(hu_gemm_worker *w, const stretch *s, const group *g, const hu_gemm_run *run) {
    const hu_gemm_job *job = w->job;
    const hu_gemm_plan *p = &job->plan;
    const stretch part = {.first = s->first + run->index * p->run, .terms = run->terms};
    const units to = b_units(job, w->thread * p->group_panels, 1);
    pack_panels(job, &job->b, w->first_column / p->columns + g->j, g->count, p->columns, &part, &to,
                b_counts(w));
}

/* Asks for part `part` of `parts` of what is packed next, so that it comes while a tile runs. */
static void fetch_part(const hu_gemm_worker *w, const hu_gemm_span *next, int64_t part,
                       int64_t parts) {
    int64_t k = next->terms * part / parts, end = next->terms * (part + 1) / parts;
    hu_source_fetch(&w->job->b, next->column, next->columns, next->first + k, end - k);
}

/* The tiles of a group, all panels of A for each column panel. next: what is packed after them. */
static void run_group(hu_gemm_worker *w, const group *g, const hu_gemm_span *next,
                      const hu_gemm_run *run, int64_t row_panels) {
    const hu_gemm_plan *p = &w->job->plan;
    int64_t parts = g->count * row_panels, part = 0;
    for (int64_t j = g->j; j < g->j + g->count; j++) {
        int64_t b_unit =
            p->is_b_near ? w->thread * p->group_panels + j - g->j : j * p->runs + run->index;
        w->is_b_wide = false;
        for (int64_t i = 0; i < row_panels; i++, part++) {
            if (p->is_b_near) fetch_part(w, next, part, parts);
            hu_gemm_run_tile(w, i, j, b_unit, run);
        }
    }
}

/* All runs of a stretch, in order: the order of terms is part of the definition. Within a run a
 * panel of B stays in the cache while the panels of A pass. */
static void run_tiles(hu_gemm_worker *w, const stretch *s, int64_t row_panels,
                      int64_t column_panels) {
    const hu_gemm_plan *p = &w->job->plan;
    for (int64_t k = 0; k < s->terms; k += p->run) {
        hu_gemm_run run = {.index = k / p->run,
                           .terms = least(p->run, s->terms - k),
                           .phase = phase_at(w->job->task, s->first + k)};
        /* Panels as doubles belong to one run. */
        memset(w->is_wide, 0, (size_t)row_panels * sizeof *w->is_wide);
        group g = {0, least(p->group_panels, column_panels)};
        for (int64_t j; g.count > 0; g = (group){j, least(p->group_panels, column_panels - j)}) {
            hu_gemm_span next = w->next;
            j = g.j + g.count;
            if (j < column_panels)
                next = (hu_gemm_span){w->first_column + j * p->columns,
                                      least(p->group_panels, column_panels - j) * p->columns,
                                      s->first + k, run.terms};
            if (p->is_b_near) pack_near(w, s, &g, &run);
            run_group(w, &g, &next, &run, row_panels);
        }
    }
}

/* slot: where the block's panels of A lie. */
static void run_block(hu_gemm_worker *w, const stretch *s, int64_t block, int64_t chunk,
                      int64_t slot) {
    const hu_gemm_job *job = w->job;
    const hu_gemm_plan *p = &job->plan;
    int64_t first_i = block * p->block_panels, first_j = chunk * p->chunk_panels;
    int64_t row_panels = least(p->block_panels, p->row_panels - first_i);
    int64_t column_panels = least(p->chunk_panels, p->column_panels - first_j);
    int64_t a_at = slot * p->block_panels * p->runs, b_at = p->is_b_near ? 0 : first_j * p->runs;
    /* Where the first panels of this block and chunk lie; tiles count from there. */
    w->a_panels = (float *)hu_gemm_shared(job, p->a_panels) + a_at * (int64_t)p->a_unit;
    w->a_facts = (hu_unit_facts *)hu_gemm_shared(job, p->a_facts) + a_at;
    w->b_panels = (float *)hu_gemm_shared(job, p->b_panels) + b_at * (int64_t)p->b_unit;
    w->b_facts = (hu_unit_facts *)hu_gemm_shared(job, p->b_facts) + b_at;
    w->first_row = first_i * p->rows;
    w->first_column = first_j * p->columns;
    w->rows = least(row_panels * p->rows, job->task->m - w->first_row);
    w->columns = least(column_panels * p->columns, job->task->n - w->first_column);
    w->ld = column_panels * p->columns;
    hu_gemm_state_load(w, s->first, row_panels, column_panels);
    run_tiles(w, s, row_panels, column_panels);
    hu_gemm_state_store(w, s->first + s->terms, s->is_last);
}

static int64_t take_next(hu_gemm_job *job) {
    int64_t taken;
#pragma omp atomic capture
    taken = job->next++;
    return taken;
}

/* Every (block, chunk) goes to the thread that asks first. Which one it is does not matter: a
 * tile's terms are added in order by one thread. If A is not shared, a thread packs a block for
 * itself and runs all chunks of it. */
static void run_stretch(hu_gemm_job *job, hu_gemm_worker *w, const stretch *s) {
    const hu_gemm_plan *p = &job->plan;
    int64_t chunks = p->is_a_shared ? p->chunks : 1;
    for (int64_t t = take_next(job); t < p->blocks * chunks; t = take_next(job)) {
        if (p->is_a_shared) {
            run_block(w, s, t / chunks, t % chunks, t / chunks);
            continue;
        }
        int64_t first = t * p->block_panels;
        pack_a(w, s, first, least(first + p->block_panels, p->row_panels),
               w->thread * p->block_panels * p->runs);
        for (int64_t chunk = 0; chunk < p->chunks; chunk++) run_block(w, s, t, chunk, w->thread);
    }
}

/* A team of one may run inside somebody else's parallel region: no barrier there. */
static void meet(int team) {
    if (team > 1) {
#pragma omp barrier
    }
}

/* What a thread packs after chunk `chunk` of its share first .. end - 1: the first group of the
 * next chunk, or of its first one in the next stretch. A stretch with B near is one run. */
static hu_gemm_span span_behind(const hu_gemm_job *job, const stretch *s, int64_t chunk,
                                int64_t first, int64_t end) {
    const hu_gemm_plan *p = &job->plan;
    bool is_last = chunk + 1 == end;
    int64_t panel = (is_last ? first : chunk + 1) * p->chunk_panels;
    int64_t k = is_last ? s->first + s->terms : s->first;
    return (hu_gemm_span){panel * p->columns,
                          least(p->group_panels, p->column_panels - panel) * p->columns, k,
                          least(s->terms, job->task->k - k)};
}

/* A thread's share of the chunks of the only block. */
static void run_near(hu_gemm_worker *w, const stretch *s, int team) {
    const hu_gemm_plan *p = &w->job->plan;
    int64_t first = part_of(p->chunks, w->thread, team);
    int64_t end = part_of(p->chunks, w->thread + 1, team);
    if (first < end || w->thread == 0)
        pack_a(w, s, 0, p->row_panels, w->thread * p->block_panels * p->runs);
    for (int64_t chunk = first; chunk < end; chunk++) {
        w->next = span_behind(w->job, s, chunk, first, end);
        run_block(w, s, 0, chunk, w->thread);
    }
}

/* Blocks for whoever is free, when all of B's stretch is packed. */
static void run_far(hu_gemm_job *job, hu_gemm_worker *w, const stretch *s, int team) {
    pack_b(w, s, team);
    if (job->plan.is_a_shared) pack_a_part(w, s, team);
    if (w->thread == 0) job->next = 0;
    meet(team);
    run_stretch(job, w, s);
    meet(team);
}

/* ---- threads ---- */

/* Patches of rounded images: the images are rounded once, before any patch is read, because each
 * number is part of many patches. */
static void round_images(hu_gemm_job *job, hu_gemm_worker *w, int team) {
    float *a = hu_gemm_shared(job, job->plan.a_images),
          *b = hu_gemm_shared(job, job->plan.b_images);
    bool has_a = job->plan.a_images.bytes > 0, has_b = job->plan.b_images.bytes > 0;
    if (!has_a && !has_b) return;
    if (has_a) hu_source_round_images(&job->a, a, w->thread, team, a_counts(w));
    if (has_b) hu_source_round_images(&job->b, b, w->thread, team, b_counts(w));
    meet(team);
    if (w->thread == 0 && has_a) hu_source_use_images(&job->a, a);
    if (w->thread == 0 && has_b) hu_source_use_images(&job->b, b);
    meet(team);
}

/* One thread's part of the images, then one addition: maxima and unions know no order. */
static void measure_share(hu_source *source, int thread, int team, hu_pack_facts *seen) {
    hu_pack_facts own = {.low = UINT32_MAX};
    if (!source->operand.patches) return;
    hu_source_measure_images(source, thread, team, &own);
#pragma omp critical(hu_gemm_facts)
    hu_pack_facts_add(seen, &own);
}

/* Images are measured once instead of panel by panel, because each number is part of many patches.
 */
static void measure_images(hu_gemm_job *job, int thread, int team) {
    if (!job->needs_facts || (!job->a.operand.patches && !job->b.operand.patches)) return;
    measure_share(&job->a, thread, team, &job->a_seen);
    measure_share(&job->b, thread, team, &job->b_seen);
    meet(team);
    if (thread == 0 && job->a.operand.patches) hu_source_use_facts(&job->a, &job->a_seen);
    if (thread == 0 && job->b.operand.patches) hu_source_use_facts(&job->b, &job->b_seen);
    meet(team);
}

/* Thread `thread` with its own part of scratch and no counts. */
static hu_gemm_worker worker_of(const hu_gemm_job *job, int thread) {
    const hu_gemm_plan *p = &job->plan;
    hu_gemm_worker w = {.job = job,
                        .thread = thread,
                        .a_wide = hu_gemm_own(job, p->a_wide, thread),
                        .b_wide = hu_gemm_own(job, p->b_wide, thread),
                        .is_wide = hu_gemm_own(job, p->is_wide, thread),
                        .sum = hu_gemm_own(job, p->sum, thread),
                        .extra = hu_gemm_own(job, p->extra, thread),
                        .reach = hu_gemm_own(job, p->reach, thread)};
    hu_round_counts_clear(&w.a_counts);
    hu_round_counts_clear(&w.b_counts);
    return w;
}

/* Counts are sums of integers: the order of threads does not matter. */
static void add_counts(hu_gemm_job *job, const hu_gemm_worker *w) {
#pragma omp critical(hu_gemm_counts)
    {
        hu_gemm_counts_add(&job->counts, &w->counts);
        hu_round_counts_add(&job->a_counts, &w->a_counts);
        hu_round_counts_add(&job->b_counts, &w->b_counts);
    }
}

/* What one thread of the team does. All of the team come to the same barriers. */
static void work(hu_gemm_job *job, int thread, int team) {
    const hu_gemm_plan *p = &job->plan;
    hu_gemm_worker w = worker_of(job, thread);
    round_images(job, &w, team);
    measure_images(job, thread, team);
    for (int64_t k = job->first, terms; k < job->task->k; k += terms) {
        int64_t end = k < job->whole ? job->whole : job->task->k;
        terms = least(p->stretch, end - k);
        stretch s = {.first = k, .terms = terms, .is_last = k + terms == job->task->k};
        if (p->is_b_near)
            run_near(&w, &s, team);
        else
            run_far(job, &w, &s, team);
    }
    add_counts(job, &w);
}

/* One thread opens no parallel region: the call may come from inside one. */
static void work_together(hu_gemm_job *job) {
    int threads = job->task->threads;
    if (threads == 1) {
        work(job, 0, 1);
        return;
    }
#pragma omp parallel num_threads(threads)
    work(job, omp_get_thread_num(), omp_get_num_threads());
}

/* ---- the call ---- */

/* One shape per call, every arithmetic and class: hu_gemm_prove() chooses among these tile by tile.
 */
static void find_kernels(hu_gemm_job *job, hu_isa isa) {
    for (int a = 0; a < HU_GEMM_ARITHMETIC_COUNT; a++)
        for (int c = 0; c < HU_GEMM_CLASS_COUNT; c++)
            job->kernels[a][c] = hu_gemm_kernel_of(isa, job->plan.mac, (hu_gemm_arithmetic)a,
                                                   (hu_gemm_class)c, job->plan.shape)
                                     .run;
}

/* All that the call needs before a number is read. Nothing is allocated: what it holds is the
 * task's. */
static hu_status prepare(hu_gemm_job *job, const hu_gemm_task *task, hu_isa isa) {
    hu_status st = HU_OK;
    *job = (hu_gemm_job){.task = task, .pack = hu_pack_set_of(isa), .scratch = task->scratch};
    HU_TRY(hu_gemm_plan_make(task, isa, &job->plan));
    HU_TRY(hu_source_init(&task->a, task->m, task->k, isa, &job->a));
    HU_TRY(hu_source_init(&task->b, task->n, task->k, isa, &job->b));
    hu_gemm_prover_init(&task->accumulator, task->counts != NULL, isa, &job->prover);
    hu_gemm_constants_init(&task->accumulator, &job->constants);
    find_kernels(job, isa);
    job->needs_facts = job->plan.mac != HU_MAC_FMACS;
    const bool may_slice = job->needs_facts && hu_gemm_wants_slices(&job->prover);
    job->a_slices = may_slice && task->n >= SLICED_FROM;
    job->b_slices = may_slice && task->m >= SLICED_FROM;
    job->a_seen.low = job->b_seen.low = UINT32_MAX;
    hu_round_counts_clear(&job->a_counts);
    hu_round_counts_clear(&job->b_counts);
done:
    return st;
}

/* Sums over threads, added to what the caller's counts hold already. */
static void report_counts(const hu_gemm_job *job) {
    const hu_gemm_task *task = job->task;
    if (task->a.counts && task->a.format) hu_round_counts_add(task->a.counts, &job->a_counts);
    if (task->b.counts && task->b.format) hu_round_counts_add(task->b.counts, &job->b_counts);
    if (!task->counts) return;
    task->counts->values +=
        (uint64_t)task->m * (uint64_t)task->n * (uint64_t)(task->k - job->first);
    hu_gemm_counts_add(task->counts, &job->counts);
}

hu_status hu_gemm_multiply(const hu_gemm_task *task, int64_t first, int64_t whole) {
    hu_status st = HU_OK;
    hu_gemm_job job;
    void *block = NULL;
    HU_TRY(prepare(&job, task, hu_cpu_isa()));
    job.first = first;
    job.whole = whole;
    if (!task->scratch) HU_TRY(hu_alloc(job.plan.bytes, &block));
    if (!task->scratch) job.scratch = block;
    work_together(&job);
    report_counts(&job);
done:
    hu_free(block);
    return st;
}
