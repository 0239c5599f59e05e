rule prepare:
    input:
        unpack(input_files),
    output:
        items_table=f"{ANALYSIS}/items.parquet",
        state=directory(f"{ANALYSIS}/state"),
        record=f"{STEPS}/prepare.json",
    log:
        f"{LOGS}/prepare.log",
    benchmark:
        f"{LOGS}/prepare.benchmark.tsv"
    conda:
        ENVIRONMENT
    threads: all_cores
    resources:
        **asks(data_memory(8), data_seconds(10e6), least=60),
    params:
        analysis=analysis_for("prepare"),
        settings=settings_for("prepare"),
        seed=preparation_seed,
        version=VERSION,
    message:
        "{wildcards.analysis}: read and clean the input"
    script:
        "../../scripts/prepare.py"


# What only later steps read is looked at before hours of scoring. Its priority puts it before the
# plan: a fault ends the run there, or with keep-going (profiles/default) is reported there, while the
# scores, which do not depend on it, are made.
rule check_inputs:
    input:
        unpack(all_later_inputs),
        items_table=f"{ANALYSIS}/items.parquet",
        state=f"{ANALYSIS}/state",
    output:
        record=f"{STEPS}/check_inputs.json",
    log:
        f"{LOGS}/check_inputs.log",
    priority: 100
    conda:
        ENVIRONMENT
    resources:
        **asks(data_memory(8), data_seconds(10e6), least=30),
    params:
        analysis=lambda wildcards: CONFIG.analyses[wildcards.analysis].inputs_to_check(),
        settings=lambda wildcards: repr(
            CONFIG.analyses[wildcards.analysis].inputs_to_check()
        ),
    message:
        "{wildcards.analysis}: look through what later steps read"
    script:
        "../../scripts/check_inputs.py"
