"""The MLflow model registry: the final model of a data set, its versions, and the rule that picks the champion."""
