# File names are network.<format>, but for two formats whose suffix says what the file is.
SUFFIX = {"adjacency": "npz", "regulon": "regulon.tsv"}
FORMAT = {suffix: name for name, suffix in SUFFIX.items()}


def export_files(analysis):
    """The files of the formats that an analysis asks for."""
    return [
        f"{CONFIG.results}/{analysis}/network.{SUFFIX.get(name, name)}"
        for name in SECTIONS[analysis]["export"]
    ]


rule export:
    input:
        network=f"{ANALYSIS}/network.parquet",
        items_table=f"{ANALYSIS}/items.parquet",
        network_record=f"{STEPS}/network.json",
    output:
        file=report(
            f"{ANALYSIS}/network.{{suffix}}",
            caption="../report/network.rst",
            category="{analysis}",
        ),
    log:
        f"{LOGS}/export.{{suffix}}.log",
    params:
        format=lambda wildcards: FORMAT.get(wildcards.suffix, wildcards.suffix),
    wildcard_constraints:
        suffix=r"(?!parquet$)[a-z0-9]+(\.tsv)?",
    conda:
        ENVIRONMENT
    message:
        "{wildcards.analysis}: write network.{wildcards.suffix}"
    script:
        "../../scripts/export.py"
