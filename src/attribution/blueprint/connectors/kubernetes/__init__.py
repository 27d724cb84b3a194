"""One client of Kubernetes, by `kubectl` or by its API, and what its objects say."""
