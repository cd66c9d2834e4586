#include "layout/slow.h"

#include <stdio.h>
#include <string.h>

#include "engine/state.h"

const char *hu_run_impl(const hu_run *run, uint32_t node, hu_pass pass) {
    const hu_node *declared = &run->graph->node[node];
    const hu_exec *exec = &run->exec[node];
    if (!declared->op->impl || (pass == HU_BACKWARD && !declared->needs_backward)) return "";
    return declared->op->impl(&exec->info, exec->state, pass);
}

bool hu_run_is_slow(const hu_run *run, uint32_t node, char *text) {
    static const char *const words[] = {"forward", "backward"};
    size_t used = 0;
    text[0] = '\0';
    for (int pass = HU_FORWARD; pass <= HU_BACKWARD; pass++) {
        const char *impl = hu_run_impl(run, node, (hu_pass)pass);
        if (strncmp(impl, "ref", 3) != 0) continue;
        int written =
            used ? snprintf(text + used, HU_SLOW_BYTES - used, ", %s '%s'", words[pass], impl)
                 : snprintf(text, HU_SLOW_BYTES,
                            "%s: oneDNN runs this product with its slow reference implementation: "
                            "%s '%s'",
                            run->graph->node[node].name, words[pass], impl);
        used += written > 0 ? (size_t)written : 0;
        if (used >= HU_SLOW_BYTES) break;
    }
    return used > 0;
}
