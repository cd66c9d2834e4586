/* cli/outputs.h - files that a command is to write, before it begins. */
#ifndef HU_CLI_OUTPUTS_H
#define HU_CLI_OUTPUTS_H
#include "cli/verb.h"

/* Looks at every key of the command that names an output (out.file, out.page, out.pictures,
 * run.dir) as it was asked for: HU_ERR_ARGUMENT where that is, by whatever name or link,
 *
 *   - a file of a run: all that the folder's own names say (runlog/folder.h), but for the one that
 *     the verb makes itself (RUN/report.html of report, RUN/weights.safetensors of export)
 *   - a file that the command names as an input, by a subject, a key or config=, or that a run
 * which it names was given so
 *   - a sample of a data set that is named so: whatever lies in its folder, but for what halfulp
 *     itself writes (.csv, .html, .json, .pdf, .safetensors, .svg, .tex, .yaml)
 *   - the other output
 *
 * HU_ERR_IO, HU_ERR_MEMORY. Proof: tests/program/outputs_test.py. */
hu_status hu_outputs_check(const hu_verb *verb, const hu_config *config, int argc, char **argv);

#endif
