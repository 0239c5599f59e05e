# Significance, DPI, consensus and evaluation.
def bootstrap_files(wildcards):
    return [
        f"{CONFIG.results}/{wildcards.analysis}/bootstraps/{job['first']:05d}-{job['last']:05d}.parquet"
        for job in planned(wildcards)["bootstraps"]
    ]


rule bootstrap:
    input:
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
    output:
        edges=f"{ANALYSIS}/bootstraps/{{first,\\d+}}-{{last,\\d+}}.parquet",
    log:
        f"{LOGS}/bootstraps/{{first}}-{{last}}.log",
    params:
        section=section_without(EXPORTING, {"chunks"}),
    threads: compute_threads
    resources:
        gpu=gpus,
    conda:
        ENVIRONMENT
    message:
        "{wildcards.analysis}: bootstraps {wildcards.first} to {wildcards.last}"
    script:
        "../../scripts/bootstrap.py"


rule network:
    input:
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
        items_table=f"{ANALYSIS}/items.parquet",
        null=f"{ANALYSIS}/null.npz",
        pairs=f"{ANALYSIS}/pairs.parquet",
        summaries=f"{ANALYSIS}/chunks.npz",
        scan=scan_file,
        bootstraps=bootstrap_files,
    output:
        network=f"{ANALYSIS}/network.parquet",
        scores=f"{ANALYSIS}/scores.npz",
        record=f"{STEPS}/network.json",
    log:
        f"{LOGS}/network.log",
    benchmark:
        f"{LOGS}/network.benchmark.tsv"
    params:
        section=section_without(EXPORTING, {"chunks"}),
    threads: compute_threads
    resources:
        gpu=gpus,
    conda:
        ENVIRONMENT
    message:
        "{wildcards.analysis}: significance, DPI, network"
    script:
        "../../scripts/network.py"


rule evaluate:
    input:
        state=f"{ANALYSIS}/state",
        items_table=f"{ANALYSIS}/items.parquet",
        pairs=f"{ANALYSIS}/pairs.parquet",
        scan=scan_file,
        network=f"{ANALYSIS}/network.parquet",
        gold_standard=lambda wildcards: input_files(wildcards)["gold_standard"],
    output:
        evaluation=f"{ANALYSIS}/evaluation.json",
        record=f"{STEPS}/evaluate.json",
    log:
        f"{LOGS}/evaluate.log",
    params:
        section=section_without(EXPORTING, CUTTING),
    conda:
        ENVIRONMENT
    message:
        "{wildcards.analysis}: compare with the gold standard"
    script:
        "../../scripts/evaluate.py"
