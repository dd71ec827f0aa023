"""A fitted ℓ-DEP in forms that run without Python."""
