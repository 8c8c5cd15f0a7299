"""Train AKGNN on Cora, and look at what its layers learned.

Run: python examples/quickstart.py [EPOCHS]
"""

import sys

import torch

import akgnn

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 500

data = akgnn.load_dataset("cora")
print(data)

torch.manual_seed(0)
model = akgnn.AKGNN(data.num_features, 64, data.num_classes, num_layers=5)
result = akgnn.fit(model, data, akgnn.TrainSettings(epochs=epochs))
print(f"test accuracy {result.test_accuracy:.1f} %, epoch {result.best_epoch} of {result.epochs}")

# λ = 2 weighs a node as one of its neighbours; higher keeps more of its own signal.
for layer, value in enumerate(result.lambda_max, start=1):
    print(f"layer {layer}: λ = {value:.2f} {'█' * round(10 * (value - 1))}")

# The best weights are in the model now.
logits = model.eval()(data.x, data.graph)
for node in range(5):
    name = data.class_names[int(logits[node].argmax())]
    print(f"node {node}: predicted {name}, labelled {data.class_names[int(data.y[node])]}")
