#include "product/some_rows.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

enum { ALIGNMENT = 64 };

struct hu_some_rows {
    hu_products *products;
    size_t in, out, weights; /* numbers of a row, and of all weights */
};

hu_status hu_some_rows_create(const hu_product_facts *facts, hu_some_rows **rows) {
    hu_product_facts one = *facts;
    hu_some_rows *made = NULL;
    hu_status st;
    *rows = NULL;
    one.engine = HU_ENGINE_OWN; /* takes calls of any count */
    one.chunk = HU_SOME_ROWS;
    int64_t in = hu_product_in(&one.geometry), out = hu_product_out(&one.geometry);
    HU_TRY(HU_NEW(&made));
    made->in = (size_t)(one.transposed ? out : in);
    made->out = (size_t)(one.transposed ? in : out);
    made->weights = (size_t)hu_product_weights(&one.geometry);
    HU_TRY(hu_products_create(&one, &made->products));
    *rows = made;
    made = NULL;
done:
    hu_some_rows_free(made);
    return st;
}

void hu_some_rows_free(hu_some_rows *rows) {
    if (!rows) return;
    hu_products_free(rows->products);
    hu_free(rows);
}

/* Gathered rows [HU_SOME_ROWS, in] and [HU_SOME_ROWS, out] stand in front of the products' scratch.
 */
static size_t block_bytes(size_t numbers) {
    return hu_round_up(HU_SOME_ROWS * numbers * sizeof(float), ALIGNMENT);
}

static size_t role_bytes(const hu_some_rows *rows, hu_product_role role) {
    return block_bytes(rows->in) + block_bytes(rows->out) +
           hu_products_scratch_bytes(rows->products, role);
}

size_t hu_some_rows_scratch_bytes(const hu_some_rows *rows, hu_product_role role) {
    size_t bytes = role_bytes(rows, role), weights = role_bytes(rows, HU_PRODUCT_WEIGHT_GRAD);
    return role != HU_PRODUCT_FORWARD && weights > bytes ? weights : bytes;
}

/* Behind packed weights: the rows that were there, room to gather, and sums. */
typedef struct room {
    int64_t *before;
    char *scratch, *carry;
    size_t bytes;
} room;

static room room_of(const hu_some_rows *rows, char *packed) {
    size_t bytes = hu_products_packed_bytes(rows->products, HU_PRODUCT_INPUT_GRAD);
    size_t at = hu_round_up(bytes, ALIGNMENT), carry = hu_products_carry_bytes(rows->products);
    size_t scratch = hu_round_up(role_bytes(rows, HU_PRODUCT_WEIGHT_GRAD), ALIGNMENT);
    if (!packed) return (room){.bytes = carry ? at + ALIGNMENT + scratch + carry : bytes};
    void *before = packed + at;
    return (room){before, packed + at + ALIGNMENT, packed + at + ALIGNMENT + scratch, 0};
}

size_t hu_some_rows_packed_bytes(const hu_some_rows *rows, hu_product_role role) {
    return role == HU_PRODUCT_FORWARD ? hu_products_packed_bytes(rows->products, role)
                                      : room_of(rows, NULL).bytes;
}

void hu_some_rows_pack(const hu_some_rows *rows, hu_product_role role, const float *w,
                       void *packed) {
    hu_products_pack(rows->products, role, w, NULL, packed);
}

/* The next rows from *next on; how many. */
static int64_t pick(const hu_row_choice *choice, int64_t count, int64_t *next, int64_t *index) {
    int64_t n = 0;
    for (; *next < count && n < HU_SOME_ROWS; (*next)++)
        if (hu_row_is_chosen(choice, *next)) index[n++] = *next;
    return n;
}

static void gather(int64_t n, const int64_t *index, size_t numbers, const float *from, float *to) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * numbers, from + (size_t)index[i] * numbers, numbers * sizeof *to);
}

static void scatter(int64_t n, const int64_t *index, size_t numbers, const float *from, float *to) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)index[i] * numbers, from + (size_t)i * numbers, numbers * sizeof *to);
}

/* Rows that follow on each other are multiplied where they are. */
static void run_in_place(const hu_some_rows *r, hu_product_role role, int64_t first,
                         hu_product_call *block) {
    size_t in = (size_t)first * r->in, out = (size_t)first * r->out;
    if (block->x) block->x += in;
    if (block->dx) block->dx += in;
    if (block->y) block->y += out;
    if (block->dy) block->dy += out;
    hu_products_run(r->products, role, block);
}

/* Reads what the role reads from gathered rows, and puts what it makes back. */
static void run_gathered(const hu_some_rows *r, hu_product_role role, const int64_t *index,
                         hu_product_call *block) {
    const hu_product_call all = *block;
    int64_t n = block->count;
    char *behind = (char *)all.scratch + block_bytes(r->in);
    void *room_in = all.scratch, *room_out = behind;
    float *in = room_in, *out = room_out;
    block->scratch = behind + block_bytes(r->out);
    if (role != HU_PRODUCT_INPUT_GRAD) gather(n, index, r->in, all.x, in);
    if (role != HU_PRODUCT_FORWARD) gather(n, index, r->out, all.dy, out);
    block->x = block->dx = in;
    block->dy = block->y = out;
    hu_products_run(r->products, role, block);
    if (role == HU_PRODUCT_FORWARD) scatter(n, index, r->out, out, all.y);
    if (role == HU_PRODUCT_INPUT_GRAD) scatter(n, index, r->in, in, all.dx);
}

/* What is made where no row is there. */
static void clear(const hu_some_rows *r, hu_product_role role, const hu_product_call *call) {
    size_t count = (size_t)call->count;
    if (role == HU_PRODUCT_FORWARD) memset(call->y, 0, count * r->out * sizeof(float));
    if (role == HU_PRODUCT_INPUT_GRAD) memset(call->dx, 0, count * r->in * sizeof(float));
    if (role == HU_PRODUCT_WEIGHT_GRAD && !call->adds)
        memset(call->dw, 0, r->weights * sizeof(float));
}

/* Gives the number of rows that were there. */
static int64_t run(const hu_some_rows *rows, hu_product_role role, const hu_row_choice *choice,
                   const hu_product_call *call) {
    int64_t index[HU_SOME_ROWS], n, next = 0, done = 0;
    clear(rows, role, call);
    while ((n = pick(choice, call->count, &next, index)) > 0) {
        hu_product_call block = *call;
        block.first = call->first + done;
        block.count = n;
        block.adds = call->adds || done > 0;
        if (index[n - 1] - index[0] == n - 1)
            run_in_place(rows, role, index[0], &block);
        else
            run_gathered(rows, role, index, &block);
        done += n;
    }
    return done;
}

void hu_some_rows_run(const hu_some_rows *rows, hu_product_role role, const hu_row_choice *choice,
                      const hu_product_call *call) {
    run(rows, role, choice, call);
}

/* Terms are counted by the rows that were there: chunked accumulators end their blocks by them. */
void hu_some_rows_accumulate(const hu_some_rows *rows, const hu_row_choice *choice,
                             const hu_product_call *call) {
    const room r = room_of(rows, call->packed);
    hu_product_call terms = *call;
    if (call->first == 0) *r.before = 0;
    terms.first = *r.before;
    terms.adds = *r.before > 0;
    terms.scratch = r.scratch;
    terms.carry = r.carry;
    *r.before += run(rows, HU_PRODUCT_WEIGHT_GRAD, choice, &terms);
}
