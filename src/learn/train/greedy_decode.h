/* train/greedy_decode.h - greedy decoding: the most likely token at each step. */
#ifndef HU_TRAIN_GREEDY_DECODE_H
#define HU_TRAIN_GREEDY_DECODE_H
#include "train/inner.h"

/* Room for the words of a half of so many samples, and for passes of fewer than a part has, where
 * the task writes. */
hu_status hu_greedy_decoding_create(hu_trainer *trainer, int64_t samples);
void hu_greedy_decoding_free(hu_evaluation_room *room);

/* Writes the first samples of a loader, [wanted, rows] of room.said: numbers of words,
 * unlabelled from the end on. A translation ends in front of its first <eos>, or where it has as
 * many words as the graph has rows, or 2 x words of the sentence + 5 of them.
 *
 * The whole network runs with the words so far and guesses of what follows: every precision is what
 * it is in training, and no state is carried. Row t of a pass is right where all words before it
 * are, so that a pass tells one word more, and further ones as long as the guesses, which are the
 * rows of the pass before, were right: the words are those of one pass for each, in fewer passes
 * (Song et al. 2021, "Accelerating feedforward computation via parallel nonlinear equation
 * solving", Jacobi iteration). A place of the pass that has ended takes up the next sample.
 *
 *   pass   as evaluation runs its parts
 *   done   false where a format stopped a pass: the words are then not all there */
hu_status hu_decode(hu_trainer *trainer, hu_run *run, hu_loader *loader,
                    const hu_pass_options *pass, int64_t wanted, bool *done);

#endif
