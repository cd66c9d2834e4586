/* sweep/assign_words.h - the end of a search in words: for plan.yaml, and for a terminal. */
#ifndef HU_SWEEP_ASSIGN_WORDS_H
#define HU_SWEEP_ASSIGN_WORDS_H
#include "sweep/assign.h"

/* How a candidate (or HU_ASSIGN_HIGH) ended. Borrowed: valid as long as assign. */
const hu_assign_outcome *hu_assign_ended(const hu_assign *assign, int i);

/* The part of plan.yaml that is for people: configurations leave the key "evidence" out. */
void hu_assign_print_evidence(const hu_assign *assign, const hu_assign_choice *choice, char *text,
                              size_t capacity);

/* The table of candidates and what is to be said of it. Owner frees. */
hu_status hu_assign_print(const hu_assign *assign, const hu_assign_choice *choice, char **text);

#endif
