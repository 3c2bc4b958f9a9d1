"""The runs behind the published results: the list of jobs, and the runner."""
