"""Serving: the model that answers raw rows, its files, and the HTTP server in front of it."""
