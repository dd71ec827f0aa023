"""The metrics: what each one measures, what it needs of a model, and how it is shown."""
