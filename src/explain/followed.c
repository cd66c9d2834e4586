#include "explain/followed.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"

/* Whether nothing of it is left in the death's step. */
static bool is_all_zero(const hu_why *why, uint32_t place) {
    hu_condition condition = hu_why_condition(why, place, why->death.step);
    const hu_tensor_record *record = condition.record;
    return record && record->counts.elements > 0 &&
           record->counts.zero == record->counts.elements && !hu_why_may_vanish(why, place);
}

/* Whether it is made of one that is marked. */
static bool is_made_of(const hu_why *why, uint32_t place, const bool *marked) {
    enum { ROOM = 64 };
    uint32_t source[ROOM], count = hu_walk_sources(why->walk, place, ROOM, source);
    for (uint32_t i = 0; i < count && i < ROOM; i++)
        if (marked[source[i]]) return true;
    return false;
}

static bool takes_numbers(const hu_death *death) {
    return death->kind == HU_DEATH_UNDERFLOW || death->kind == HU_DEATH_ZERO;
}

/* The walk lists every tensor behind all that it is made of. */
hu_status hu_followed_find(hu_why *why) {
    hu_status st = HU_OK;
    bool *marked = NULL;
    HU_TRY(HU_NEW_ARRAY(&why->is_gone, (size_t)why->walk->count + 1));
    if (!takes_numbers(&why->death)) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&marked, (size_t)why->walk->count + 1));
    marked[why->death.place] = true;
    for (uint32_t i = why->death.place + 1; i < why->walk->count; i++) {
        marked[i] = is_made_of(why, i, marked);
        why->is_gone[i] = marked[i] && is_all_zero(why, i);
        why->gone += why->is_gone[i];
    }
done:
    hu_free(marked);
    return st;
}

bool hu_followed_only(const hu_why *why, const hu_death *death) {
    return death->kind == HU_DEATH_ZERO && !death->sums && why->is_gone[death->place];
}

/* A gradient is told by the value that it does not reach. */
const char *hu_followed_words(const hu_why *why, char text[HU_FOLLOWED_BYTES]) {
    char name[HU_TENSOR_NAME_BYTES], others[64] = "";
    uint32_t first = 0;
    text[0] = '\0';
    if (why->gone == 0) return text;
    while (!why->is_gone[first]) first++;
    const char *more = why->gone == 2 ? "" : "s";
    hu_tensor tensor = why->walk->tensor[first];
    hu_tensor_name(why->walk->graph, tensor, name);
    if (why->gone > 1)
        snprintf(others, sizeof others, " and %u tensor%s more behind it", why->gone - 1, more);
    bool is_gradient = tensor.kind != HU_TENSOR_VALUE && !hu_tensor_is_state(tensor);
    if (is_gradient)
        snprintf(text, HU_FOLLOWED_BYTES, "No gradient reaches %.200s: %.200s%s",
                 why->walk->graph->value[tensor.value].name, name, others);
    else
        snprintf(text, HU_FOLLOWED_BYTES, "Nothing reaches %.200s%s", name, others);
    size_t used = 0;
    while (text[used]) used++;
    snprintf(text + used, HU_FOLLOWED_BYTES - used, " %s all zero.\n",
             why->gone > 1 || !is_gradient ? "are" : "is");
    return text;
}
