"""Does learning λ help? Twenty seeds with and without, side by side, and what they carry.

Run: python examples/many_seeds.py [EPOCHS [SEEDS]]
"""

import sys

import torch

import akgnn
from akgnn.experiments.statistics import compare_paired, summarise

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
seeds = range(int(sys.argv[2]) if len(sys.argv) > 2 else 20)

data = akgnn.load_dataset("cora")
scores = {}
for learns in (True, False):
    models = [
        akgnn.AKGNN(
            data.num_features,
            64,
            data.num_classes,
            learn_lambda=learns,
            generator=torch.Generator().manual_seed(seed),
        )
        for seed in seeds
    ]
    # Each ends as it would alone; a seed whose loss is no longer a number gives an error instead.
    outcomes = akgnn.fit_many(models, data, akgnn.TrainSettings(epochs=epochs), seeds=seeds)
    scores[learns] = {
        seed: outcome.test_accuracy
        for seed, outcome in zip(seeds, outcomes, strict=True)
        if isinstance(outcome, akgnn.FitResult)
    }
    summary = summarise(list(scores[learns].values()))
    low, high = summary.ci95
    name = "λ learned" if learns else "λ = 2    "
    print(f"{name}  {summary.mean:.2f} ± {summary.std:.2f} %, interval {low:.2f} to {high:.2f}")

# The same seed has the same initial weights and masks in both, and only the kernel differs, so the
# runs are pairs; for two different models it would be `compare_unpaired`.
result = compare_paired(scores[True], scores[False])
low, high = result.ci95
print(f"difference {result.difference:+.2f} points, 95 % interval {low:+.2f} to {high:+.2f}")
print(f"paired t-test p = {result.t_test:.2g}, Wilcoxon p = {result.rank_test:.2g}")
