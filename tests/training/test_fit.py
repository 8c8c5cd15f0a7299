import math
from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.data.splits import Split
from akgnn.errors import DivergedError, SettingsError
from akgnn.models.akgnn import AKGNN
from akgnn.training.calibration import UNCALIBRATED, calibration_of
from akgnn.training.callbacks import Callback
from akgnn.training.fit import fit
from akgnn.training.metrics import METRICS, logits_roc_auc, roc_auc
from akgnn.training.settings import TrainSettings

DATA = load_dataset("csbm:num_nodes=400,homophily=0.8,signal=6")
SHORT = TrainSettings(epochs=30, patience=10)


TWO_CLASSES = load_dataset("csbm:num_nodes=400,num_classes=2,homophily=0.5,signal=1")


def same(one, other):
    """Whether two results are equal but for the time; as text, where NaN equals NaN."""
    texts = [repr((replace(each, seconds=0.0), each.history)) for each in (one, other)]
    return texts[0] == texts[1]


class Kept(Callback):
    """Keeps a snapshot of every epoch."""

    def __init__(self):
        self.snapshots = []

    def after_epoch(self, epochs):
        self.snapshots += [epoch.snapshot() for epoch in epochs]


def build(seed=0, data=DATA, **options):
    generator = torch.Generator().manual_seed(seed)
    return AKGNN(data.num_features, 16, data.num_classes, generator=generator, **options)


def test_learns_an_easy_graph():
    result = fit(build(), DATA, TrainSettings(epochs=200))
    # Over seeds 88 to 99.
    assert result.test_accuracy > 85
    assert result.test_macro_f1 > 85


def test_a_run_repeats_bit_for_bit():
    first, second = build(), build()
    one, other = fit(first, DATA, SHORT, seed=3), fit(second, DATA, SHORT, seed=3)
    assert one.history == other.history
    assert same(one, other)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_seed_changes_the_masks():
    one, other = fit(build(), DATA, SHORT, seed=3), fit(build(), DATA, SHORT, seed=4)
    assert one.history.val_loss != other.history.val_loss


def test_global_generators_neither_matter_nor_move():
    torch.manual_seed(1)
    one = fit(build(), DATA, SHORT)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    other = fit(build(), DATA, SHORT)
    assert one.history == other.history
    assert torch.equal(torch.get_rng_state(), before)


def test_the_best_weights_are_restored():
    model = build()
    # A high rate makes the last epochs worse than the best.
    settings = TrainSettings(epochs=60, patience=60, learning_rate=0.3)
    result = fit(model, DATA, settings)
    assert result.best_epoch < result.epochs
    assert result.best_epoch == 1 + min(range(60), key=result.history.val_loss.__getitem__)
    model.eval()
    nodes = DATA.split.val
    with torch.no_grad():
        logits = model(DATA.x, DATA.graph)[nodes]
    loss = torch.nn.functional.cross_entropy(logits, DATA.y[nodes])
    assert float(loss) == pytest.approx(result.val_loss, rel=1e-6)
    assert result.lambda_max == tuple(model.lambda_max.tolist())


def test_stops_after_patience():
    result = fit(build(), DATA, TrainSettings(epochs=500, patience=5, learning_rate=0.1))
    assert result.epochs == result.best_epoch + 5


def test_accuracy_can_choose_the_epoch():
    result = fit(build(), DATA, replace(SHORT, stop_on="accuracy"))
    assert result.val_accuracy == max(result.history.val_accuracy)


def test_roc_auc_can_choose_the_epoch():
    # A high rate makes the scores go up and down.
    settings = replace(SHORT, learning_rate=0.1, patience=30, stop_on="roc_auc")
    model = build(data=TWO_CLASSES)
    result = fit(model, TWO_CLASSES, settings)
    column = result.history.val_roc_auc
    assert len(column) == len(result.history) == 30
    assert result.val_roc_auc == max(column) == column[result.best_epoch - 1]
    assert (
        result.best_epoch
        != fit(build(data=TWO_CLASSES), TWO_CLASSES, replace(settings, stop_on="loss")).best_epoch
    )
    nodes = TWO_CLASSES.split.test
    with torch.no_grad():
        logits = model.eval()(TWO_CLASSES.x, TWO_CLASSES.graph)[nodes]
    score = logits[:, 1] - logits[:, 0]
    assert result.test_roc_auc == roc_auc(score, TWO_CLASSES.y[nodes])


def test_more_classes_have_no_roc_auc_by_epoch():
    model = build()
    result = fit(model, DATA, SHORT)
    with torch.no_grad():
        logits = model(DATA.x, DATA.graph)
    for part in ("test", "val"):
        nodes = getattr(DATA.split, part)
        expected = logits_roc_auc(logits[nodes], DATA.y[nodes])
        assert getattr(result, f"{part}_roc_auc") == expected
    assert result.history.val_roc_auc == []
    with pytest.raises(SettingsError, match="needs two classes, but the data have 4"):
        fit(build(), DATA, replace(SHORT, stop_on="roc_auc"))


def test_validation_nodes_of_one_class_have_no_roc_auc():
    split, y = TWO_CLASSES.split, TWO_CLASSES.y
    val = split.val[y[split.val] == 0]
    data = TWO_CLASSES.with_split(Split("one-class", split.train, val, split.test))
    result = fit(build(data=data), data, SHORT)
    assert math.isnan(result.val_roc_auc)
    assert result.test_roc_auc > 50
    assert result.history.val_roc_auc == []
    with pytest.raises(SettingsError, match="needs validation nodes of both classes"):
        fit(build(data=data), data, replace(SHORT, stop_on="roc_auc"))


def test_test_labels_are_not_looked_at_before_the_end():
    y = DATA.y.clone()
    y[DATA.split.test] = (y[DATA.split.test] + 1) % DATA.num_classes
    one, other = fit(build(), DATA, SHORT), fit(build(), replace(DATA, y=y), SHORT)
    assert one.history == other.history
    assert one.best_epoch == other.best_epoch
    assert one.test_accuracy != other.test_accuracy


def test_there_may_be_no_test_nodes():
    split = Split("no-test", DATA.split.train, DATA.split.val, DATA.split.test[:0])
    result = fit(build(), DATA.with_split(split), SHORT)
    assert result.test_accuracy != result.test_accuracy


@pytest.mark.parametrize("stop_at", [1, 7, 29])
@pytest.mark.parametrize(("data", "stop_on"), [(DATA, "loss"), (TWO_CLASSES, "roc_auc")])
def test_a_resumed_run_ends_as_an_uninterrupted_one(stop_at, data, stop_on):
    settings = replace(SHORT, patience=30, stop_on=stop_on)
    whole = fit(build(data=data), data, settings, seed=5)
    kept = []

    class StopError(Exception):
        pass

    class Stop(Callback):
        def after_epoch(self, epochs):
            (epoch,) = epochs
            if len(epoch.history) == stop_at:
                kept.append(epoch.snapshot())
                raise StopError

    with pytest.raises(StopError):
        fit(build(data=data), data, settings, seed=5, callbacks=[Stop()])
    model = build(seed=99, data=data)
    resumed = fit(model, data, settings, seed=5, resume=kept[0])
    assert same(resumed, whole)


def test_an_exploding_loss_names_epoch_and_cause():
    settings = TrainSettings(learning_rate=1e30, epochs=50)
    with pytest.raises(
        DivergedError, match=r"at epoch \d+: the learning rate 1e\+30 is likely too high"
    ):
        fit(build(), DATA, settings)
    huge = replace(DATA, x=DATA.x * 1e37)
    with pytest.raises(DivergedError, match="very large features"):
        fit(build(), huge, TrainSettings(epochs=5))


def test_a_strong_pull_keeps_lambda_at_its_start():
    settings = replace(SHORT, phi_weight_decay=1e4)
    free = fit(build(), DATA, replace(settings, phi_weight_decay=0.0))
    held = fit(build(), DATA, replace(settings, phi_decays_to="start"))
    drift = max(abs(value - 2) for value in held.history.lambda_max[-1])
    assert drift < 0.2 * max(abs(value - 2) for value in free.history.lambda_max[-1])


@pytest.mark.gpu
def test_gpu_training_learns_too():
    data = DATA.to("cuda")
    result = fit(build().cuda(), data, TrainSettings(epochs=200))
    assert result.test_accuracy > 85


def test_a_snapshot_does_not_change_while_training_goes_on():
    keeping = Kept()
    whole = fit(build(), DATA, SHORT, callbacks=[keeping])
    fifth = keeping.snapshots[4]
    assert len(fifth.history) == 5
    # Twice from the same snapshot.
    for _ in range(2):
        resumed = fit(build(seed=9), DATA, SHORT, resume=fifth)
        assert same(resumed, whole)
    assert len(fifth.history) == 5


def test_a_scalar_that_is_not_a_number_is_found():
    model = build()
    with torch.no_grad():
        model.layers[2].phi.fill_(float("nan"))
    with pytest.raises(DivergedError, match="loss became nan at epoch 1"):
        fit(model, DATA, SHORT)


def test_resuming_counts_the_seconds_on():
    keeping = Kept()
    fit(build(), DATA, SHORT, callbacks=[keeping])
    later = replace(keeping.snapshots[3], seconds=1000.0)
    assert fit(build(), DATA, SHORT, resume=later).seconds > 1000


def test_a_result_has_every_metric_of_test_and_validation_nodes():
    model = build()
    result = fit(model, DATA, SHORT)
    with torch.no_grad():
        logits = model(DATA.x, DATA.graph)
    for part in ("test", "val"):
        nodes = getattr(DATA.split, part)
        for name, metric in METRICS.items():
            used = result.calibration if metric.of_probabilities else UNCALIBRATED
            expected = metric.function(used.scaled(logits[nodes]), DATA.y[nodes])
            assert result.scores[f"{part}_{name}"] == pytest.approx(expected, rel=1e-6), name
            assert getattr(result, f"{part}_{name}") == result.scores[f"{part}_{name}"]
    val = DATA.split.val
    assert result.calibration == calibration_of(logits[val], DATA.y[val]) != UNCALIBRATED
    assert result.temperature == result.calibration.temperature
    assert set(result.metrics) == {*result.scores, "best_epoch", "epochs"}
    assert {"test_macro_f1", "val_loss"} <= set(dir(result))
    with pytest.raises(AttributeError, match="no 'test_f2'; its scores are test_accuracy"):
        _ = result.test_f2
