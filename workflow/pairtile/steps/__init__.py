"""One module for each rule: reads the rule's files, calls the pure core, writes the rule's files.

``config`` is always the whole configuration with every default filled in; ``name`` is the
analysis. Scripts and tests call these functions; nothing here knows of Snakemake.
"""
