"""Errors, files, locks and progress: what every room may use."""
