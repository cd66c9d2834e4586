"""Pages on a phone, a tablet and a desk, light and dark: in headless Chromium no text is cut off, covers another or is
too faint to read. HALFULP_SCREENS=DIR keeps the pictures."""
import html
import json
import os
import re
import shutil
import subprocess
import sys

import program
from program import TINY

WIDTHS = (390, 768, 1280)
MOST_BYTES = 400 * 1024  # of a page of ten runs
LONG = "a_data_set_whose_name_is_longer_than_any_line_of_a_phone_can_be"

# In a copy of the page: every text that can be seen against its picture, the window, its neighbours and its ground.
# Lines of text are boxes without the room above and below their letters.
MEASURE = r"""
function luminance(text) {
  const c = text.match(/[\d.]+/g).map(Number).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
}
function contrast(a, b) {
  const x = luminance(a), y = luminance(b);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}
function measure(view) {
  const doc = view.document, wrong = [], wide = view.innerWidth, ground = view.getComputedStyle(doc.body).backgroundColor;
  let count = 0, least = 99, small = 99;
  for (const fold of doc.querySelectorAll('details')) fold.open = true;
  const name = e => (e.closest('section') || doc.body).id + ' ' + e.textContent.trim().slice(0, 50);
  for (const svg of doc.querySelectorAll('svg[role=img]')) {
    const frame = svg.getBoundingClientRect(), boxes = [];
    const place = svg.closest('.chart'), around = (place || svg).getBoundingClientRect();
    const scrolls = place && view.getComputedStyle(place).overflowX === 'auto';
    if (around.left < -0.5 || around.right > wide + 0.5 || !scrolls && frame.right > wide + 0.5)
      wrong.push('picture beyond the window: ' + svg.getAttribute('aria-label'));
    for (const text of svg.querySelectorAll('text')) {
      const r = text.getBoundingClientRect(), inset = 0.2 * r.height, style = view.getComputedStyle(text);
      if (r.width === 0) continue;
      count++;
      small = Math.min(small, parseFloat(style.fontSize) * frame.width / svg.viewBox.baseVal.width);
      const b = {l: r.left + 0.5, r: r.right - 0.5, t: r.top + inset, b: r.bottom - inset, e: text};
      if (b.l < frame.left - 1 || b.r > frame.right + 1 || b.t < frame.top - 1 || b.b > frame.bottom + 1)
        wrong.push('cut: ' + name(text));
      if (!text.classList.contains('bits')) least = Math.min(least, contrast(style.fill, ground));
      for (const o of boxes)
        if (b.l < o.r && o.l < b.r && b.t < o.b && o.t < b.b) wrong.push('overlap: ' + name(text) + ' / ' + name(o.e));
      boxes.push(b);
    }
  }
  for (const e of doc.querySelectorAll('h1,h2,h3,p,li,td,th,summary,footer')) {
    const r = e.getBoundingClientRect(), style = view.getComputedStyle(e), room = e.closest('.scroll');
    if (r.width === 0 || style.display === 'none') continue;
    count++;
    if (r.left < -0.5 || r.right > wide + 0.5 || room && r.right > room.getBoundingClientRect().right + 1 || e.scrollWidth > e.clientWidth + 1 && style.display !== 'inline')
      wrong.push('beyond its place: ' + e.tagName + ' ' + name(e));
    least = Math.min(least, contrast(style.color, ground));
  }
  if (doc.documentElement.scrollWidth > wide) wrong.push('the page is wider than the window');
  const room = doc.querySelector('main').getBoundingClientRect(), used = {};
  for (const section of doc.querySelectorAll('section')) {
    const ends = [...section.querySelectorAll('svg[role=img],table')].map(e => e.getBoundingClientRect().right);
    if (ends.length) used[section.id] = (Math.max(...ends) - room.left) / room.width;
  }
  return {wide, count, least, small, wrong, used};
}
window.onload = () => {
  const found = [...document.querySelectorAll('iframe')].map(f => Object.assign({id: f.id}, measure(f.contentWindow)));
  document.body.innerHTML = '<pre id="found"></pre>';
  document.getElementById('found').textContent = JSON.stringify(found);
};
"""


def chromium():
    return next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


def call(*words, cwd):
    """Headless Chromium on a file; a profile of its own, so that nothing of the user's is touched."""
    return subprocess.run([chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                           f"--user-data-dir={cwd}/profile", *words], cwd=cwd, timeout=120, capture_output=True,
                          text=True, errors="replace").stdout


def dark(text):
    return text.replace("@media (prefers-color-scheme:dark)", "@media all")


def look(checks, pages, cwd):
    """All pages at all widths in both schemes, as frames of one document that the script measures."""
    frames = []
    for name, text in pages.items():
        for scheme, shown in (("light", text), ("dark", dark(text))):
            for width in WIDTHS:
                frames.append(f'<iframe id="{name} {scheme} {width}" style="border:0;width:{width}px;height:900px" '
                              f'srcdoc="{html.escape(shown)}"></iframe>')
    program.put(cwd, "frames.html", f"<!doctype html><meta charset=\"utf-8\"><script>{MEASURE}</script>{''.join(frames)}".encode())
    found = re.search(r'<body><pre id="found">(.*?)</pre>', call("--window-size=1400,1000", "--virtual-time-budget=20000",
                                                           "--dump-dom", f"file://{cwd}/frames.html", cwd=cwd), re.S)
    if not checks.that(found, "the script has measured"):
        return
    for view in json.loads(html.unescape(found.group(1))):
        name = view["id"]
        checks.same(view["wide"], int(name.split()[-1]), f"{name}: width")
        checks.that(view["count"] > 50, f"{name}: {view['count']} texts")
        checks.that(view["least"] >= 3, f"{name}: contrast {view['least']:.2f}")
        checks.that(view["small"] >= 10, f"{name}: letters of {view['small']:.1f} pixels in pictures")
        if view["wide"] >= 1100 and "formats" not in name:
            left = {part: f"{share:.2f}" for part, share in view["used"].items() if share < 0.9}
            checks.that(len(view["used"]) > 2 and not left, f"{name}: room to the right of pictures and tables: {left}")
        checks.that(not view["wrong"], f"{name}: {len(view['wrong'])} wrong, such as {view['wrong'][:6]}")


def shoot(checks, pages, cwd):
    """A picture of a page, which is not empty; with HALFULP_SCREENS of all, to look at."""
    folder = os.environ.get("HALFULP_SCREENS")
    wanted = [(name, scheme, width) for name in pages for scheme in ("light", "dark") for width in WIDTHS] if folder \
        else [("many", "dark", 390)]
    for name, scheme, width in wanted:
        program.put(cwd, "shown.html", (pages[name] if scheme == "light" else dark(pages[name])).encode())
        path = os.path.join(folder or cwd, f"{name}-{scheme}-{width}.png")
        call(f"--window-size={width},3000", f"--screenshot={os.path.abspath(path)}", f"file://{cwd}/shown.html", cwd=cwd)
        if checks.that(os.path.exists(path), f"{path} is there"):
            with open(path, "rb") as file:
                data = file.read()
            checks.same(int.from_bytes(data[16:20], "big"), width, f"{path}: width")
            checks.that(len(data) > 20000, f"{path}: {len(data)} bytes: not empty")


def pages_of(checks, cwd):
    """A page of ten runs, pages of runs that failed, one of a schedule of bits, and one of formats."""
    def run(*words):
        code, _, err = program.call(*words, cwd=cwd)
        checks.that(code in (0, 4), f"{words}: exit {code}: {err}")

    run("compare", "precision=fp32,1/6/9,hfp8,demote:0.6+promote,e4m3fn:ovf=sat", "seeds=1,2", *TINY, "epochs=2",
        "run.dir=many")
    run("train", *TINY, "steps=40", "precision=fp16", "scaler=constant", "scaler.init=1e9", "run.dir=failed")
    program.write_idx(f"{cwd}/{LONG}")
    run("train", *TINY, f"data=idx:{LONG}", "steps=4", "precision=e4m3", "run.dir=dead")
    run("train", *TINY, "steps=6", "precision=ldp:3-8", "bits.lr=5", "bits.target=0.3", "run.dir=bits")
    run("report", "failed", "dead", "bits", "out=few.html")
    run("fmt", "e4m3fn", "e5m2:bias=20:ovf=sat", "1/6/9", "fp16", "out=formats.html", "run=dead", "tensor=conv1.out.grad")
    run("comm", "workers=16", "schedule=ring,hier:4,halving", "format=e5m2,e4m3fn", "scaling=none,aps", "elements=500",
        "out=comm.html")
    found = {}
    for name, path in (("many", "many/report.html"), ("few", "few.html"), ("formats", "formats.html"),
                       ("comm", "comm.html")):
        with open(f"{cwd}/{path}", encoding="utf-8") as file:
            found[name] = file.read()
    names = "fp32,1/6/9,hfp8,mxfp8,e4m3fn:ovf=sat,fp16,e5m2,bf16,uniform8,e4m3"
    run("compare", f"precision={names}", *TINY, "batch=8", "steps=60", "run.dir=ten")
    for name, bytes_ in (("many", len(found["many"])), ("ten", os.path.getsize(f"{cwd}/ten/report.html"))):
        checks.that(bytes_ <= MOST_BYTES, f"{name}: a page of ten runs has {bytes_} bytes")
        print(f"{name}: {bytes_} bytes", flush=True)
    return found


def screens(checks, cwd):
    if not chromium():
        print("skipped: no chromium here", flush=True)
        sys.exit(77)
    pages = pages_of(checks, cwd)
    look(checks, pages, cwd)
    shoot(checks, pages, cwd)


program.main(screens)
