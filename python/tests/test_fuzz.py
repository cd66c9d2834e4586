"""Whatever is given to a public function, it answers, or raises one of halfulp's exceptions."""

import os

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import halfulp as hu
from reference import bits

CALLS = int(os.environ.get("HALFULP_CALLS", "100"))  # of each function
more = settings(max_examples=CALLS, deadline=None, suppress_health_check=list(HealthCheck))

words = st.sampled_from(
    [
        *hu.named_formats(),
        "mxfp8",
        "mxfp4",
        "nvfp4",
        "uniform8",
        "uniform3",
        "e4m3fn:scale=current",
        "e5m2:scale=2^4",
        "mxfp8 rz",
        "fp16 sr",
        "e1m1:specials=fin",
        "e8m23",
        "e2m23",
        "fp(1,0,0)",
    ]
)
texts = st.one_of(
    words,
    st.text(max_size=24),
    st.text(alphabet="0123456789e()mx,/:=dnbiasovfptuwr ", max_size=24),
    words.flatmap(lambda w: st.text(max_size=3).map(lambda t: w + t)),
)
modes = st.one_of(
    st.sampled_from(["rne", "rna", "rz", "ru", "rd", "rodd", "sr"]), st.text(max_size=4)
)
dtypes = st.one_of(
    hnp.floating_dtypes(endianness="?"),
    hnp.integer_dtypes(),
    st.sampled_from(
        [
            np.dtype(bool),
            np.dtype(complex),
            np.dtype("U3"),
            np.dtype(ml_dtypes.bfloat16),
            np.dtype(ml_dtypes.float8_e5m2),
            np.dtype(object),
            np.dtype("M8[s]"),
        ]
    ),
)
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9)


def _array(kind, shape, seed):
    raw = np.random.default_rng(seed).integers(0, 256, 64 * 9**4, dtype=np.uint8)
    count = int(np.prod(shape))
    if kind.kind in "OUMb":
        return np.zeros(shape, kind)
    with np.errstate(all="ignore"):
        return raw[: count * kind.itemsize].view(kind).reshape(shape)


def _turned(x, turn):
    if turn == 1:
        return x.T
    if turn == 2:
        return x[..., ::-1] if x.ndim else x
    if turn == 3:
        return x[::2] if x.ndim else x
    if turn == 4:
        return np.broadcast_to(x, (2, *x.shape))
    return x


arrays = st.builds(
    _turned,
    st.builds(_array, dtypes, shapes, st.integers(0, 3)),
    st.integers(0, 4),
)
floats = st.builds(
    _turned,
    st.builds(_array, st.just(np.dtype(np.float32)), shapes, st.integers(0, 9)),
    st.integers(0, 4),
)
anything = st.one_of(
    arrays,
    st.none(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=9),
    st.lists(st.floats(), max_size=5),
    st.lists(st.integers(), max_size=5),
)
keys = st.one_of(
    st.none(),
    st.builds(hu.Key, st.integers(0, 2**64 - 1), st.text("abc", max_size=3)),
    st.integers(),
)


def attempt(call, *args, **more):
    """The result, or None for an exception that is halfulp's."""
    try:
        return call(*args, **more)
    except hu.Error as error:
        assert str(error)
        return None


@more
@given(texts)
def test_formats(text):
    fmt = attempt(hu.Format, text)
    if fmt is not None:
        assert hu.Format(str(fmt)) == fmt and fmt.min_subnormal <= fmt.min_normal
        assert fmt._repr_html_()


@more
@given(
    st.integers(-3, 12),
    st.integers(-3, 30),
    st.one_of(st.none(), st.integers(-400, 400)),
    st.booleans(),
    st.sampled_from(["inf", "sat", "nan", "x"]),
    st.sampled_from(["ieee", "fin", "fn", "fnuz", ""]),
)
def test_fields(exp, man, bias, subnormals, overflow, specials):
    fmt = attempt(
        hu.Format,
        exp=exp,
        man=man,
        bias=bias,
        subnormals=subnormals,
        overflow=overflow,
        specials=specials,
    )
    if fmt is not None:
        x = np.float32([0.0, 1.0, -3.7, 1e30, -1e-30])
        y = hu.round(x, fmt)
        np.testing.assert_array_equal(bits(hu.round(y, fmt)), bits(y))


@more
@given(
    anything,
    st.one_of(texts, st.integers()),
    modes,
    keys,
    st.booleans(),
    st.one_of(st.none(), arrays),
    st.integers(-1, 2**65),
)
def test_rounding(x, fmt, mode, key, counts, out, first):
    attempt(hu.round, x, fmt, mode, key, counts, out, first)


@more
@given(floats, words, keys)
def test_rounding_again_changes_nothing(x, fmt, key):
    y = attempt(hu.round, x, fmt, key=key)
    if y is not None and "uniform" not in fmt and "scale" not in fmt and fmt != "nvfp4":
        again = attempt(hu.round, y, fmt, key=key)
        np.testing.assert_array_equal(bits(again), bits(y))


@more
@given(anything, texts, st.one_of(st.none(), st.integers(-1, 40)))
def test_codes(x, fmt, size):
    for call in (hu.encode, hu.decode):
        attempt(call, x, fmt)
    attempt(hu.pack, x, fmt, size)
    attempt(hu.unpack, x, fmt, 3, size)


@more
@given(st.binary(max_size=40), texts, st.one_of(st.integers(-2, 90), st.tuples(st.integers(-1, 9))))
def test_bytes(data, fmt, shape):
    y = attempt(hu.unpack, data, fmt, shape)
    if y is not None and not np.isnan(y).any():
        again = attempt(hu.pack, y, fmt)
        if again is not None:
            np.testing.assert_array_equal(bits(hu.unpack(again, fmt, shape)), bits(y))


@more
@given(anything, texts, modes, keys)
def test_scaled_formats(x, fmt, mode, key):
    quantization = attempt(hu.Quantization, fmt, mode)
    if quantization is None:
        return
    packed = attempt(quantization.pack, x, key)
    if packed is not None:
        y = quantization.round(x, key)
        np.testing.assert_array_equal(bits(packed.unpack()), bits(y))


@more
@given(st.binary(max_size=64), shapes, words, st.integers(-(2**33), 2**33), st.floats(width=32))
def test_scaled_bytes(data, shape, fmt, exponent, factor):
    packed = hu.Packed(np.frombuffer(data, np.uint8), hu.Scale(exponent, factor), shape, fmt)
    attempt(packed.unpack)


@more
@given(
    anything,
    anything,
    st.one_of(st.sampled_from(["fmacs", "fmac8:1/6/9", "kahan:fp16"]), texts),
    st.integers(-1, 3),
    st.one_of(st.none(), arrays),
    st.one_of(st.none(), arrays),
)
def test_products(a, b, accumulator, threads, bias, out):
    attempt(hu.gemm, a, b, accumulator, threads, bias=bias, out=out)


@more
@given(
    st.integers(0, 7), st.integers(0, 7), st.integers(0, 7), st.integers(0, 4), st.integers(0, 4)
)
def test_products_of_matrices(m, k, n, turn, seed):
    random = np.random.default_rng(seed)
    a, b = (random.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
    found = hu.gemm(_turned(a.T, turn % 2).reshape(m, k) if turn == 1 else a, b, "fmac:fp16")
    assert found.shape == (m, n)


@more
@given(
    st.sampled_from(sorted(hu.operations())),
    st.lists(st.sampled_from([0, 1, 2]), max_size=4),
    st.dictionaries(
        st.sampled_from(
            [
                "out",
                "kernel",
                "stride",
                "axis",
                "heads",
                "pad",
                "groups",
                "shape",
                "axes",
                "name",
                "x",
                "sizes",
                "factor",
                "rows",
            ]
        ),
        st.one_of(
            st.integers(-3, 2**40),
            st.floats(),
            st.booleans(),
            st.text(max_size=4),
            st.lists(st.integers(-2, 9), max_size=4),
        ),
        max_size=4,
    ),
)
def test_networks(op, inputs, attributes):
    net = hu.Net(input=(6, 6, 4))
    values = [net.input, net.relu(net.input), net.flatten(net.input)]
    attempt(getattr(net, op), *(values[i] for i in inputs), **attributes)
    assert net.relu(values[1]).shape == (6, 6, 4)
