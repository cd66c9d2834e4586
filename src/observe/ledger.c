#include "observe/ledger.h"

#include <inttypes.h>

#include "base/error.h"

hu_ledger hu_ledger_of(const hu_run *run, uint64_t optimizer_bytes) {
    hu_ledger ledger = {.arena_bytes = run->arena_bytes,
                        .parameters = (uint64_t)run->block * sizeof(float),
                        .optimizer = optimizer_bytes,
                        .saved = hu_run_saved_bytes(run)};
    hu_run_role_bytes(run, ledger.arena);
    ledger.total = ledger.arena_bytes + ledger.parameters + ledger.optimizer;
    return ledger;
}

hu_ledger hu_ledger_now(void) {
    hu_ledger now = {.arena_bytes = hu_memory_live(HU_MEMORY_ARENA),
                     .parameters = hu_memory_live(HU_MEMORY_PARAMETERS),
                     .optimizer = hu_memory_live(HU_MEMORY_OPTIMIZER)};
    now.total = now.arena_bytes + now.parameters + now.optimizer;
    return now;
}

hu_status hu_ledger_check(const hu_ledger *ledger, const hu_ledger *before) {
    hu_ledger now = hu_ledger_now();
    const struct {
        const char *role;
        uint64_t planned, counted;
    } rows[] = {{"arena", ledger->arena_bytes, now.arena_bytes - before->arena_bytes},
                {"parameters", ledger->parameters, now.parameters - before->parameters},
                {"optimizer", ledger->optimizer, now.optimizer - before->optimizer}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].planned != rows[i].counted)
            return hu_fail(HU_ERR_INTERNAL,
                           "ledger: %s planned %" PRIu64 " bytes, the allocator counts %" PRIu64,
                           rows[i].role, rows[i].planned, rows[i].counted);
    return HU_OK;
}
