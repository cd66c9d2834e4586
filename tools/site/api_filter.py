#!/usr/bin/env python3
"""A public header as Doxygen reads it: comments before declarations and behind members, and their tables as lists.

usage: tools/site/api_filter.py include/halfulp/NAME.h
"""
import re
import sys

ROW = re.compile(r"^ \*   ([\w.\[\], ]*?\w[\w.\[\],]*)(  +)(\S.*)$")


def escaped(text):
    """What Doxygen takes for its own words: tags, commands, and names with a % that it would not link."""
    return re.sub(r"([<>@\\#])", r"\\\1", text)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().split("\n")
    inside = table = False
    for number, line in enumerate(lines):
        if line.startswith("/* ") and not inside:
            inside, table = True, False
            head = re.match(r"/\* (halfulp/\w+\.h) - (.*)", line) if number == 0 else None
            line = f"/** @file {head[1]}\n * @brief {escaped(head[2])}" if head else f"/** {escaped(line[3:])}"
        elif inside:
            row = ROW.match(line)
            if row:
                line = f" * - **{row[1]}**: {escaped(row[3])}"
                table = True
            elif table and line.startswith(" *    "):
                line = " *   " + escaped(line[2:].strip())
            else:
                table = False
                line = escaped(line)
        elif re.search(r"[;,{(\w] /\* ", line):
            line = line.replace(" /* ", " /**< ", 1)
        elif re.match(r"\s+/\* ", line):
            line = line.replace("/* ", "/** ", 1)
        line = line.replace("*\\/", "*/")
        if "*/" in line:
            inside = False
        print(line)


main()
