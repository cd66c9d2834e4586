"""Writes the C source of halfulp._ffi: `ffi_build.py INCLUDE_FOLDER OUT.c`.

The declarations are those of the public headers, so that there is one source of them; the C
compiler checks each against the header once more (cffi, API mode).
"""

import re
import sys
from pathlib import Path

import cffi

HEADERS = ("api", "status", "random", "format", "round", "histogram", "quantize", "gemm", "tensor")
HEADERS += ("allreduce", "plan", "data", "train", "why")


def statuses(text: str) -> str:
    """The enumeration of status.h, whose list is a macro."""
    names = re.findall(r"X\((\w+), \"", text)
    return "typedef enum hu_status {" + ", ".join(f"HU_{n}" for n in names) + "} hu_status;\n"


def declarations(name: str, text: str) -> str:
    """What a header declares, without comments and without lines of the preprocessor."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    head = ""
    if name == "status":
        head += statuses(text)
        text = re.sub(r"typedef enum hu_status \{.*?\} hu_status;", "", text, flags=re.DOTALL)
    text = text.replace("\\\n", " ")
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    return head + text.replace("HU_API ", "")


def main(include: str, out: str) -> None:
    """Write the source."""
    builder = cffi.FFI()
    for name in HEADERS:
        path = Path(include) / "halfulp" / f"{name}.h"
        builder.cdef(declarations(name, path.read_text(encoding="utf-8")))
    builder.set_source("halfulp._ffi", "#include <halfulp/halfulp.h>", py_limited_api=True)
    builder.emit_c_code(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
