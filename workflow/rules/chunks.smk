# Plan, null (where the method has one), chunks, merge and bootstraps: the same rules for every method.
# A checkpoint: how many chunks there are is known once it is done.
checkpoint plan:
    input:
        state=f"{ANALYSIS}/state",
        items_table=f"{ANALYSIS}/items.parquet",
        network_data=read_before,
    output:
        plan=f"{ANALYSIS}/plan.json",
        record=f"{STEPS}/plan.json",
    log:
        f"{LOGS}/plan.log",
    conda:
        ENVIRONMENT
    threads: plan_threads
    resources:
        **job_resources(data_memory(1), data_seconds(20e6)),
    params:
        # Not noted: another gold standard plans and scores nothing again, and a plan that was made
        # elsewhere, or for more GPUs, is gone on with.
        work=work_of(Step("plan")),
        cores=lambda wildcards: Deferred(internals.cores_given(workflow)),
        settings=settings_for("plan"),
        version=VERSION,
        backend=CONFIG.backend,
        seed=CONFIG.seed,
    message:
        "{wildcards.analysis}: plan tiles and chunks"
    script:
        "../../scripts/step.py"


rule null:
    input:
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
    output:
        null=f"{ANALYSIS}/null.npz",
        record=f"{STEPS}/null.json",
    log:
        f"{LOGS}/null.log",
    conda:
        ENVIRONMENT
    threads: null_threads
    resources:
        **job_resources(tiles_memory, tiles_seconds, gpu=gpus, least=60),
    params:
        work=work_of(Step("null")),
        settings=settings_for("score"),
    message:
        "{wildcards.analysis}: null distribution"
    script:
        "../../scripts/step.py"


rule chunk:
    input:
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
        null=planned_files("optional", "null.npz"),
        scan=scan_of_second_pass,
    output:
        chunk=f"{ANALYSIS}/{{stage}}/{{chunk}}.parquet",
    log:
        f"{LOGS}/{{stage}}/{{chunk}}.log",
    retries: 2
    conda:
        ENVIRONMENT
    threads: compute_threads
    resources:
        **job_resources(tiles_memory, tiles_seconds, gpu=gpus),
    params:
        work=work_of(Step("chunk"), wildcards=["stage", "chunk"]),
        settings=settings_for("score"),
    message:
        "{wildcards.analysis}: {wildcards.stage} {wildcards.chunk}"
    script:
        "../../scripts/step.py"


# Chunks that the plan keeps for the cores beside the GPUs (backend: both). They come first, since one
# that starts last would hold up the end.
use rule chunk as cpu_chunk with:
    wildcard_constraints:
        chunk=r"tiles-[0-9]+-[0-9]+-cpu",
    priority: 1
    threads: cores_beside_gpus
    resources:
        **job_resources(tiles_memory, tiles_seconds),


# A rule of its own: every chunk of the second pass needs the sums of all chunks of the first.
rule merge_scan:
    input:
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
        chunks=planned_files("chunks", "scan"),
    output:
        summaries=f"{ANALYSIS}/scan.npz",
        record=f"{STEPS}/merge_scan.json",
    log:
        f"{LOGS}/merge_scan.log",
    conda:
        ENVIRONMENT
    threads: data_threads
    resources:
        **job_resources(merge_memory, data_seconds(20e6), least=30),
    params:
        work=work_of(Step("merge_scan", ("scan",), "merge")),
        settings=settings_for("score"),
    message:
        "{wildcards.analysis}: add up the first pass"
    script:
        "../../scripts/step.py"


rule merge:
    input:
        plan=f"{ANALYSIS}/plan.json",
        state=f"{ANALYSIS}/state",
        null=planned_files("optional", "null.npz"),
        chunks=planned_files("chunks", "chunks"),
    output:
        pairs=f"{ANALYSIS}/pairs.parquet",
        summaries=f"{ANALYSIS}/chunks.npz",
        record=f"{STEPS}/merge.json",
    log:
        f"{LOGS}/merge.log",
    conda:
        ENVIRONMENT
    threads: data_threads
    resources:
        **job_resources(merge_memory, data_seconds(20e6), least=30),
    params:
        work=work_of(Step("merge", ("chunks",))),
        settings=settings_for("score"),
    message:
        "{wildcards.analysis}: merge the chunks"
    script:
        "../../scripts/step.py"


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
