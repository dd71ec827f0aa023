"""Tools of the maintainers. They know the repository, and import neither `ldep` nor `pipeline`."""
