"""Where a data set can come from, one file a source. Each returns a frame: features in order, the target last."""
