#include "diagnose/closest.h"

#include <stdio.h>
#include <string.h>

#include "comm/plan.h"
#include "diagnose/failures.h"
#include "diagnose/wire_remedy.h"
#include "runlog/events.h"

/* Where a row is looked at. */
typedef struct looking {
    const hu_diagnosis *x;
    const hu_numerics_record *row;
    hu_closest *closest;
} looking;

/* ---- one tensor in the steps of a row ---- */

/* Scalings that follow the numbers put them where the format ends; NULL: the run has none such. */
static const char *following_scaling(const hu_run_record *run) {
    const hu_comm_scaling *scaling;
    int32_t constant;
    const hu_keys *node = run->config ? hu_keys_find(run->config, "comm.scaling") : NULL;
    if (!node || hu_keys_kind_of(node) != HU_KEYS_TEXT) return NULL;
    if (hu_comm_scaling_parse(hu_keys_value(node), &scaling, &constant) != HU_OK) return NULL;
    return scaling->exponent || scaling->fresh ? scaling->name : NULL;
}

/* Binades between the largest number and the largest of its format. Scaled formats, blocks and
 * uniform integers move along, so they have no such distance. */
static void compare_headroom(const looking *l, const hu_tensor_record *record, bool is_scaled) {
    hu_closest *closest = l->closest;
    const hu_quantizer *quantizer = &l->x->why.quantizer[record->format];
    if (record->counts.max_exponent == HU_NO_EXPONENT || is_scaled) return;
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale != HU_SCALE_NONE) return;
    int32_t headroom = hu_format_limits_of(&quantizer->format).emax - record->counts.max_exponent;
    if (closest->overflow_tensor && headroom >= closest->headroom) return;
    closest->overflow_tensor = l->x->run.history->tensors.name[record->tensor];
    closest->overflow_format = l->x->run.history->formats.name[record->format];
    closest->headroom = headroom;
    closest->overflow_step = l->row->step;
}

/* Keeps the larger share. */
static void compare_loss(const looking *l, const hu_tensor_record *record, uint64_t count,
                         uint64_t of, hu_closest_loss *most) {
    double share = of ? (double)count / (double)of : 0.0;
    if (share <= most->share) return;
    *most = (hu_closest_loss){.number = record->tensor,
                              .tensor = l->x->run.history->tensors.name[record->tensor],
                              .format = l->x->run.history->formats.name[record->format],
                              .share = share,
                              .step = l->row->step,
                              .steps = l->row->steps};
}

static bool has_current_scale(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale == HU_SCALE_CURRENT;
}

/* Whose it is. */
static void tell_apart(const looking *l, uint32_t place) {
    bool is_wire = place != HU_NONE && hu_is_on_wire(&l->x->run, place);
    bool is_state = hu_is_optimizer_state(&l->x->run, place);
    l->closest->rounds = true;
    l->closest->rounds_wire |= is_wire;
    l->closest->rounds_state |= is_state;
    l->closest->rounds_own |= !is_wire && !is_state;
}

static void look_at(const looking *l, const hu_tensor_record *record) {
    hu_closest *closest = l->closest;
    const hu_why *why = &l->x->why;
    const hu_quantizer *quantizer = &why->quantizer[record->format];
    const hu_round_counts *c = &record->counts;
    uint32_t place = why->place[record->tensor];
    bool is_loss = place != HU_NONE && hu_why_is_loss_output(why, place);
    if (!why->rounds[record->format] || is_loss) return;
    tell_apart(l, place);
    if (l->row->skipped) return;
    bool is_wire = place != HU_NONE && hu_is_on_wire(&l->x->run, place);
    closest->is_counted = true;
    closest->all_current &= has_current_scale(quantizer);
    if (quantizer->kind == HU_QUANTIZER_BLOCK && quantizer->block.scale == HU_BLOCK_SCALE_FORMAT)
        closest->number_scales = quantizer->block.name ? quantizer->block.name : "tiles";
    compare_headroom(l, record, is_wire && closest->wire_scaling);
    if (why->saturates[record->format])
        compare_loss(l, record, c->overflow, c->elements, &closest->saturation);
    if (place == HU_NONE || hu_why_may_vanish(why, place)) return;
    compare_loss(l, record, c->underflow, hu_nonzero_before(c), &closest->underflow);
}

/* Updates that weights without masters did not take. */
static void look_at_updates(const looking *l) {
    for (uint32_t u = 0; u < l->row->update_count; u++) {
        const hu_update_record *update = &l->row->update[u];
        const hu_tensor_record *record = hu_why_record(l->row, update->tensor);
        if (record && !l->row->skipped)
            compare_loss(l, record, update->lost, update->asked, &l->closest->updates);
    }
}

/* What of a tensor may be lost, in a row; of which it is a share. False: it is not counted there.
 */
typedef bool loss_fn(const hu_numerics_record *row, uint32_t tensor, uint64_t *count, uint64_t *of);

static bool saturated(const hu_numerics_record *row, uint32_t tensor, uint64_t *count,
                      uint64_t *of) {
    const hu_tensor_record *record = hu_why_record(row, tensor);
    *count = record ? record->counts.overflow : 0;
    *of = record ? record->counts.elements : 0;
    return record != NULL;
}

static bool vanished(const hu_numerics_record *row, uint32_t tensor, uint64_t *count,
                     uint64_t *of) {
    const hu_tensor_record *record = hu_why_record(row, tensor);
    *count = record ? record->counts.underflow : 0;
    *of = record ? hu_nonzero_before(&record->counts) : 0;
    return record != NULL;
}

static bool not_updated(const hu_numerics_record *row, uint32_t tensor, uint64_t *count,
                        uint64_t *of) {
    for (uint32_t u = 0; u < row->update_count; u++) {
        if (row->update[u].tensor != tensor) continue;
        *count = row->update[u].lost;
        *of = row->update[u].asked;
        return true;
    }
    return false;
}

/* The same loss of the whole run beside that of the worst steps. */
static void add_all(const hu_history *history, loss_fn *lost, hu_closest_loss *loss) {
    double count = 0.0, of = 0.0;
    uint64_t here, here_of;
    for (size_t r = 0; loss->tensor && r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        if (row->skipped || !lost(row, loss->number, &here, &here_of)) continue;
        count += (double)here;
        of += (double)here_of;
        loss->all_steps += row->steps;
    }
    loss->all = of > 0.0 ? count / of : 0.0;
}

/* Over all records of steps that were taken. */
hu_closest hu_closest_find(const hu_diagnosis *x) {
    hu_closest closest = {.all_current = true, .wire_scaling = following_scaling(&x->run)};
    for (size_t r = 0; r < x->run.history->numerics_count; r++) {
        looking l = {x, &x->run.history->numerics[r], &closest};
        for (uint32_t i = 0; i < l.row->tensor_count; i++) look_at(&l, &l.row->tensor[i]);
        look_at_updates(&l);
    }
    add_all(x->run.history, saturated, &closest.saturation);
    add_all(x->run.history, vanished, &closest.underflow);
    add_all(x->run.history, not_updated, &closest.updates);
    if (!closest.rounds_wire) closest.wire_scaling = NULL;
    return closest;
}

/* ---- in trouble ---- */

/* Whether an event of a tensor stands after another one in the list by shares. */
static bool is_behind(const hu_event_record *event, const hu_event_record *other) {
    double share = hu_event_share(event), of_other = hu_event_share(other);
    return share != of_other ? share < of_other : event > other;
}

const hu_event_record *hu_closest_troubled(const hu_diagnosis *x, const hu_event_record *last) {
    const hu_event_record *found = NULL;
    for (size_t e = 0; e < x->run.history->event_count; e++) {
        const hu_event_record *event = &x->run.history->events[e];
        uint32_t place = x->why.place[event->tensor];
        bool is_loss = hu_event_is(event, HU_EVENT_OF_UNDERFLOW);
        if (!is_loss || place == HU_NONE || hu_why_is_vector(&x->why, place)) continue;
        if (last && !is_behind(event, last)) continue;
        if (!found || is_behind(found, event)) found = event;
    }
    return found;
}

static void add_part(bool is_present, const char *words, char *text) {
    size_t used = strlen(text);
    if (is_present) snprintf(text + used, HU_BESIDE_BYTES - used, "%s%s", used ? ", " : "", words);
}

const char *hu_closest_beside(const hu_diagnosis *x, const hu_closest *closest,
                              char text[HU_BESIDE_BYTES]) {
    text[0] = '\0';
    add_part(x->run.adders.count > 0, "the sums of products (accumulator=)", text);
    add_part(closest->rounds_wire, "gradients between workers (comm.format=)", text);
    add_part(closest->rounds_state, "state of the optimizer (optimizer.state=)", text);
    return text;
}
