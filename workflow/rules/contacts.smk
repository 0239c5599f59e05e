# Which items touch, where an analysis makes its network of those alone. No score depends on it, so
# that another `contacts` reads the trajectories again, and neither prepares nor scores. Its priority
# puts it before the plan, as that of `check_inputs`.
rule contacts:
    input:
        unpack(input_files),
        items_table=f"{ANALYSIS}/items.parquet",
    output:
        contacts=f"{ANALYSIS}/contacts.npz",
        record=f"{STEPS}/contacts.json",
    log:
        f"{LOGS}/contacts.log",
    benchmark:
        f"{LOGS}/contacts.benchmark.tsv"
    priority: 100
    conda:
        ENVIRONMENT
    resources:
        **asks(data_memory(8), data_seconds(10e6), least=60),
    params:
        section=section_for("contacts"),
        version=VERSION,
    message:
        "{wildcards.analysis}: find what touches"
    script:
        "../../scripts/contacts.py"
