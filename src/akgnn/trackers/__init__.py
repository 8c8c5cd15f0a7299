"""Other programs' views of a training: TensorBoard and MLflow, in local folders only."""
