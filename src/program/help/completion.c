/* Completion of command lines: scripts with all verbs, keys and words, one writer for each shell.
 */
#include <halfulp/data.h>
#include <string.h>

#include "base/error.h"
#include "help/internal.h"
#include "help/manual.h"
#include "model/model.h"
#include "precision/precision.h"

/* What a value is completed with beside its words. */
static bool is_path(const hu_config_key *key) {
    static const char *const keys[] = {"run.dir",   "out.file", "out.pictures",    "model.init",
                                       "cost.file", "comm.run", "data.vocabulary", "data.valid"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key->name, keys[i]) == 0) return true;
    return false;
}

/* The known words of a key's value, each after `before` and in front of a blank; how many. */
static int put_values(hu_page *page, const hu_config_key *key, const char *before) {
    int count = 0;
    const char *word;
    if (key->type == HU_CONFIG_BOOL) {
        hu_page_put(page, "%son %soff ", before, before);
        return 2;
    }
    for (const char *at = key->words; *at; at += strcspn(at, " "), at += *at == ' ', count++)
        hu_page_put(page, "%s%.*s ", before, (int)strcspn(at, " "), at);
    for (int i = 0; strcmp(key->name, "model.name") == 0 && i < hu_model_count; i++, count++)
        hu_page_put(page, "%s%s ", before, hu_model_table[i].name);
    for (int i = 0; strcmp(key->name, "precision.name") == 0 && i < hu_precision_name_count;
         i++, count++)
        hu_page_put(page, "%s%s ", before, hu_precision_names[i]);
    bool is_data = strcmp(key->name, "data.name") == 0;
    for (size_t i = 0; is_data && (word = hu_data_kind_name(i)) != NULL; i++, count++)
        hu_page_put(page, "%s%.*s ", before,
                    (int)(strcspn(word, ":") + (strchr(word, ':') != NULL)), word);
    return count;
}

/* Names of the keys that a verb takes, short forms too, each with '='. */
static void put_keys_of(hu_page *page, const hu_verb *verb) {
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        if (!hu_verb_takes(verb, key->name)) continue;
        hu_page_put(page, "%s= ", key->name);
        if (*key->short_form) hu_page_put(page, "%s= ", key->short_form);
    }
}

/* Flags with their dashes. */
static void put_flags_of(hu_page *page, const hu_verb *verb) {
    for (size_t i = 0; verb->flags[i]; i++)
        hu_page_put(page, "--%.*s ", (int)strcspn(verb->flags[i], "="), verb->flags[i]);
    hu_page_put(page, "--help");
}

/* What `halfulp help` takes. */
static void put_words_of_help(hu_page *page, const hu_verb *const *verbs) {
    for (; *verbs; verbs++) hu_page_put(page, "%s ", (*verbs)->name);
    for (size_t i = 0; hu_topic_at(i); i++) hu_page_put(page, "%s ", hu_topic_at(i)->name);
    for (size_t i = 0; i < hu_config_key_count; i++)
        hu_page_put(page, "%s ", hu_config_keys[i].name);
}

/* What a verb takes beside keys, flags and files: words of the help, names of models. */
static void put_words_of(hu_page *page, const hu_verb *verb, const hu_verb *const *verbs) {
    if (strcmp(verb->name, "help") == 0) put_words_of_help(page, verbs);
    for (int i = 0; strcmp(verb->name, "model") == 0 && i < hu_model_count; i++)
        hu_page_put(page, "%s ", hu_model_table[i].name);
}

/* "    lr.schedule) values='...' ;;" for each key with known words. */
static void put_cases(hu_page *page, const char *first, const char *assign, const char *last) {
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        hu_page probe = {.status = HU_OK};
        int count = put_values(&probe, key, "");
        hu_page_free(&probe);
        if (count == 0) continue;
        hu_page_put(page, "%s%s%s%s) %s", first, key->name, *key->short_form ? "|" : "",
                    key->short_form, assign);
        (void)put_values(page, key, "");
        hu_page_put(page, "%s\n", last);
    }
}

/* bash gives the words of a line cut at '=' and ':', and takes candidates for the last piece; so
 * the script reads the line itself. It ends words with a blank of its own, keys without one. */
static void put_bash(hu_page *page, const hu_verb *const *verbs) {
    hu_page_put(page, "%s",
                "# bash completion of halfulp\n"
                "# Files that begin so; folders end in '/', others in a blank.\n"
                "_halfulp_files() {\n"
                "    local name\n"
                "    while IFS= read -r name; do\n"
                "        if [ -d \"$name\" ]; then COMPREPLY+=(\"$name/\"); "
                "else COMPREPLY+=(\"$name \"); fi\n"
                "    done < <(compgen -f -- \"$1\")\n"
                "}\n\n"
                "_halfulp() {\n"
                "    local line=${COMP_LINE:0:COMP_POINT} verb=${COMP_WORDS[1]} cur word last\n"
                "    local keys= values=\n"
                "    cur=${line##*[[:space:]]}\n"
                "    COMPREPLY=()\n"
                "    if [ \"$COMP_CWORD\" -le 1 ]; then\n"
                "        for word in $(compgen -W '");
    for (size_t i = 0; verbs[i]; i++) hu_page_put(page, "%s ", verbs[i]->name);
    hu_page_put(page, "%s",
                "--help --version' -- \"$cur\"); do COMPREPLY+=(\"$word \"); done\n"
                "        return\n"
                "    fi\n"
                "    if [[ $cur == *=* ]]; then\n"
                "        case ${cur%%=*} in\n");
    put_cases(page, "        ", "values='", "' ;;");
    hu_page_put(
        page, "%s",
        "        esac\n"
        "        # Readline completes what is behind the last '=' or ':' of a word.\n"
        "        cur=${cur#*=} last=${cur##*[=:]}\n"
        "        for word in $(compgen -W \"$values\" -- \"$cur\"); do\n"
        "            COMPREPLY+=(\"${word#\"${cur%\"$last\"}\"}\")\n"
        "        done\n"
        "        if [ -z \"$values\" ] || [[ $cur == *:* ]]; then _halfulp_files \"$last\"; fi\n"
        "        return\n"
        "    fi\n"
        "    case $verb in\n");
    for (size_t i = 0; verbs[i]; i++) {
        hu_page_put(page, "    %s) keys='", verbs[i]->name);
        put_keys_of(page, verbs[i]);
        put_words_of(page, verbs[i], verbs);
        put_flags_of(page, verbs[i]);
        hu_page_put(page, "' ;;\n");
    }
    hu_page_put(page, "%s",
                "    esac\n"
                "    for word in $(compgen -W \"$keys\" -- \"$cur\"); do\n"
                "        case $word in *=) COMPREPLY+=(\"$word\") ;; *) COMPREPLY+=(\"$word \") ;; "
                "esac\n"
                "    done\n"
                "    [[ $cur == -* ]] || _halfulp_files \"$cur\"\n"
                "}\n"
                "complete -o nospace -F _halfulp halfulp\n");
}

/* Text in single quotes; where colons part a name from its help (zsh), they are escaped. */
static void put_quoted(hu_page *page, const char *text, bool escapes) {
    for (; *text; text++)
        if (*text == '\'')
            hu_page_put(page, "%s", "'\\''");
        else
            hu_page_put(page, escapes && *text == ':' ? "\\%c" : "%c", *text);
}

/* zsh parts a verb from its help at a colon. */
static void put_zsh(hu_page *page, const hu_verb *const *verbs) {
    hu_page_put(page, "#compdef halfulp\n"
                      "_halfulp() {\n"
                      "  local -a verbs keys values\n"
                      "  verbs=(\n");
    for (size_t i = 0; verbs[i]; i++) {
        hu_page_put(page, "    '%s:", verbs[i]->name);
        put_quoted(page, verbs[i]->help, true);
        hu_page_put(page, "'\n");
    }
    hu_page_put(page, "  )\n"
                      "  if (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\n  fi\n"
                      "  if [[ $PREFIX == *=* ]]; then\n"
                      "    case ${PREFIX%%%%=*} in\n");
    put_cases(page, "      ", "values=(", ") ;;");
    hu_page_put(page, "    esac\n    compset -P '*='\n"
                      "    if (( $#values )); then compadd -S '' -- $values; else _files; fi\n"
                      "    return\n  fi\n"
                      "  case $words[2] in\n");
    for (size_t i = 0; verbs[i]; i++) {
        hu_page_put(page, "    %s) keys=(", verbs[i]->name);
        put_keys_of(page, verbs[i]);
        put_words_of(page, verbs[i], verbs);
        put_flags_of(page, verbs[i]);
        hu_page_put(page, ") ;;\n");
    }
    hu_page_put(page, "  esac\n  compadd -S '' -- $keys\n  _files\n}\n_halfulp \"$@\"\n");
}

/* Flags of every verb; fish puts the dashes itself. */
static void put_fish_flags(hu_page *page, const hu_verb *const *verbs) {
    for (; *verbs; verbs++)
        for (size_t i = 0; (*verbs)->flags[i]; i++)
            hu_page_put(page, "complete -c halfulp -n '__fish_seen_subcommand_from %s' -l %.*s\n",
                        (*verbs)->name, (int)strcspn((*verbs)->flags[i], "="), (*verbs)->flags[i]);
}

/* fish takes what stands after a blank in -a as one candidate each. */
static void put_fish(hu_page *page, const hu_verb *const *verbs) {
    char brief[HU_BRIEF_BYTES];
    hu_page_put(page, "# fish completion of halfulp\n");
    for (size_t i = 0; verbs[i]; i++) {
        hu_page_put(page, "complete -c halfulp -n __fish_use_subcommand -f -a %s -d '",
                    verbs[i]->name);
        put_quoted(page, verbs[i]->help, false);
        hu_page_put(page, "'\n");
    }
    for (size_t k = 0; k < hu_config_key_count; k++) {
        const hu_config_key *key = &hu_config_keys[k];
        const char *typed = hu_key_typed_name(key);
        char before[128] = "";
        strncat(before, typed, sizeof before - 2);
        strcat(before, "=");
        hu_page_put(page, "complete -c halfulp -n '__fish_seen_subcommand_from");
        for (size_t i = 0; verbs[i]; i++)
            if (hu_verb_takes(verbs[i], key->name)) hu_page_put(page, " %s", verbs[i]->name);
        hu_page_put(page, "' -a '%s=", key->name);
        if (typed != key->name) hu_page_put(page, " %s=", typed);
        hu_page_put(page, " ");
        (void)put_values(page, key, before);
        hu_page_put(page, "'%s -d '", is_path(key) ? "" : " -f");
        put_quoted(page, hu_key_brief(key->help, brief), false);
        hu_page_put(page, "'\n");
    }
    put_fish_flags(page, verbs);
    for (size_t i = 0; verbs[i]; i++) {
        hu_page words = {.status = HU_OK};
        put_words_of(&words, verbs[i], verbs);
        bool has_any = words.out.size > 0;
        hu_page_free(&words);
        if (!has_any) continue;
        hu_page_put(page, "complete -c halfulp -n '__fish_seen_subcommand_from %s'%s -a '",
                    verbs[i]->name, strcmp(verbs[i]->name, "help") == 0 ? " -f" : "");
        put_words_of(page, verbs[i], verbs);
        hu_page_put(page, "'\n");
    }
}

hu_status hu_manual_completion(const hu_verb *const *verbs, const char *shell, char **text) {
    static const struct {
        const char *name;
        void (*put)(hu_page *page, const hu_verb *const *verbs);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    hu_page page = {.status = HU_OK};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) != 0) continue;
        shells[i].put(&page, verbs);
        return hu_page_finish(&page, text);
    }
    *text = NULL;
    return hu_fail(HU_ERR_UNKNOWN, "completion: found '%.40s', expected bash, zsh or fish", shell);
}
