/* base/command_line.h - how this process was called. */
#ifndef HU_BASE_COMMAND_LINE_H
#define HU_BASE_COMMAND_LINE_H
#include <stddef.h>

#include <halfulp/status.h>

/* The words of this process with blanks between them, each as hu_shell_words writes it. Where the
 * system does not tell, *text is NULL and that is HU_OK. Owner frees with hu_free. HU_ERR_MEMORY.
 * Thread-safe. */
hu_status hu_command_line(char **text);

/* Words as a shell takes them again, in UTF-8, with blanks between them: words of letters, digits
 * and "%+,-./:=@_" as they are, others in single quotes, those with control characters or without
 * UTF-8 as $'...' with "\xHH" (Bash manual, 3.1.2.4).
 *
 *   words, bytes  the words, a zero behind each; bytes counts these, too
 *   text          owner frees with hu_free; NULL on failure
 *
 * HU_ERR_MEMORY. Thread-safe. Proof: tests/unit/base_command_line_test.c. */
hu_status hu_shell_words(const char *words, size_t bytes, char **text);

#endif
