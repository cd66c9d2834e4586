/* explain/deaths.c - the list of deaths: every event of the journal is weighed, those that did no
 * lasting harm are left out, the rest is ranked. */
#include "explain/deaths.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "explain/harm.h"
#include "explain/sums.h"

/* The kind of an event by its word; HU_DEATH_NONE for events that are no deaths. */
static hu_death_kind kind_named(const char *name) {
    for (int kind = HU_DEATH_NAN; kind <= HU_DEATH_EVALUATION; kind++)
        if (strcmp(name, hu_death_kind_name((hu_death_kind)kind)) == 0) return (hu_death_kind)kind;
    return HU_DEATH_NONE;
}

/* ---- how long an event lasted ---- */

/* A tensor's counts in a row, NULL if the row has none. Rows list tensors in one order, so that the
 * place in the row before is a good guess. */
static const hu_tensor_record *record_near(const hu_numerics_record *row, uint32_t tensor,
                                           uint32_t *guess) {
    for (uint32_t i = 0; i < row->tensor_count; i++) {
        uint32_t at = (*guess + i) % row->tensor_count;
        if (row->tensor[at].tensor != tensor) continue;
        *guess = at;
        return &row->tensor[at];
    }
    return NULL;
}

/* Lines of a row that counted the updates of a tensor. */
static int64_t updates_in(const hu_numerics_record *row, uint32_t tensor) {
    for (uint32_t u = 0; u < row->update_count; u++)
        if (row->update[u].tensor == tensor) return row->update[u].lines;
    return 0;
}

/* Steps from the first one of an event on in which its tensor was counted. Tensors that are not
 * rounded are counted once in a line of the file; events of gradients are not told of skipped
 * steps. */
static int64_t counted_since(const hu_why *why, const hu_event_record *event, bool is_value) {
    int64_t counted = 0;
    uint32_t guess = 0;
    bool is_update = kind_named(event->kind) == HU_DEATH_LOST;
    for (size_t r = 0; r < why->history->numerics_count; r++) {
        const hu_numerics_record *row = &why->history->numerics[r];
        if (row->step < event->step || (row->skipped && !is_value)) continue;
        if (is_update) counted += updates_in(row, event->tensor);
        const hu_tensor_record *record = record_near(row, event->tensor, &guess);
        if (!record || is_update) continue;
        int64_t since = row->step - event->step + 1;
        int64_t steps = row->steps < since ? row->steps : since;
        counted += why->rounds[record->format] ? steps : record->lines;
    }
    return counted;
}

/* Share of the steps in which it held; 1 where the rows do not tell. */
static double lasted(const hu_why *why, const hu_event_record *event, bool is_value) {
    int64_t counted = counted_since(why, event, is_value);
    if (event->steps == 0 || counted <= event->steps) return 1.0;
    return (double)event->steps / (double)counted;
}

static int64_t last_step(const hu_history *history) {
    return history->numerics_count ? history->numerics[history->numerics_count - 1].step : 0;
}

/* A delayed scale knows nothing in the first steps, and layer after layer must find its own. */
static bool has_healed(const hu_why *why, const hu_event_record *event) {
    const hu_quantizer *quantizer = &why->quantizer[event->format];
    return quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale == HU_SCALE_DELAYED &&
           event->steps > 0 && event->step <= quantizer->history &&
           event->last < last_step(why->history);
}

/* ---- what lies behind ---- */

/* Share of all tensors that are made of the one at a place, itself included. The walk lists every
 * tensor behind all that it is made of. marked: [walk->count], overwritten. */
static double behind(const hu_walk *walk, uint32_t place, bool *marked) {
    enum { ROOM = 64 };
    uint32_t source[ROOM], found = 1;
    memset(marked, 0, walk->count * sizeof *marked);
    marked[place] = true;
    for (uint32_t i = place + 1; i < walk->count; i++) {
        uint32_t count = hu_walk_sources(walk, i, ROOM, source);
        for (uint32_t k = 0; k < count && k < ROOM && !marked[i]; k++)
            marked[i] = marked[source[k]];
        found += marked[i];
    }
    return (double)found / (double)walk->count;
}

/* ---- deaths ---- */

/* Whether the tensor was given a wider format for what it lost. */
static bool was_promoted(const hu_history *history, const hu_event_record *event) {
    for (size_t p = 0; p < history->promotion_count; p++) {
        const hu_promotion_record *promotion = &history->promotions[p];
        if (promotion->tensor == event->tensor && promotion->step >= event->step &&
            promotion->step <= event->step + 1)
            return true;
    }
    return false;
}

/* Losses of boxes reach the anchors that find one alone: a picture without boxes, and a map whose
 * anchors find none, have gradients that are zero as they should be. What rounding takes of others
 * is told as an underflow. */
static bool is_meant_to_be_zero(const hu_why *why, uint32_t place) {
    const hu_graph *graph = why->walk->graph;
    bool finds_boxes = false;
    if (why->walk->tensor[place].kind == HU_TENSOR_VALUE) return false;
    for (int k = 0; k < graph->loss_count; k++) {
        const hu_op *op = graph->node[graph->loss[k].node].op;
        finds_boxes |= op == &hu_op_ssd_loss || op == &hu_op_rpn_loss || op == &hu_op_roi_loss;
    }
    return finds_boxes;
}

/* Whether an event of that kind can be a death of that tensor at all. Non-finite numbers of skipped
 * steps are explained by the rows of these steps. */
static bool may_kill(const hu_why *why, const hu_event_record *event, hu_death_kind kind,
                     uint32_t place) {
    bool is_lost = kind == HU_DEATH_SATURATION || kind == HU_DEATH_UNDERFLOW;
    if (is_lost && hu_why_is_loss_output(why, place)) return false;
    switch (kind) {
    case HU_DEATH_SATURATION:
        /* Infinities end a step, which is told by what it ended with. */
        if (!why->saturates[event->format] && hu_history_was_skipped(why->history, event->step))
            return false;
        return hu_saturates_unasked(&why->quantizer[event->format]) &&
               !was_promoted(why->history, event);
    case HU_DEATH_UNDERFLOW:
        return !hu_why_may_vanish(why, place);
    case HU_DEATH_ZERO:
        return !hu_why_may_vanish(why, place) && !is_meant_to_be_zero(why, place);
    case HU_DEATH_LOST:
        return !hu_why_is_vector(why, place);
    case HU_DEATH_EVALUATION:
        return true;
    case HU_DEATH_INFINITY:
    case HU_DEATH_NAN:
        return !hu_history_was_skipped(why->history, event->step);
    default:
        return false;
    }
}

double hu_event_share(const hu_event_record *event) {
    uint64_t count = event->steps ? event->held : event->count;
    uint64_t of = event->steps ? event->could_be : event->elements;
    return of ? (double)count / (double)of : 0.0;
}

/* Whether an event is of a kind that kills its tensor, and lasted. Fills what it tells of itself.
 */
static bool take_event(const hu_why *why, const hu_event_record *event, hu_death *death) {
    hu_death_kind kind = kind_named(event->kind);
    uint32_t place = why->place[event->tensor];
    if (place == HU_NONE || !may_kill(why, event, kind, place) || has_healed(why, event))
        return false;
    *death = (hu_death){.kind = kind,
                        .step = event->step,
                        .place = place,
                        .event = event,
                        .last = event->last,
                        .steps = event->steps};
    death->share = hu_event_share(event);
    bool is_value = why->walk->tensor[place].kind == HU_TENSOR_VALUE;
    death->lasted = lasted(why, event, is_value);
    return death->lasted >= HU_DEAD_LASTED;
}

/* Fills the death that an event is. False: it is none, or did too little harm. */
static bool take_death(const hu_why *why, const hu_event_record *event, bool *marked,
                       hu_death *death) {
    if (!take_event(why, event, death)) return false;
    double weight = hu_harm_weight(why, death);
    if (weight <= 0.0) return false;
    death->behind = behind(why->walk, death->place, marked);
    death->severity = weight * death->lasted * death->behind;
    return true;
}

static bool fail_sums(const hu_why *why, uint32_t product, hu_death *death) {
    return hu_sums_death(why, product, death) && death->lasted >= HU_DEAD_LASTED;
}

/* The same of the accumulators of a product. In a run that trains well most of them must be lost.
 */
static bool take_sums(const hu_why *why, uint32_t product, bool *marked, hu_death *death) {
    if (!fail_sums(why, product, death)) return false;
    if (why->trains_well && death->severity < HU_DEAD_SATURATION) return false;
    death->behind = behind(why->walk, death->place, marked);
    death->severity *= death->lasted * death->behind;
    return true;
}

/* Keeps the worse of two deaths of one tensor; what is told first wins a tie. */
static void keep(hu_why *why, const hu_death *death) {
    for (size_t d = 0; d < why->death_count; d++) {
        hu_death *known = &why->deaths[d];
        if (known->place != death->place || !known->sums != !death->sums) continue;
        if (death->severity > known->severity) *known = *death;
        return;
    }
    why->deaths[why->death_count++] = *death;
}

/* The worst first; of equal ones the earlier, then the one that is made first. */
static int by_severity(const void *a, const void *b) {
    const hu_death *x = a, *y = b;
    if (x->severity != y->severity) return x->severity > y->severity ? -1 : 1;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

hu_status hu_deaths_find(hu_why *why) {
    hu_status st = HU_OK;
    const hu_history *history = why->history;
    bool *marked = NULL;
    hu_death death;
    HU_TRY(HU_NEW_ARRAY(&marked, (size_t)why->walk->count + 1));
    HU_TRY(HU_NEW_ARRAY(&why->deaths, history->event_count + history->products.count + 1));
    why->trains_well = hu_trains_well(history);
    for (size_t e = 0; e < history->event_count; e++)
        if (take_death(why, &history->events[e], marked, &death)) keep(why, &death);
    for (uint32_t p = 0; p < history->products.count; p++)
        if (take_sums(why, p, marked, &death)) keep(why, &death);
    qsort(why->deaths, why->death_count, sizeof *why->deaths, by_severity);
done:
    hu_free(marked);
    return st;
}

bool hu_deaths_vanished(const hu_why *why, uint32_t place, int64_t step, hu_death *death) {
    hu_death one;
    *death = (hu_death){.place = HU_NONE};
    for (size_t e = 0; e < why->history->event_count; e++) {
        const hu_event_record *event = &why->history->events[e];
        if (why->place[event->tensor] != place || event->step > step) continue;
        if (!take_event(why, event, &one)) continue;
        if (one.kind != HU_DEATH_UNDERFLOW && one.kind != HU_DEATH_ZERO) continue;
        if (one.share > death->share) *death = one;
    }
    return death->kind != HU_DEATH_NONE;
}

bool hu_deaths_lose_updates(const hu_why *why) {
    hu_death death;
    for (size_t e = 0; e < why->history->event_count; e++)
        if (take_event(why, &why->history->events[e], &death) && death.kind == HU_DEATH_LOST)
            return true;
    return false;
}

bool hu_deaths_fail_sums(const hu_why *why) {
    hu_death death;
    for (uint32_t p = 0; p < why->history->products.count; p++)
        if (fail_sums(why, p, &death)) return true;
    return false;
}

bool hu_death_explains(const hu_death *death, const hu_death *end) {
    bool is_before = death->step != end->step ? death->step < end->step : death->place < end->place;
    return is_before && (death->kind == HU_DEATH_ZERO || death->share >= HU_DEAD_SATURATION);
}
