"""docs/how-to/python.md is run as it stands, from the first block to the last."""

import re
from pathlib import Path

import numpy as np
import pytest

import halfulp as hu

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "python.md"


@pytest.mark.skipif(not PAGE.exists(), reason="no pages beside these tests")
def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 7
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    f, x, y = names["f"], names["x"], names["y"]
    found = (f.max, f.min_normal, f.min_subnormal, f.epsilon, f.bits)
    assert found == (448.0, 2**-6, 2**-9, 0.125, 8) and f == hu.Format("e4m3fn:ovf=sat")
    np.testing.assert_array_equal(hu.decode(names["codes"], f), y)
    np.testing.assert_array_equal(names["p"].unpack(), hu.round(x, "mxfp8"))
    assert names["seen"] == hu.exponents(x) and names["seen"].elements == x.size
    a, b = names["a"], names["b"]
    for accumulator, total in (("fmacs", 4096), ("fmac:fp16", 2048), ("fmac8:fp16", 4096)):
        assert hu.gemm(a, b, accumulator) == total
    assert names["counts"].stalled == 2048
    assert names["run"].result["test_accuracy"] > 0 and names["h"].shape == (10,)
    assert (tmp_path / "mine.yaml").exists() and (tmp_path / "b" / "result.json").exists()
