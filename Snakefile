# Entry for `snakemake --cores N` in a checkout; the workflow itself is workflow/Snakefile.
# (Snakemake takes no default target from an included file, hence the rule below.)
include: "workflow/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
