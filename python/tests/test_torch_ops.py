"""The library's operations for PyTorch: bits, gradients, fake kernels, refusals."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

import halfulp as hu  # noqa: E402
import halfulp.torch as ht  # noqa: E402
from needs import needs_operations  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch
round_op = ht._ops.round_op


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)) * 100


@pytest.mark.parametrize("fmt", ["e4m3fn:ovf=sat", "fp(4,3,4)", "mxfp8", "nvfp4", "uniform8"])
@pytest.mark.parametrize("rounding", ["rne", "sr"])
def test_a_tensor_is_rounded_as_an_array(fmt, rounding):
    x = numbers(5, 7, 9)
    for tensor in (x, x.transpose(0, 2), x[::2, :, 1:4], x[:0], x[0, 0, 0]):
        found = round_op(tensor, fmt, rounding, 3, "w", 4)
        key = hu.Key(3, "w", 4)
        expected = hu.round(tensor.numpy(), fmt, rounding, key=key)
        assert found.is_contiguous()
        np.testing.assert_array_equal(found.numpy().view(np.uint32), expected.view(np.uint32))


def test_negative_words_are_those_of_64_bits():
    x = numbers(100)
    found = round_op(x, "e2m1", "sr", -1, "w", -2)
    expected = hu.round(x.numpy(), "e2m1", "sr", key=hu.Key(2**64 - 1, "w", 2**64 - 2))
    np.testing.assert_array_equal(found.numpy(), expected)


@needs_operations
@pytest.mark.parametrize("fmt", ["e5m2", "mxfp4"])
@pytest.mark.parametrize("rounding", ["rne", "sr"])
def test_pytorch_checks_the_operation(fmt, rounding):
    for x in (numbers(6, 8), numbers(6, 8).t(), numbers(6, 8).requires_grad_(), numbers(0, 3)):
        torch.library.opcheck(round_op, (x, fmt, rounding, 1, "w", 2))


def test_the_gradient_passes():
    x, weight = numbers(4, 5).requires_grad_(), numbers(4, 5)
    (round_op(x, "e2m1", "rne", 0, "", 0) * weight).sum().backward()
    assert torch.equal(x.grad, weight)


@needs_operations
def test_a_compiled_step_has_the_same_bits():
    def loss(x, step):
        return (round_op(x * 2, "e4m3", "sr", 1, "x", step) ** 2).sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for step in range(3):
        one, other = (numbers(6, 7).requires_grad_() for _ in range(2))
        found, expected = compiled(one, step), loss(other, step)
        found.backward(), expected.backward()
        assert torch.equal(found, expected)
        assert torch.equal(one.grad, other.grad)


def test_what_is_no_float32_tensor_of_the_cpu_is_refused():
    with pytest.raises(hu.DtypeError, match=r"found torch.float64, expected torch.float32"):
        round_op(numbers(3).double(), "e4m3", "rne", 0, "", 0)
    with pytest.raises(hu.UnsupportedError, match="found a tensor on meta"):
        ht._ops.round_tensor(numbers(3).to("meta"), "e4m3", "rne", 0, "", 0)
    with pytest.raises(hu.UnknownNameError):
        round_op(numbers(3), "fp99x", "rne", 0, "", 0)
