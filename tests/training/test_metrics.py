import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, mannwhitneyu
from sklearn.calibration import calibration_curve
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from akgnn.data.catalogue import load_dataset
from akgnn.errors import SettingsError
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.load import load_run
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.batched.fit_many import fit_many
from akgnn.training.fit import fit
from akgnn.training.metrics import (
    METRICS,
    Metric,
    accuracy,
    balanced_accuracy,
    calibration_error,
    confusion_matrix,
    cross_entropy,
    interval_words,
    logits_roc_auc,
    macro_f1,
    metrics_by_epoch,
    register_metric,
    roc_auc,
    share_interval,
)
from akgnn.training.settings import TrainSettings

PREDICTED = torch.tensor([0, 0, 1, 1, 2, 2])
Y = torch.tensor([0, 1, 1, 1, 2, 0])


def test_accuracy_is_in_per_cent():
    assert accuracy(PREDICTED, Y) == pytest.approx(100 * 4 / 6)


@given(st.integers(1, 3000), st.floats(0, 1))
def test_the_interval_of_a_share_is_wilsons(nodes, part):
    hits = round(part * nodes)
    expected = binomtest(hits, nodes).proportion_ci(method="wilson")
    found = share_interval(100 * hits / nodes, nodes)
    assert found == pytest.approx((100 * expected.low, 100 * expected.high), abs=1e-4)


def test_without_nodes_a_share_has_no_interval():
    assert all(map(math.isnan, (*share_interval(math.nan, 5), *share_interval(50.0, 0))))
    assert interval_words(50.0, 0) == ""


@pytest.mark.parametrize(
    ("percent", "nodes", "words"),
    [
        (75.0, 48, "61 to 85 with 48 nodes"),
        (100.0, 1, "21 to 100 with 1 node"),
        (84.8, 1000, "82.4 to 86.9 with 1000 nodes"),
    ],
)
def test_narrow_intervals_have_a_decimal(percent, nodes, words):
    assert interval_words(percent, nodes) == words


def test_confusion_counts_pairs():
    assert confusion_matrix(PREDICTED, Y, 3).tolist() == [[1, 0, 1], [1, 2, 0], [0, 0, 1]]


def test_macro_f1_by_hand():
    # Class 0: 1 of 2 found, 1 of 2 right. Class 1: 2 of 3, 2 of 2. Class 2: 1 of 1, 1 of 2.
    expected = 100 * (1 / 2 + 4 / 5 + 2 / 3) / 3
    assert macro_f1(PREDICTED, Y, 3) == pytest.approx(expected)


def test_classes_that_do_not_occur_do_not_count():
    assert macro_f1(PREDICTED, Y, 5) == pytest.approx(macro_f1(PREDICTED, Y, 3))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_a_perfect_prediction_scores_100(labels):
    y = torch.tensor(labels)
    assert accuracy(y, y) == 100
    assert macro_f1(y, y, 4) == pytest.approx(100)


def test_no_nodes_have_no_score():
    nothing = torch.zeros(0, dtype=torch.int64)
    assert math.isnan(accuracy(nothing, nothing))
    assert math.isnan(macro_f1(nothing, nothing, 3))
    assert math.isnan(balanced_accuracy(nothing, nothing, 3))
    assert math.isnan(calibration_error(torch.zeros(0, 3), nothing))
    assert math.isnan(logits_roc_auc(torch.zeros(0, 3), nothing))


def test_roc_auc_by_hand():
    score, y = torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1])
    # Of the four pairs only 0.35 against 0.4 is lost.
    assert roc_auc(score, y) == 75
    assert roc_auc(-score, y) == 25
    assert roc_auc(y.double(), y) == 100


def test_an_equal_score_is_half_a_pair():
    y = torch.tensor([0, 1, 1])
    assert roc_auc(torch.tensor([1.0, 1.0, 2.0]), y) == 75
    assert roc_auc(torch.zeros(3), y) == 50


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), max_size=30))
def test_roc_auc_is_the_share_of_pairs_won(nodes):
    score = torch.tensor([float(value) for value, _ in nodes])
    y = torch.tensor([label for _, label in nodes], dtype=torch.int64)
    ones = [value for value, label in nodes if label == 1]
    zeros = [value for value, label in nodes if label == 0]
    won = sum((one > zero) + (one == zero) / 2 for one in ones for zero in zeros)
    if ones and zeros:
        assert roc_auc(score, y) == 100 * won / (len(ones) * len(zeros))
    else:
        assert math.isnan(roc_auc(score, y))


def test_roc_auc_is_the_rank_statistic_of_mann_and_whitney():
    score, y = torch.randn(1000).round(decimals=1), torch.randint(2, (1000,))
    ones, zeros = score[y == 1].numpy(), score[y == 0].numpy()
    expected = 100 * mannwhitneyu(ones, zeros).statistic / (len(ones) * len(zeros))
    assert roc_auc(score, y) == pytest.approx(expected, abs=1e-10)


def test_a_score_that_is_not_a_number_has_no_rank():
    assert math.isnan(roc_auc(torch.tensor([1.0, math.nan, 0.0]), torch.tensor([1, 0, 0])))


def test_roc_auc_of_the_logits_of_two_classes():
    logits, y = torch.tensor([[2.0, 1.0], [5.0, 7.0]]), torch.tensor([0, 1])
    assert logits_roc_auc(logits, y) == 100
    assert logits_roc_auc(logits, 1 - y) == 0


LOGITS = 3 * torch.randn(500, 4, generator=torch.Generator().manual_seed(1))
LABELS = (LOGITS + 4 * torch.randn(500, 4, generator=torch.Generator().manual_seed(2))).argmax(1)


def test_roc_auc_of_more_classes_is_scikit_learns():
    expected = roc_auc_score(LABELS, LOGITS.double().softmax(1), multi_class="ovr")
    assert logits_roc_auc(LOGITS, LABELS) == pytest.approx(100 * expected, abs=1e-10)


def test_roc_auc_leaves_out_classes_that_do_not_occur():
    kept = LABELS < 3
    probability = LOGITS.double().softmax(1)[kept]
    areas = [roc_auc(probability[:, k], (LABELS[kept] == k).long()) for k in range(3)]
    assert logits_roc_auc(LOGITS[kept], LABELS[kept]) == pytest.approx(sum(areas) / 3)
    assert math.isnan(logits_roc_auc(LOGITS, torch.zeros_like(LABELS)))


def test_balanced_accuracy_and_log_loss_are_scikit_learns():
    predicted = LOGITS.argmax(1)
    expected = 100 * balanced_accuracy_score(LABELS, predicted)
    assert balanced_accuracy(predicted, LABELS, 4) == pytest.approx(expected)
    assert balanced_accuracy(predicted, LABELS, 6) == pytest.approx(expected)
    loss = log_loss(LABELS, LOGITS.double().softmax(1))
    assert float(cross_entropy(LOGITS, LABELS)) == pytest.approx(loss, rel=1e-5)


def test_the_calibration_error_is_that_of_scikit_learns_curve():
    probability, predicted = LOGITS.double().softmax(1).max(1)
    probability, right = probability.numpy(), (predicted == LABELS).long().numpy()
    true, said = calibration_curve(right, probability, n_bins=15, strategy="uniform")
    inner = np.linspace(0, 1, 16)[1:-1]
    counts = np.bincount(np.searchsorted(inner, probability), minlength=15)
    expected = (np.abs(true - said) * counts[counts > 0]).sum() / len(right)
    assert calibration_error(LOGITS, LABELS) == pytest.approx(100 * expected)


def test_the_calibration_error_by_hand():
    # Four nodes at probability 0.8, of which half are right.
    logits = torch.tensor([[math.log(4.0), 0.0]]).repeat(4, 1)
    assert calibration_error(logits, torch.tensor([0, 0, 1, 1])) == pytest.approx(30)
    assert calibration_error(100 * torch.eye(3), torch.arange(3)) == pytest.approx(0, abs=1e-9)


def test_a_value_is_written_for_readers():
    assert METRICS["accuracy"].text(81.26) == "81.3 %"
    assert METRICS["log_loss"].text(0.51234) == "0.512"
    assert METRICS["roc_auc"].heading == "ROC-AUC %"


def test_validation_is_scored_by_epoch_where_that_is_cheap_or_decides():
    assert metrics_by_epoch(3, "loss") == ["accuracy"]
    assert metrics_by_epoch(2, "loss") == ["accuracy", "roc_auc"]
    assert metrics_by_epoch(3, "macro_f1") == ["accuracy", "macro_f1"]


DATA = load_dataset("csbm:num_nodes=120,homophily=0.7,signal=2")
SEEDS = [0, 1, 2]


def first_two(logits, y):
    """Share of nodes whose class is among the two likeliest, in per cent."""
    return 100 * float((logits.topk(2, dim=1).indices == y[:, None]).any(1).double().mean())


def plan_of(**changes):
    changes = {"epochs": 8, "patience": 8, "hidden_channels": 8, "learning_rate": 0.1, **changes}
    return RunPlan.make(RunSettings(dataset="csbm:num_nodes=120"), changes)


def fitted(plan, seed=0):
    model = plan.with_seed(seed).build(DATA)
    return fit(model, DATA, plan.preset.training, seed=seed), model


def fitted_side_by_side(plan):
    models = [plan.with_seed(seed).build(DATA) for seed in SEEDS]
    return fit_many(models, DATA, plan.preset.training, seeds=SEEDS, at_once=3)


@pytest.fixture
def registered():
    """Registers metrics for the time of a test."""
    names = []

    def register(name, *arguments, **options):
        register_metric(name, Metric(*arguments, **options))
        names.append(name)

    yield register
    for name in names:
        del METRICS[name]


def test_a_metric_of_ones_own_is_in_results_and_history(registered):
    registered("first_two", first_two, "one of two")
    result, model = fitted(plan_of())
    with torch.no_grad():
        logits = model(DATA.x, DATA.graph)
    for part in ("test", "val"):
        nodes = getattr(DATA.split, part)
        assert result.scores[f"{part}_first_two"] == first_two(logits[nodes], DATA.y[nodes])
    assert len(result.history.val_first_two) == 8
    assert result.history.val_first_two[result.best_epoch - 1] == result.val_first_two
    for beside in fitted_side_by_side(plan_of()):
        assert beside.history.val_first_two[beside.best_epoch - 1] == beside.val_first_two


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_training_can_stop_on_a_metric_of_ones_own(registered, lower_is_better):
    registered("first_two", first_two, "one of two", lower_is_better=lower_is_better)
    best = min if lower_is_better else max
    alone = [fitted(plan_of(stop_on="first_two"), seed)[0] for seed in SEEDS]
    for result in [*alone, *fitted_side_by_side(plan_of(stop_on="first_two"))]:
        assert result.val_first_two == best(result.history.val_first_two)
    by_loss = [fitted(plan_of(), seed)[0] for seed in SEEDS]
    assert [each.best_epoch for each in alone] != [each.best_epoch for each in by_loss]


def test_what_is_never_scored_by_epoch_is_not_in_the_history(registered):
    registered("first_two", first_two, "one of two", by_epoch="never")
    result, _ = fitted(plan_of(epochs=2))
    assert result.history.val_first_two == []
    assert 0 < result.test_first_two <= 100


def now_and_then(start):
    """A metric that has a meaning at every other epoch."""
    epochs = iter(range(start, 1000))
    return lambda logits, y: math.nan if next(epochs) % 2 else first_two(logits, y)


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("stop_on", ["loss", "first_two"])
def test_a_metric_may_have_no_meaning_at_some_epochs(registered, tmp_path, stop_on, start):
    registered("first_two", now_and_then(start), "one of two")
    folder = RunFolder(tmp_path / "run")
    result = run_job(Job(plan_of(stop_on=stop_on), folder), DATA).result
    column = result.history.val_first_two
    if stop_on == "first_two":
        assert column[result.best_epoch - 1] == max(v for v in column if not math.isnan(v))
    # A column that does not begin with the first epoch is left out.
    assert len(column) == (0 if start == 1 and stop_on == "loss" else 8)
    assert repr(load_run(folder.path).result) == repr(result)


def test_a_metric_that_was_removed_is_no_longer_known():
    register_metric("first_two", Metric(first_two, "one of two"))
    result, _ = fitted(plan_of(epochs=1))
    del METRICS["first_two"]
    assert "test_first_two" in result.scores
    assert "test_first_two" not in fitted(plan_of(epochs=1))[0].scores
    with pytest.raises(SettingsError, match="is no score to stop on"):
        TrainSettings(stop_on="first_two")


@pytest.mark.parametrize("name", ["accuracy", "loss", "either", "both", "two words", "1st", ""])
def test_a_metric_needs_a_free_name(name):
    with pytest.raises(SettingsError, match="free and an identifier"):
        register_metric(name, Metric(first_two, "one of two"))
