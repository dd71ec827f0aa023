"""From a raw cell to a number, the same way in training, scoring and serving."""
