import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.data.splits import (
    Split,
    split_by_folds,
    split_by_fraction,
    split_for_validation,
    split_per_class,
)
from akgnn.errors import DataError

Y = torch.arange(600) % 3


def ids(*numbers):
    return torch.tensor(numbers, dtype=torch.int64)


def test_fingerprint_depends_on_the_sets_and_not_on_their_order():
    one = Split("a", ids(3, 1), ids(2), ids(5, 4))
    other = Split("b", ids(1, 3), ids(2), ids(4, 5))
    assert one.fingerprint == other.fingerprint
    assert len(one.fingerprint) == 8
    assert one.label == f"a:{one.fingerprint}"


def test_fingerprint_tells_the_sets_apart():
    splits = [
        Split("a", ids(1, 3), ids(2), ids(4, 5)),
        Split("a", ids(1, 3), ids(2), ids(4)),
        Split("a", ids(1), ids(2, 3), ids(4, 5)),
        Split("a", ids(1), ids(2), ids(3, 4, 5)),
    ]
    assert len({split.fingerprint for split in splits}) == 4


def test_per_class_draws_so_many_of_each_class():
    split = split_per_class(Y, per_class=5, num_val=30, num_test=40, seed=1)
    assert torch.bincount(Y[split.train]).tolist() == [5, 5, 5]
    assert (len(split.val), len(split.test)) == (30, 40)
    assert split.name == "random-5-per-class-seed-1"


def test_per_class_can_test_on_all_that_is_left():
    split = split_per_class(Y, per_class=5, num_val=30, num_test=None)
    assert len(split.test) == 600 - 15 - 30


@given(st.integers(0, 5), st.floats(0.05, 0.5), st.floats(0.05, 0.4))
def test_fractions_cover_all_nodes_once(seed, train, val):
    split = split_by_fraction(Y, train=train, val=val, seed=seed)
    assert torch.equal(
        torch.cat([split.train, split.val, split.test]).sort().values, Y.new_tensor(range(600))
    )
    assert len(split.train) == pytest.approx(train * 600, abs=3)
    # Every class has its share.
    assert torch.bincount(Y[split.train]).diff().abs().max() == 0


def test_fractions_may_leave_nodes_out():
    split = split_by_fraction(Y, train=0.1, val=0.1, test=0.1)
    assert [len(split.train), len(split.val), len(split.test)] == [60, 60, 60]
    assert split.name == "random-10-10-10-seed-0"


@pytest.mark.parametrize("draw", [split_per_class, split_by_fraction])
def test_the_seed_decides(draw):
    options = {"num_val": 20, "num_test": 20} if draw is split_per_class else {}
    assert draw(Y, seed=1, **options).fingerprint == draw(Y, seed=1, **options).fingerprint
    assert draw(Y, seed=1, **options).fingerprint != draw(Y, seed=2, **options).fingerprint


def test_unlabelled_nodes_are_not_drawn():
    y = Y.clone()
    y[100:] = -1
    split = split_by_fraction(y)
    assert int(torch.cat([split.train, split.val, split.test]).max()) < 100


def test_the_draw_is_the_same_on_every_machine():
    assert split_per_class(Y, per_class=5, num_val=30, num_test=40).fingerprint == "89764cf8"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Split("a", ids(), ids(1), ids(2)), "training set is empty"),
        (lambda: Split("a", ids(1), ids(), ids(2)), "validation set is empty"),
        (lambda: Split("a", ids(1), ids(1), ids(2)), "Node 1 is listed twice"),
        (lambda: Split("a", torch.ones(2), ids(1), ids(2)), "must be a list of int64"),
        (lambda: Split("a", np.array([1]), ids(1), ids(2)), "must be a torch tensor, got ndarray"),
        (lambda: split_by_fraction(Y, seed=-1), "seed of a split must be at least 0"),
        (lambda: split_per_class(Y, per_class=300), "Class 0 has 200 labelled nodes, fewer"),
        (lambda: split_per_class(Y, per_class=100), "leave 300 labelled nodes, but 1500"),
        (lambda: split_by_fraction(Y, train=0.9, val=0.2), "add up to at most 1, got 1.1"),
        (lambda: split_by_fraction(Y, train=-0.1, val=0.2), "at least 0"),
        (lambda: split_by_fraction(Y, train=0.0, val=0.2), "training set is empty"),
        (lambda: split_by_fraction(Y * 0 - 1), "No node has a label"),
    ],
)
def test_impossible_splits_are_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_shares_are_rounded_not_cut():
    y = torch.zeros(9, dtype=torch.int64)
    split = split_by_fraction(y, train=0.3, val=0.3)
    assert [len(split.train), len(split.val), len(split.test)] == [3, 2, 4]


@given(
    st.lists(st.integers(-1, 3), min_size=1, max_size=80), st.integers(2, 6), st.integers(0, 100)
)
def test_folds_share_out_every_class_evenly(labels, folds, seed):
    y = torch.tensor(labels)
    counts = torch.bincount(y[y >= 0], minlength=4)
    least = 4 if folds == 2 else folds
    if not bool((y >= 0).any()) or bool(((counts > 0) & (counts < least)).any()):
        with pytest.raises(DataError, match=r"No node has a label|folds need at least"):
            split_by_folds(y, fold=0, folds=folds, seed=seed)
        return
    splits = [split_by_folds(y, fold=fold, folds=folds, seed=seed) for fold in range(folds)]
    labelled = (y >= 0).nonzero()[:, 0]
    assert torch.equal(torch.cat([split.test for split in splits]).sort().values, labelled)
    for split in splits:
        parts = (split.train, split.val, split.test)
        assert torch.equal(torch.cat(parts).sort().values, labelled)
        tested = torch.bincount(y[split.test], minlength=4)
        assert bool(((tested - counts / folds).abs() < 1).all())
        assert abs(len(split.test) - len(labelled) / folds) < 1
        assert abs(len(split.val) - (len(labelled) - len(split.test)) / folds) < 1
        assert set(y[split.train].tolist()) == set(y[labelled].tolist())


def test_folds_are_drawn_by_their_seed():
    one, same, other = (split_by_folds(Y, fold=1, folds=5, seed=seed) for seed in (0, 0, 1))
    assert one.label == same.label
    assert one.fingerprint != other.fingerprint
    assert one.name == "fold-1-of-5-seed-0"


@pytest.mark.parametrize(
    ("fold", "folds", "message"),
    [
        (0, 1, "at least 2 folds, got 1"),
        (5, 5, "5 folds are numbered 0 to 4, got 5"),
        (-1, 5, "5 folds are numbered 0 to 4, got -1"),
        (0, 201, "Class 0 has 200 labelled nodes, but 201 folds need at least 201"),
    ],
)
def test_folds_that_there_are_not(fold, folds, message):
    with pytest.raises(DataError, match=message):
        split_by_folds(Y, fold=fold, folds=folds)


def test_every_class_spares_some_of_its_labels_for_validation():
    y = torch.tensor([0] * 40 + [1] * 5 + [2] * 4 + [-1] * 10)
    split = split_for_validation(y, val=0.1, seed=1)
    assert torch.bincount(y[split.val]).tolist() == [4, 1]
    assert torch.bincount(y[split.train]).tolist() == [36, 4, 4]
    assert not split.test.numel()
    assert not split.chooses_on_train
    assert split.fingerprint == split_for_validation(y, val=0.1, seed=1).fingerprint
    assert split.fingerprint != split_for_validation(y, val=0.1, seed=2).fingerprint
    # A class keeps a node to learn from.
    assert torch.bincount(y[split_for_validation(y, val=0.99).train]).tolist() == [1, 1, 4]


@pytest.mark.parametrize(("labels", "val"), [([0, 1, 1, -1], 0.5), ([0] * 20, 0.0)])
def test_the_training_nodes_choose_where_nobody_else_can(labels, val):
    split = split_for_validation(torch.tensor(labels), val=val)
    assert split.chooses_on_train
    assert torch.equal(split.train, split.val)
    assert split.train.tolist() == [i for i, label in enumerate(labels) if label >= 0]
    assert split.to("cpu").chooses_on_train


def test_training_nodes_choose_only_if_they_are_the_same():
    with pytest.raises(DataError, match="val holds others"):
        Split("x", torch.tensor([0]), torch.tensor([1]), torch.tensor([2]), chooses_on_train=True)
    with pytest.raises(DataError, match="Node 0 is listed twice"):
        Split("x", torch.tensor([0]), torch.tensor([0]), torch.tensor([0]), chooses_on_train=True)
    with pytest.raises(DataError, match="at least 0 and below 1"):
        split_for_validation(torch.tensor([0, 1]), val=1.0)
