"""The report of one data set of the user: which model won, how sure that is, what it does, and how to use it."""
