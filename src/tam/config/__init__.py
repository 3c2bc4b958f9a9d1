"""What determines a run: its config, the settings of each method, and the presets. Imports nothing heavy."""
