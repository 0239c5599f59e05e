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
    params:
        section=section_without(JUDGING - {"gold_standard"}, PRUNING, CUTTING),
    threads: workflow.cores
    conda:
        ENVIRONMENT
    message:
        "{wildcards.analysis}: read and clean the input"
    script:
        "../../scripts/prepare.py"
