/* format/table/register.c - an array of pointers that only grows, in blocks that never move:
 * readers take no lock. */
#include "format/table/register.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { BLOCK = 256, BLOCKS = 4096 };

typedef hu_code_table *_Atomic place;

static place *_Atomic blocks[BLOCKS];
static _Atomic uint32_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

hu_code_table *hu_code_register_at(uint32_t number) {
    uint32_t index = number - 1;
    if (number == 0 || index >= atomic_load_explicit(&count, memory_order_acquire)) return NULL;
    return atomic_load_explicit(&blocks[index / BLOCK][index % BLOCK], memory_order_relaxed);
}

uint32_t hu_code_register_find(const char *name, uint64_t content) {
    uint32_t all = atomic_load_explicit(&count, memory_order_acquire);
    for (uint32_t number = 1; number <= all; number++) {
        const hu_code_table *t = hu_code_register_at(number);
        if (t->content == content && strcmp(t->name, name) == 0) return number;
    }
    return 0;
}

/* Behind the last; the lock is held. */
static hu_status append(hu_code_table *table, uint32_t *number) {
    hu_status st = HU_OK;
    uint32_t index = atomic_load_explicit(&count, memory_order_relaxed);
    if (index == BLOCK * BLOCKS)
        return hu_fail(HU_ERR_LIMIT, "more than %d formats by table in one process",
                       BLOCK * BLOCKS);
    if (index % BLOCK == 0) {
        place *block;
        HU_TRY(HU_NEW_ARRAY(&block, BLOCK));
        hu_memory_keep(block);
        blocks[index / BLOCK] = block;
    }
    blocks[index / BLOCK][index % BLOCK] = table;
    *number = index + 1;
    atomic_store_explicit(&count, *number, memory_order_release);
done:
    return st;
}

/* A table of the register lives as long as the process. */
static void keep(hu_code_table *t) {
    void *const all[] = {t->name, t->source, t->decoded, t->number, t->code, t->boundary, t};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hu_memory_keep(all[i]);
}

hu_status hu_code_register_add(hu_code_table *table, uint32_t *number) {
    hu_status st = HU_OK;
    pthread_mutex_lock(&lock);
    *number = hu_code_register_find(table->name, table->content);
    bool is_new = *number == 0;
    if (is_new) st = append(table, number);
    if (is_new && st == HU_OK) keep(table);
    pthread_mutex_unlock(&lock);
    if (!is_new || st != HU_OK) hu_code_table_free(table);
    return st;
}

const hu_code_table *hu_code_table_of(const hu_format *format) {
    return hu_code_register_at(format->table);
}
