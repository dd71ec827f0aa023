"""Training on more rows than memory holds: one pass for a summary and a sample, further passes to descend."""
