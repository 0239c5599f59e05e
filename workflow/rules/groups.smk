# Analyses with split_by: what the networks of their groups share. The groups themselves are
# analyses like any other (pairtile.steps.split).
from pairtile.config.downstream import GROUP_TABLES

for NUMBER, (NAME, SPLIT) in enumerate(CONFIG.splits.items()):

    rule:
        name:
            f"groups_{NUMBER + 1}"
        input:
            networks=of_groups(SPLIT, "network.parquet"),
            items_tables=of_groups(SPLIT, "items.parquet"),
            prepared=of_groups(SPLIT, "values"),
            summaries=of_groups(SPLIT, "summary.json"),
        output:
            tables=[f"{CONFIG.results}/{NAME}/{table}" for table in GROUP_TABLES],
            summary=f"{CONFIG.results}/{NAME}/summary.json",
            page=report(
                f"{CONFIG.results}/{NAME}/report.html",
                caption="../report/page.rst",
                category=NAME,
            ),
            figures=directory(f"{CONFIG.results}/{NAME}/figures"),
            record=f"{CONFIG.results}/{NAME}/steps/groups.json",
        log:
            f"{CONFIG.results}/{NAME}/logs/groups.log",
        conda:
            ENVIRONMENT
        threads: data_threads
        resources:
            **job_resources(data_memory(10), data_seconds(1e6), least=60),
        params:
            analysis_name=NAME,
            split=Deferred(SPLIT),
            analysis=Deferred(CONFIG.analyses[next(iter(SPLIT.groups))]),
            settings=repr(SPLIT),
            seed=CONFIG.seed,
        message:
            f"{NAME}: what its groups share"
        script:
            "../../scripts/groups.py"
