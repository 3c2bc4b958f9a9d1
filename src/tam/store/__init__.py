"""Learned tasks in one SQLite file, by name, with the examples they were learned from."""
