#include "explain/state_words.h"

#include <stdio.h>

const char *hu_state_words(const hu_explaining *x, const hu_death *death, char *text) {
    char rule[HU_STATE_RULE_BYTES];
    text[0] = '\0';
    if (hu_fact_state_rule(x, death, rule))
        snprintf(text, HU_STATE_WORDS_BYTES,
                 "Its format is that of the key optimizer.state, in which a later rule wins; to "
                 "try: '%s' behind what it has.\n",
                 rule);
    return text;
}
