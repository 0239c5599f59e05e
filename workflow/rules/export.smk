rule export:
    input:
        network=f"{ANALYSIS}/network.parquet",
        items_table=f"{ANALYSIS}/items.parquet",
        network_record=f"{STEPS}/network.json",
        node_tables=analysis_files("node_tables"),
        # It holds their checksums.
        tables_record=analysis_files("tables_record"),
    output:
        file=report(
            f"{ANALYSIS}/network.{{suffix}}",
            caption="../report/network.rst",
            category="{analysis}",
        ),
        record=f"{STEPS}/export.{{suffix}}.json",
    log:
        f"{LOGS}/export.{{suffix}}.log",
    wildcard_constraints:
        # Methods have tables of such names, too; rule network makes the Parquet file.
        suffix="|".join(
            re.escape(suffix) for suffix in FORMAT_OF_SUFFIX if suffix != "parquet"
        ),
    conda:
        ENVIRONMENT
    resources:
        **job_resources(export_memory, data_seconds(0.2e6), least=30),
    params:
        work=work_of(Step("export"), wildcards=["suffix"]),
        method=lambda wildcards: CONFIG.analyses[wildcards.analysis].method,
        tables=lambda wildcards: CONFIG.analyses[wildcards.analysis].result_tables(),
    message:
        "{wildcards.analysis}: write network.{wildcards.suffix}"
    script:
        "../../scripts/step.py"
