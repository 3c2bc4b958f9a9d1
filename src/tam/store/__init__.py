"""Where are learned tasks kept? In one SQLite file, by name, with the examples they were learned from."""
