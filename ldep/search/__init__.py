"""The search of `LDEPClassifierCV`, and the vote of the models that it selects.

`plan` decides which settings are tried, `splits` on which rows, `cross_validation` fits them along an `alpha_path`, and
`out_of_fold` scores them for `cv_results`. `selection` weighs the models, `votes` averages them, `class_probability`
turns votes into probabilities, and `vote_explanation` into shares of the features.
"""
