/* model/rnn_layers.h - layers that go over the rows of a value step by step: LSTM and GRU. */
#ifndef HU_MODEL_RNN_LAYERS_H
#define HU_MODEL_RNN_LAYERS_H
#include "model/builder.h"

/* One layer in one direction. Parameters are called as torch calls them: LAYER.weight_ih_lK,
 * weight_hh, bias_ih, bias_hh, with a projection weight_hr; behind lK stands the suffix. */
typedef struct hu_recurrent_form {
    const char *layer;  /* "lstm" */
    const char *suffix; /* "_l0", "_l1_reverse" */
    int64_t hidden;
    int64_t projection;  /* of an LSTM's hidden state; 0: none */
    hu_value_id lengths; /* of the samples; HU_NONE: all rows count */
    bool is_carried;     /* what it starts as and is not given is what it has ended as in the batch
                            before, not zeros */
    bool has_one_bias;   /* of an LSTM's gates: that of the inputs' product alone */
} hu_recurrent_form;

/* What a layer is before the first step: hidden [projection or hidden], and cell [hidden] of an
 * LSTM. HU_NONE: zeros. */
typedef struct hu_recurrent_state {
    hu_value_id hidden, cell;
} hu_recurrent_state;

/* in [steps, D] -> all hidden states [steps, projection or hidden]. The inputs' product is one for
 * all steps; the tensors of the cell are called LAYERsuffix.hgates, .gates, .gate.i, .gate.f,
 * .gate.g, .gate.o, .cell, .tanh, .hidden (.projected), with ".out" behind nodes of one output.
 * Source: Hochreiter and Schmidhuber 1997, as torch.nn.LSTM computes it; with a projection: Sak et
 * al. 2014. cells: all cell states; NULL: not wanted. */
hu_value_id hu_build_lstm(hu_builder *b, const hu_recurrent_form *form, hu_value_id in,
                          hu_recurrent_state start, hu_value_id *cells);

/* The same layer in a loop of its caller, who begins and ends it: what a step reads of the step
 * before, which is `start` (no HU_NONE) in step 0; and the hidden state that it makes of one row
 * in.
 */
hu_recurrent_state hu_build_lstm_states(hu_builder *b, const hu_recurrent_form *form,
                                        hu_recurrent_state start);
hu_value_id hu_build_lstm_step(hu_builder *b, const hu_recurrent_form *form, hu_value_id in,
                               hu_recurrent_state previous);

/* The same of a GRU that resets behind the product: .hgates, .gate.r, .gate.z, .candidate, .hidden.
 * Source: Cho et al. 2014, as torch.nn.GRU computes it. start.cell is not read. */
hu_value_id hu_build_gru(hu_builder *b, const hu_recurrent_form *form, hu_value_id in,
                         hu_recurrent_state start);

typedef enum hu_recurrent_kind { HU_RECURRENT_LSTM, HU_RECURRENT_GRU } hu_recurrent_kind;

/* Two layers that start as zeros, one of them over the rows from each sample's last to its first
 * (suffix and "_reverse"): [steps, 2 x (projection or hidden)], LAYERsuffix.both.out. Source:
 * Schuster and Paliwal 1997, as torch computes it. */
hu_value_id hu_build_both_ways(hu_builder *b, const hu_recurrent_form *form, hu_recurrent_kind kind,
                               hu_value_id in);

#endif
