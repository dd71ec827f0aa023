"""Private parts of other libraries that we depend on: one module per library, each with its reason and a test."""
