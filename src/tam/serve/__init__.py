"""Trained models over HTTP, with many requests answered together."""
