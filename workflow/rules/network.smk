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
        **asks(tiles_memory, bootstrap_seconds, least=30, gpu=gpus),
    params:
        analysis=analysis_for("network"),
        settings=settings_for("network"),
    message:
        "{wildcards.analysis}: bootstraps {wildcards.first} to {wildcards.last}"
    script:
        "../../scripts/bootstrap.py"


checkpoint network:
    input:
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
        items_table=f"{ANALYSIS}/items.parquet",
        null=planned("null"),
        pairs=f"{ANALYSIS}/pairs.parquet",
        summaries=f"{ANALYSIS}/chunks.npz",
        scan=planned("scan"),
        bootstraps=planned("bootstraps"),
        network_data=the("network_data"),
        inputs=later_inputs("network"),
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
        **asks(network_memory, data_seconds(1e6), least=60, gpu=network_gpus),
    params:
        analysis=analysis_for("network"),
        settings=settings_for("network"),
    message:
        "{wildcards.analysis}: choose the pairs of the network"
    script:
        "../../scripts/network.py"


rule evaluate:
    input:
        state=f"{ANALYSIS}/state",
        items_table=f"{ANALYSIS}/items.parquet",
        pairs=f"{ANALYSIS}/pairs.parquet",
        scan=planned("scan"),
        network=f"{ANALYSIS}/network.parquet",
        scores=f"{ANALYSIS}/scores.npz",
        gold_standard=gold_standard_file,
    output:
        evaluation=f"{ANALYSIS}/evaluation.json",
        record=f"{STEPS}/evaluate.json",
    log:
        f"{LOGS}/evaluate.log",
    conda:
        ENVIRONMENT
    resources:
        **asks(data_memory(10), data_seconds(1e6), least=30),
    params:
        analysis=analysis_for("evaluate"),
        settings=settings_for("evaluate"),
    message:
        "{wildcards.analysis}: compare with the gold standard"
    script:
        "../../scripts/evaluate.py"
