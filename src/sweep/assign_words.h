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

/* ---- assign_groups.c ---- */

/* What was measured of every group. Owner frees. */
hu_status hu_assign_print_groups(const hu_assign *assign, char **text);
void hu_assign_put_groups(const hu_assign *assign, json_t *object);

/* "24 of 3 steps (assign.short=1: 80 steps at most in all), each judged on 600 validation samples".
 */
void hu_assign_say_short_runs(const hu_assign *assign, char *text, size_t capacity);

#endif
