/* hu_gemm against the integer reference, bit for bit, counts too.
 *   kernel_gemm_fast [--short]
 * Full: at least 10^6 dot products and 4,000 random pairs of matrices per mode and semantics,
 * --short: 40 pairs. Every
 * instruction set of this machine, 1, 2, 3 and 7 threads, sums in one call and carried over
 * several, with and without counts, bias, scratch and rounding of the factors. Prints one line per
 * mode and "N passed, M failed"; exit code 1 if M > 0. */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "gemm_task.h"

enum { BATCH = 40, SHOWN_FAILURES = 10 };

/* One way to run a trial. */
typedef struct run {
    hu_isa isa;
    int threads;
    bool counts, has_scratch, is_carried;
} run;

static uint64_t passed, failed;

static void clear(const trial *t, float *c) {
    for (int64_t i = 0; i < t->c_floats; i++) c[i] = -12345.0f;
}

/* What the reference says. */
static hu_status expect(trial *t) {
    hu_gemm_task task = t->task;
    clear(t, t->expected);
    hu_round_counts_clear(&t->a.expected);
    hu_round_counts_clear(&t->b.expected);
    task.c = t->expected + GUARD;
    task.counts = &t->expected_counts;
    task.a.counts = &t->a.expected;
    task.b.counts = &t->b.expected;
    return hu_gemm_reference(&task);
}

static hu_status run_scratched(hu_gemm_task *task, bool has_scratch) {
    size_t bytes;
    if (!has_scratch) return hu_gemm(task);
    hu_status st = hu_gemm_scratch_bytes(task, &bytes);
    if (st != HU_OK) return st;
    task->scratch = floats_of((int64_t)(bytes / sizeof(float)) + 16);
    st = hu_gemm(task);
    free(task->scratch);
    return st;
}

/* The step between the terms at which an operand can be cut. */
static int64_t cut_step(const hu_operand *o, int64_t k) {
    if (!o->patches) return o->inner ? o->inner : 1;
    return o->transposed ? o->patches->out_h * o->patches->out_w : k;
}

/* Where the part that starts at `from` ends. */
static int64_t end_of_part(words *w, const hu_gemm_task *whole, int64_t from) {
    int64_t a = cut_step(&whole->a, whole->k), b = cut_step(&whole->b, whole->k);
    int64_t end = from + log_uniform(w, whole->k - from);
    while (end < whole->k && (end % a != 0 || end % b != 0)) end++;
    return end;
}

/* The terms in as many calls as fall; carry starts full of nonsense. */
static hu_status run_carried(words *w, const hu_gemm_task *whole, bool has_scratch) {
    hu_status st = HU_OK;
    size_t floats = hu_gemm_carry_floats(&whole->accumulator, whole->m, whole->n);
    float *carry = floats_of((int64_t)floats);
    for (size_t i = 0; i < floats; i++) carry[i] = NAN;
    for (int64_t from = 0, end; st == HU_OK && from < whole->k; from = end) {
        hu_patches patches[2];
        hu_gemm_task part = *whole;
        end = end_of_part(w, whole, from);
        part.carry = carry;
        part.before = from;
        part.k = end - from;
        cut_terms(&whole->a, &patches[0], from, end, &part.a);
        cut_terms(&whole->b, &patches[1], from, end, &part.b);
        st = run_scratched(&part, has_scratch);
    }
    free(carry);
    return st;
}

static int same_counts(const hu_round_counts *x, const hu_round_counts *y) {
    return x->elements == y->elements && x->overflow == y->overflow &&
           x->underflow == y->underflow && x->subnormal == y->subnormal && x->zero == y->zero &&
           x->nan == y->nan && x->max_exponent == y->max_exponent &&
           x->min_exponent == y->min_exponent;
}

static void show(const trial *t, const run *way, uint64_t index, const float *c) {
    char name[96];
    const hu_gemm_task *task = &t->task;
    int64_t at = 0;
    hu_accumulator_print(&task->accumulator, name, sizeof name);
    while (at < t->c_floats - 1 && hu_f32_bits(c[at]) == hu_f32_bits(t->expected[at])) at++;
    printf("trial %llu: %s semantics %d, %lld x %lld x %lld, %s %d threads, counts %d, carry %d, "
           "a %s%s, b %s%s: float %lld (row %lld) is %a, expected %a\n",
           (unsigned long long)index, name, (int)task->accumulator.semantics, (long long)task->m,
           (long long)task->n, (long long)task->k, hu_isa_name(way->isa), way->threads, way->counts,
           way->is_carried, task->a.patches ? "patches" : "matrix",
           task->a.format ? " rounded" : "", task->b.patches ? "patches" : "matrix",
           task->b.format ? " rounded" : "", (long long)(at - GUARD),
           (long long)((at - GUARD) / (task->c_stride ? task->c_stride : 1)), (double)c[at],
           (double)t->expected[at]);
}

/* One run of hu_gemm; true if all is as the reference says. */
static bool try(trial *t, const run *way, words *w, float *c) {
    hu_gemm_task task = t->task;
    hu_gemm_counts counts = {0};
    hu_round_counts a, b;
    hu_round_counts_clear(&a);
    hu_round_counts_clear(&b);
    clear(t, c);
    hu_cpu_set_isa(way->isa);
    task.c = c + GUARD;
    task.threads = way->threads;
    if (way->counts) {
        task.counts = &counts;
        task.a.counts = &a;
        task.b.counts = &b;
    }
    hu_status st = way->is_carried ? run_carried(w, &task, way->has_scratch)
                                   : run_scratched(&task, way->has_scratch);
    if (st != HU_OK) printf("%s\n", hu_last_error());
    if (st != HU_OK || memcmp(c, t->expected, (size_t)t->c_floats * sizeof *c) != 0) return false;
    return !way->counts || (memcmp(&counts, &t->expected_counts, sizeof counts) == 0 &&
                            same_counts(&a, &t->a.expected) && same_counts(&b, &t->b.expected));
}

static void check(trial *t, uint64_t index, int turns) {
    static const int threads[] = {1, 2, 3, 7};
    words w = words_of(7, index);
    float *c = floats_of(t->c_floats);
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        for (int turn = 0; turn < turns; turn++) {
            run way = {.isa = (hu_isa)isa, .threads = 1};
            if (turn == 1)
                way = (run){.isa = (hu_isa)isa,
                            .threads = threads[word(&w) % 4],
                            .counts = word(&w) % 2,
                            .has_scratch = word(&w) % 2,
                            .is_carried = word(&w) % 2};
            if (try(t, &way, &w, c))
                passed++;
            else if (failed++ < SHOWN_FAILURES)
                show(t, &way, index, c);
        }
    free(c);
}

/* Trials first..first+BATCH-1 of a mode; gives the dot products. The references run side by side,
 * hu_gemm alone: it has threads of its own. */
static uint64_t check_batch(hu_mac mac, hu_semantics semantics, uint64_t first, bool is_edge) {
    static trial trials[BATCH];
    uint64_t products = 0, refused = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : refused)
    for (int i = 0; i < BATCH; i++) {
        if (is_edge)
            trial_open_edge(&trials[i], mac, first + (uint64_t)i);
        else
            trial_open(&trials[i], mac, semantics, first + (uint64_t)i);
        if (expect(&trials[i]) != HU_OK) {
            printf("%s\n", hu_last_error());
            refused++;
        }
    }
    failed += refused;
    for (int i = 0; i < BATCH; i++) {
        check(&trials[i], first + (uint64_t)i, is_edge ? 1 : 2);
        products += (uint64_t)(trials[i].task.m * trials[i].task.n);
        trial_close(&trials[i]);
    }
    return products;
}

int main(int argc, char **argv) {
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    uint64_t wanted = is_short ? 1 : 1000000, trials = is_short ? BATCH : 100 * BATCH;
    uint64_t edges = is_short ? 1200 : 100000;
    for (int mac = 0; mac < HU_MAC_COUNT; mac++)
        for (int semantics = 0; semantics < HU_SEMANTICS_COUNT; semantics++) {
            uint64_t products = 0;
            for (uint64_t first = 0; products < wanted || first < trials; first += BATCH)
                products += check_batch((hu_mac)mac, (hu_semantics)semantics, first, false);
            printf("%s, %s: %llu dot products\n", hu_mac_name((hu_mac)mac),
                   hu_semantics_name((hu_semantics)semantics), (unsigned long long)products);
            fflush(stdout);
        }
    for (int mac = HU_MAC_MACS; mac < HU_MAC_COUNT; mac++) {
        for (uint64_t first = 0; first < edges; first += BATCH)
            check_batch((hu_mac)mac, HU_SEMANTICS_EXACT, first, true);
        printf("%s: %llu products on the edges of the proofs\n", hu_mac_name((hu_mac)mac),
               (unsigned long long)edges);
        fflush(stdout);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed != 0;
}
