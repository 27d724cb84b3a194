"""Training and serving frameworks: DeepSpeed, Megatron, Lightning, Ray, vLLM, JAX, TensorFlow, MPI, Horovod."""
