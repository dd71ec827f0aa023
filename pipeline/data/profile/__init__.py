"""A look at a table before anything is trained on it: what its columns are, and which of them look wrong."""

from pipeline.data.profile.columns import ColumnProfile
from pipeline.data.profile.files import read_profile
from pipeline.data.profile.profile import Profile, profile

__all__ = ["ColumnProfile", "Profile", "profile", "read_profile"]
