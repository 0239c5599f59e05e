"""The configuration: typed, described, checked before any job starts.

``load.load_config`` gives a ``root.Config``; ``load.check_inputs_exist`` looks for the files that
it names. Needs pydantic only, since Snakemake loads it at each start. Nothing is imported here:
``root`` asks every method for its model, and these models start from modules of this package.
"""
