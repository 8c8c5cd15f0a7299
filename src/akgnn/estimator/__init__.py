"""`AKGNNClassifier`: node classification by scikit-learn's rules."""
