"""Running the fits of a data set: the plan, the pools of workers, the store of finished work, and the results."""
