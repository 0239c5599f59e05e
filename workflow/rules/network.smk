# Significance, DPI, consensus, and all that comes after: tables, evaluation, stages. One job for each
# analysis, which does those steps that are not done: what a setting does not touch stays as it is.
# The outputs of a rule are fixed, so that there is one rule (network, network_2, ...) for each set of
# analyses with the same ones. A table that no rule names would not come back from a storage provider,
# nor be made again where it was removed, nor could it be asked for by its path.
def network_rules():
    """Files and steps of the jobs -> the analyses that have these."""
    found = {}
    for name in LARGE:
        steps = network_steps(analysis_run(name))
        written = ResultFiles(ANALYSIS, LARGE[name]).after_merge(
            [s.name for s in steps]
        )
        found.setdefault((*map(tuple, written), steps), []).append(name)
    return found


def network_files(wildcards):
    """What the steps of a job read beside the merged pairs."""
    name = wildcards.analysis
    steps = [step.name for step in network_steps(analysis_run(name))]
    # The values that follow the network are prepared from the same files.
    steps = ["prepare" if step == "values" else step for step in steps]
    found = {
        key: path
        for step in steps
        for key, path in input_files(step)(wildcards).items()
    }
    return found | {
        "others": [f"{CONFIG.results}/{path}" for path in read_of_others(LARGE[name])]
    }


def settings_of_network(wildcards):
    """As ``settings_for``, of all steps of a job."""
    steps = network_steps(analysis_run(wildcards.analysis))
    return repr([settings_for(step.name)(wildcards) for step in steps])


NETWORK_RULES = {}
for NUMBER, ((FILES, FOLDERS, NETWORK_STEPS), NAMES) in enumerate(
    network_rules().items()
):
    RULE = f"network_{NUMBER + 1}" if NUMBER else "network"
    NETWORK_RULES |= dict.fromkeys(NAMES, RULE)

    # A checkpoint, since exports may wait for the number of edges.
    checkpoint:
        name:
            RULE
        input:
            unpack(network_files),
            plan=f"{ANALYSIS}/plan.json",
            state=f"{ANALYSIS}/state",
            items_table=f"{ANALYSIS}/items.parquet",
            null=planned_files("optional", "null.npz"),
            pairs=f"{ANALYSIS}/pairs.parquet",
            summaries=f"{ANALYSIS}/chunks.npz",
            scan=planned_files("optional", "scan.npz"),
            bootstraps=planned_files("bootstraps"),
            network_data=analysis_files("optional", "network_data.npz"),
            records=planned_files("records_of_scores"),
        output:
            network=internals.kept(f"{ANALYSIS}/network.parquet"),
            record=f"{STEPS}/network.json",
            more=FILES,
            folders=[directory(folder) for folder in FOLDERS],
        log:
            f"{LOGS}/network_job.log",
        wildcard_constraints:
            analysis="|".join(map(re.escape, NAMES)),
        conda:
            ENVIRONMENT
        threads: data_threads
        resources:
            **job_resources(
                network_memory,
                data_seconds(1e6),
                least=60 * len(NETWORK_STEPS),
                gpu=network_gpus,
            ),
        params:
            work=work_of(*NETWORK_STEPS, what_is_missing=True),
            settings=settings_of_network,
        message:
            "{wildcards.analysis}: choose the pairs of the network, and what follows"
        script:
            "../../scripts/step.py"
