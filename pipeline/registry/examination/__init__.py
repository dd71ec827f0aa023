"""A closer look at the model that was selected for a data set, on rows that it has not seen."""
