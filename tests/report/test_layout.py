import json

import numpy as np
import pytest
import torch

from akgnn.report.layout import LAYOUT_FILE, _Repulsion, layout_of, shown_features


@pytest.fixture(scope="module")
def clusters():
    """Three clusters far from each other, and which of them a row belongs to."""
    generator = torch.Generator().manual_seed(0)
    which = torch.arange(120) % 3
    centres = 10 * torch.eye(3)
    return centres[which] + torch.randn(120, 3, generator=generator), which


def test_clusters_stay_apart(clusters):
    features, which = clusters
    points = torch.from_numpy(layout_of(features))
    middle = torch.stack([points[which == k].mean(0) for k in range(3)])
    assert torch.equal(torch.cdist(points, middle).argmin(1), which)


def test_points_lie_in_the_unit_square_and_reach_its_sides(clusters):
    points = layout_of(clusters[0])
    assert points.min() >= 0
    assert points.max() <= 1
    assert np.ptp(points, axis=0).max() > 0.9


def test_map_is_the_same_each_time_and_another_with_another_seed(clusters):
    features, _ = clusters
    assert np.array_equal(layout_of(features), layout_of(features))
    assert not np.array_equal(layout_of(features), layout_of(features, seed=1))


def test_repulsion_is_that_of_all_pairs():
    points = (20 * np.random.default_rng(0).random((50, 2))).astype(np.float32)
    between = points[:, None] - points[None]
    near = 1 / (1 + (between**2).sum(-1))
    expected = (between * near[..., None] ** 2).sum(1) / (near.sum() - 50)
    assert np.abs(_Repulsion(2500)(points) - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize("features", [torch.zeros(1, 2), torch.zeros(5, 1), torch.ones(30, 4)])
def test_nodes_that_are_all_alike_have_a_map(features):
    points = layout_of(features)
    assert points.shape == (len(features), 2)
    assert np.isfinite(points).all()


def test_kept_map_is_read_again(clusters, tmp_path):
    features, _ = clusters
    points = layout_of(features, tmp_path)
    file = tmp_path / LAYOUT_FILE
    content = json.loads(file.read_text())
    content["points"][0] = [0.25, 0.75]
    file.write_text(json.dumps(content))
    again = layout_of(features, tmp_path)
    assert again[0].tolist() == [0.25, 0.75]
    assert np.array_equal(again[1:], points[1:])


@pytest.mark.parametrize("damage", ["", "[]", '{"checksum": 1}', "points"])
def test_damaged_or_foreign_map_is_made_anew(clusters, tmp_path, damage):
    features, _ = clusters
    points = layout_of(features, tmp_path)
    file = tmp_path / LAYOUT_FILE
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "points": [[2, "x"]]}) if damage == "points" else damage)
    assert np.array_equal(layout_of(features, tmp_path), points)
    assert json.loads(file.read_text()) == kept


def test_other_features_have_another_map(clusters, tmp_path):
    features, _ = clusters
    first = layout_of(features, tmp_path)
    assert not np.array_equal(layout_of(features.flip(0), tmp_path), first)


def test_folder_that_cannot_be_written_has_a_map(clusters, tmp_path):
    features, _ = clusters
    assert len(layout_of(features, tmp_path / "missing")) == len(features)
    assert not (tmp_path / "missing").exists()


def test_scores_count_around_the_mean_of_their_node():
    logits, embedded = torch.randn(20, 3), torch.randn(20, 5)
    moved = shown_features(logits + torch.randn(20, 1), embedded)
    assert torch.allclose(moved, shown_features(logits, embedded), atol=1e-5)
