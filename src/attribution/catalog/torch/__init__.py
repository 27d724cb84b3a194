"""Rules about PyTorch's distributed layer: process groups, stores, rendezvous and torchrun."""
