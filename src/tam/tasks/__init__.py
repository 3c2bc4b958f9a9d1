"""What is learned: tasks, task sets, and the benchmarks that generate them."""
