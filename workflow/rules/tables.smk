# Tables that a method has beside the network: one rule for each such method of the run.
for METHOD, TABLES in method_tables().items():

    rule:
        name:
            f"tables_{METHOD}"
        input:
            plan=f"{ANALYSIS}/plan.json",
            state=f"{ANALYSIS}/state",
            items_table=f"{ANALYSIS}/items.parquet",
            null=f"{ANALYSIS}/null.npz",
            pairs=f"{ANALYSIS}/pairs.parquet",
            summaries=f"{ANALYSIS}/chunks.npz",
            inputs=table_inputs,
        output:
            tables=[f"{ANALYSIS}/{table}" for table in TABLES],
            record=f"{STEPS}/tables.json",
        log:
            f"{LOGS}/tables.log",
        wildcard_constraints:
            analysis=analyses_of(METHOD),
        conda:
            ENVIRONMENT
        threads: all_cores
        params:
            section=section_for("tables"),
        message:
            "{wildcards.analysis}: write the tables"
        script:
            "../../scripts/tables.py"
