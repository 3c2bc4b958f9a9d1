"""The configuration of a run: config, method settings and presets. Imports nothing heavy."""
