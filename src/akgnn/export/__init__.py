"""Trained models as files that run without akgnn: programs of torch.export, and ONNX."""
