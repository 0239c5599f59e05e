# What an analysis reads for its network and tables alone (which residues touch). No score depends on
# it, so that a change of it neither prepares nor scores again. A checkpoint, as the plan: nothing is
# scored before all are done (``planned``), so that a fault of its files is found early.
checkpoint network_data:
    input:
        unpack(input_files("prepare")),
        items_table=f"{ANALYSIS}/items.parquet",
    output:
        network_data=f"{ANALYSIS}/network_data.npz",
        record=f"{STEPS}/network_data.json",
    log:
        f"{LOGS}/network_data.log",
    priority: 100
    conda:
        ENVIRONMENT
    threads: all_cores
    resources:
        **job_resources(data_memory(8), data_seconds(10e6), least=60),
    params:
        work=work_of(Step("network_data")),
        settings=settings_for("network_data"),
        version=VERSION,
    message:
        "{wildcards.analysis}: read what the network needs"
    script:
        "../../scripts/step.py"
