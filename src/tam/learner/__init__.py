"""How a trained model is used: fit, adapt, predict, save, load."""
