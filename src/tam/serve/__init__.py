"""How do others use a trained model? Over HTTP, with many requests answered together."""
