#!/usr/bin/env python3
"""One picture of a report as an SVG file that stands alone: report_picture.py REPORT.html SECTION NUMBER [RUN]
NUMBER counts the pictures of the section (or, with RUN, of that run's part of it) from 0. Light or dark as the reader's
system is. docs/exponents.svg: halfulp compare precision=fp32,e4m3fn:ovf=sat data.limit=4000 epochs=4 lr=0.3 run.dir=c, then
tools/report_picture.py c/report.html exponents 3 fp32 > docs/exponents.svg"""
import re
import sys

path, section, number, *run = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    page = file.read()
style = re.search(r"<style>\n(.*?)</style>", page, re.DOTALL).group(1)
part = re.search(rf'<section id="{re.escape(section)}">(.*?)</section>', page, re.DOTALL).group(1)
if run:
    part = part[part.index(f"<summary>{run[0]}</summary>"):]
pictures = re.findall(r'<svg viewBox="0 0 (\d+) (\d+)".*?>\n(.*?)</svg>', part, re.DOTALL)
width, height, shapes = pictures[int(number)]
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -12 {int(width) + 24} {int(height) + 24}" '
      f'width="{int(width) + 24}" height="{int(height) + 24}" font-family="system-ui, DejaVu Sans, sans-serif">')
print(f"<style>\n{style}</style>")
print(f'<rect x="-12" y="-12" width="{int(width) + 24}" height="{int(height) + 24}" style="fill:var(--bg)"/>')
print(shapes, end="")
print("</svg>")
