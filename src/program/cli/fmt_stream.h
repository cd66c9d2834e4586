/* cli/fmt_stream.h - numbers of stdin through a format. */
#ifndef HU_CLI_FMT_STREAM_H
#define HU_CLI_FMT_STREAM_H
#include "cli/verb.h"
#include "report/formats.h"

/* What --round, --encode and --decode ask for: a line on stdout for each number or code on stdin.
 * Numbers are rounded as they are written; blocks take them in their order. */
hu_status hu_fmt_stream(const hu_config *config, const hu_named_format *named);

#endif
