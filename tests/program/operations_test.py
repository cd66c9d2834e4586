"""`halfulp help operations` has a row for every operation, and docs/reference/operations.md is that page.

    HALFULP=build/halfulp python3 tests/program/operations_test.py --write

writes it anew.
"""
import os
import re
import sys

import program

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "docs", "reference", "operations.md")
LIST = os.path.join(HERE, "..", "..", "src", "learn", "op", "op.h")


def page_of(cwd):
    code, out, err = program.call("help", "operations", cwd=cwd)
    if code != 0:
        raise SystemExit(f"help operations: exit {code}: {err}")
    return out


def every_operation_has_a_row(checks, cwd):
    with open(LIST, encoding="utf-8") as file:
        names = re.findall(r"^    X\((\w+)\)", file.read(), re.MULTILINE)
    rows = re.findall(r"^  (\w+) ", page_of(cwd), re.MULTILINE)
    checks.that(len(names) > 80, f"{len(names)} operations in op.h")
    checks.same(sorted(rows), sorted(set(names) - {"previous"} | {"state"}), "operations with a row")


HEAD = """# Operations of networks

What `- name: operation inputs attributes` of a [network file](network-file.md) may say, as `halfulp help operations` prints
it; `halfulp help NAME` tells more of one. An attribute without a number must be given, or is 0 or nothing where it is left
out.

```text
"""


def the_page_is_the_programs(checks, cwd):
    with open(PAGE, encoding="utf-8") as file:
        checks.same(file.read(), f"{HEAD}{page_of(cwd)}```\n", "docs/reference/operations.md")


def an_operation_is_explained(checks, cwd):
    code, out, _ = program.call("help", "conv2d", cwd=cwd)
    checks.same(code, 0, "help conv2d")
    for word in ("kernel=: a whole number, or two as 3x5; must be given", "stride=", "init=", "inputs: 1"):
        checks.that(word in out, f"help conv2d: no '{word}' in {out}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as page:
            page.write(f"{HEAD}{page_of(HERE)}```\n")
        sys.exit()
    program.main(every_operation_has_a_row, the_page_is_the_programs, an_operation_is_explained)
