"""Use a trained model: fit, adapt, predict, save, load."""
