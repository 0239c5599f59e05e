# Significance, DPI, consensus and evaluation.
rule bootstrap:
    input:
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
    output:
        edges=f"{ANALYSIS}/bootstraps/{{first,\\d+}}-{{last,\\d+}}.parquet",
    log:
        f"{LOGS}/bootstraps/{{first}}-{{last}}.log",
    conda:
        ENVIRONMENT
    threads: compute_threads
    resources:
        **job_resources(tiles_memory, bootstrap_seconds, least=30, gpu=gpus),
    params:
        work=work_of(Step("bootstrap"), wildcards=["first", "last"]),
        settings=settings_for("network"),
    message:
        "{wildcards.analysis}: bootstraps {wildcards.first} to {wildcards.last}"
    script:
        "../../scripts/step.py"


checkpoint network:
    input:
        unpack(input_files("network")),
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
        items_table=f"{ANALYSIS}/items.parquet",
        null=planned_files("null"),
        pairs=f"{ANALYSIS}/pairs.parquet",
        summaries=f"{ANALYSIS}/chunks.npz",
        scan=planned_files("scan"),
        bootstraps=planned_files("bootstraps"),
        network_data=analysis_files("network_data"),
    output:
        network=f"{ANALYSIS}/network.parquet",
        scores=f"{ANALYSIS}/scores.npz",
        record=f"{STEPS}/network.json",
    log:
        f"{LOGS}/network.log",
    conda:
        ENVIRONMENT
    threads: data_threads
    resources:
        **job_resources(network_memory, data_seconds(1e6), least=60, gpu=network_gpus),
    params:
        work=work_of(Step("network")),
        settings=settings_for("network"),
    message:
        "{wildcards.analysis}: choose the pairs of the network"
    script:
        "../../scripts/step.py"


rule evaluate:
    input:
        unpack(input_files("evaluate")),
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
        items_table=f"{ANALYSIS}/items.parquet",
        pairs=f"{ANALYSIS}/pairs.parquet",
        scan=planned_files("scan"),
        network=f"{ANALYSIS}/network.parquet",
        scores=f"{ANALYSIS}/scores.npz",
    output:
        evaluation=f"{ANALYSIS}/evaluation.json",
        record=f"{STEPS}/evaluate.json",
    log:
        f"{LOGS}/evaluate.log",
    conda:
        ENVIRONMENT
    resources:
        **job_resources(data_memory(10), data_seconds(1e6), least=30),
    params:
        work=work_of(Step("evaluate")),
        settings=settings_for("evaluate"),
    message:
        "{wildcards.analysis}: compare with the gold standard"
    script:
        "../../scripts/step.py"
