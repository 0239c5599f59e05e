"""What follows the network: comparisons of groups of samples, modules, traits, gene sets, activity.

A stage is a module here with a function ``run``, from what the analysis has so far (``Given``) to
files in its folder, and, where it looks at its keys before anything is scored, a function
``validate(config, items)``. ``pairtile.config.downstream`` says which stages there are.
"""
