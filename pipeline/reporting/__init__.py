"""What the report is made of. It takes one tidy table of results, and knows nothing of how that was made."""
