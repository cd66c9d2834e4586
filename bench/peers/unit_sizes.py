"""Factors of unit scaling, worked out from their description (docs/reference/numerics/unit_scaling.md).

A network is declared node by node with what each does to root mean squares; `finish` goes back from the loss. Of every
value there is then `held`, how many times the gradient of the loss is kept of it; of every node `made`, `read` and
`given`, what its output, its inputs and the gradients that it gives are multiplied by.
"""
import math


class Value:
    def __init__(self, terms=1.0, mean=0.0, offset=0.0):
        self.terms, self.mean, self.offset = terms, mean, offset
        self.readers, self.held = [], 1.0


class Node:
    """sizes: of the gradient that goes to each input, or parameter, from one of size 1."""

    def __init__(self, inputs, sizes, made, out, read=None):
        self.inputs, self.sizes, self.made, self.out = inputs, sizes, made, out
        self.read = read or [1.0] * len(inputs)
        self.given = [1.0] * len(inputs)
        for i, value in enumerate(inputs):
            if value is not None:
                value.readers.append((self, i))


class Sizes:
    def __init__(self, batch):
        self.batch, self.nodes, self.values, self.start = batch, {}, {}, {}

    def leaf(self, name, start=1.0):
        self.values[name] = Value()
        self.start[name] = start
        return self.values[name]

    def node(self, name, inputs, sizes, made=1.0, out=None, read=None):
        node = Node(inputs, sizes, made, out or Value(), read)
        self.nodes[name] = node
        self.values[name + ".out"] = node.out
        return node.out

    def product(self, name, x, weight, places, in_numbers, bias=False, needs_input=True, is_last=False):
        """weight: extents, [outputs, terms of an output ..]; places: outputs of a channel in a sample."""
        outputs, terms = weight[0], math.prod(weight[1:])
        macs = places * outputs * terms
        made = 1 / terms if is_last else 1 / math.sqrt(terms)
        inputs = [x if needs_input else None, self.leaf(name + ".weight", single(made))]
        sizes = [math.sqrt(macs / in_numbers), math.sqrt(self.batch * macs / (outputs * terms))]
        if bias:
            inputs.append(self.leaf(name + ".bias", single(made)))
            sizes.append(math.sqrt(self.batch * places))
        return self.node(name, inputs, sizes, made, Value(offset=math.hypot(x.mean, x.offset)))

    def norm(self, name, x, places, by_channel):
        """gamma and beta of a channel, of which a sample has so many numbers."""
        far = x.mean ** 2 + (x.offset ** 2 if by_channel else 0)
        size = math.sqrt(self.batch * places)
        return self.node(name, [x, self.leaf(name + ".weight"), self.leaf(name + ".bias")],
                         [1 / math.sqrt(1 - far), size, size])

    def relu(self, name, x):
        spread = math.sqrt(1 - x.mean ** 2)
        at = x.mean / spread
        above, density = math.erfc(-at / math.sqrt(2)) / 2, math.exp(-at * at / 2) / math.sqrt(2 * math.pi)
        size = math.sqrt(above + x.mean * spread * density)
        return self.node(name, [x], [math.sqrt(above)], 1 / size,
                         Value(x.terms, (x.mean * above + spread * density) / size))

    def gelu(self, name, x):
        return self.node(name, [x], [0.6751673], 1 / 0.6520901)

    def add(self, name, *terms):
        total = sum(term.terms for term in terms)
        read = [math.sqrt(term.terms / total) for term in terms]
        out = Value(total, sum(r * t.mean for r, t in zip(read, terms)),
                    math.sqrt(sum((r * t.offset) ** 2 for r, t in zip(read, terms))))
        return self.node(name, list(terms), [1.0] * len(terms), 1.0, out, read)

    def same(self, name, x, size=1.0, parameters=(), out=None):
        """What moves numbers, or adds a parameter."""
        leaves = [self.leaf(parameter) for parameter, _ in parameters]
        return self.node(name, [x, *leaves], [size, *(math.sqrt(self.batch * p) for _, p in parameters)], 1.0,
                         out or Value(x.terms, x.mean, x.offset))

    def finish(self, name, logits, size):
        """The loss: size of the gradient of the logits of a sample."""
        self.node(name, [logits], [size / self.batch])
        for node in reversed(self.nodes.values()):
            self.choose(node.out)
        for leaf in self.start:
            self.choose(self.values[leaf])
        for node in self.nodes.values():
            for i, value in enumerate(node.inputs):
                if value is not None:
                    node.given[i] = single(node.made) * single(node.read[i]) * value.held / node.out.held
        return self

    def choose(self, value):
        squares = sum((single(node.made) * single(node.read[i]) / node.out.held * node.sizes[i]) ** 2
                      for node, i in value.readers)
        if squares > 0:
            value.held = 1 / math.sqrt(squares)


def single(number):
    """The float32 number nearest to a number."""
    import numpy
    return float(numpy.float32(number))
