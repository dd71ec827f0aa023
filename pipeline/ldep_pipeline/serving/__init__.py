"""The served model: what it answers, its files, and the training profile that describes it."""
