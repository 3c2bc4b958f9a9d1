"""Tasks, task sets, and the benchmarks that generate them."""
