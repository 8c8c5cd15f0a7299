"""Dot products of signals, node by node and group by group of channels, weighted and added up."""

from collections.abc import Sequence
from functools import cached_property, reduce

import torch
from torch import Tensor

from akgnn.ops.divided import sums_by_part
from akgnn.ops.rows import Division

# Numbers in a block whose products stay in the CPU's cache; 2 to 3 times as fast on large
# signals as a batched product.
BLOCK = 2**18
# Sums over more groups than these are not made by a product, most of whose terms are 0.
_MOST_GROUPS_OF_PRODUCT = 32

Term = tuple[float, Tensor, Tensor]
"""A number f and signals x and y, of which f · x · y is to be added up."""


class Dots:
    """The sums Σ f · x · y over some terms, to be weighted node by node and added up.

    Where rows are divided into parts there is a row of sums for each, which the division adds up.

    Args:
        terms: Numbers f and signals x and y.
        like: A scaling, with a column for each group of channels. Products are added up over the
            channels of a group once for all scalings.
    """

    def __init__(self, terms: Sequence[Term], like: Tensor, division: Division | None) -> None:
        self.division = division
        self.terms = [(f, x.to(like.dtype), y.to(like.dtype)) for f, x, y in terms]
        self.num_groups = like.size(-1)

    def weighted(self, scale: Tensor) -> Tensor:
        """The sum over nodes of scale · Σ f · x · y, a number a group.

        With several replicas, one such row each.
        """
        if self.division is not None:
            return sums_by_part(self.division, scale * self.by_group)
        if self.num_groups == 1 and self.by_group.dim() == 2:
            return torch.dot(scale.view(-1), self.by_group.view(-1)).view(1)
        return (scale * self.by_group).sum(-2)

    def total(self) -> Tensor:
        """The sum over nodes, unweighted."""
        return self.weighted(torch.ones_like(self.by_group))

    @cached_property
    def by_group(self) -> Tensor:
        """Σ f · x · y for each node, over the channels of each group."""
        _, like, _ = self.terms[0]
        shape, channels = like.shape[:-1], like.size(-1)
        flat = [(f, x.reshape(-1, channels), y.reshape(-1, channels)) for f, x, y in self.terms]
        sizes: int | list[int] = max(1, BLOCK // max(1, channels))
        if like.device.type != "cpu":
            if self.division is None:
                products = [f * self._einsum(x, y) for f, x, y in flat]
                return reduce(torch.add, products).view(*shape, self.num_groups)
            # Part by part: how a GPU adds up may depend on how many rows there are.
            sizes = [block.stop - block.start for block in self.division.blocks]
        blocks = (
            [(f, *pair) for pair in zip(x.split(sizes), y.split(sizes), strict=True)]
            for f, x, y in flat
        )
        sums = []
        for (f, x, y), *others in zip(*blocks, strict=True):
            product = x * y if f == 1 else (x * y).mul_(f)
            for number, *pair in others:
                product.addcmul_(*pair, value=number)
            sums.append(self._added_up(product))
        return torch.cat(sums).view(*shape, self.num_groups)

    def _einsum(self, x: Tensor, y: Tensor) -> Tensor:
        x, y = (t.unflatten(-1, (self.num_groups, -1)) for t in (x, y))
        return torch.einsum("ngc,ngc->ng", x, y)

    def _added_up(self, products: Tensor) -> Tensor:
        """Sums over the channels of each group."""
        each = products.size(-1) // self.num_groups
        is_by_part = self.division is not None
        if is_by_part or each == 1 or not 1 < self.num_groups <= _MOST_GROUPS_OF_PRODUCT:
            return products.reshape(-1, self.num_groups, each).sum(-1)
        # Torch adds up a few neighbouring numbers a third as fast as a product with 0 and 1 does.
        # Not in parts, where a row must not depend on how many others there are.
        ones = torch.eye(self.num_groups, dtype=products.dtype, device=products.device)
        return products @ ones.repeat_interleave(each, 0)
