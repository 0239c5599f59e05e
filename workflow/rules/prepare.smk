# From input files to what is paired: download, prepare, and what the network alone needs.
rule download:
    output:
        file=f"{CONFIG.results}/.downloads/{{checksum}}/{{file}}",
    log:
        f"{CONFIG.results}/.downloads/{{checksum}}/{{file}}.log",
    wildcard_constraints:
        checksum="(sha256|md5)-[0-9a-f]+",
        file="|".join(re.escape(os.path.basename(path)) for path in DOWNLOADS) or "none",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        address=lambda wildcards: downloaded_from(wildcards),
        checksum=lambda wildcards: CONFIG.checksums[downloaded_from(wildcards)],
    message:
        "download {params.address}"
    script:
        "../../scripts/download.py"


rule prepare:
    input:
        unpack(input_files("prepare")),
    output:
        items_table=f"{ANALYSIS}/items.parquet",
        state=directory(f"{ANALYSIS}/state"),
        record=f"{STEPS}/prepare.json",
    log:
        f"{LOGS}/prepare.log",
    priority: 100  # a fault in the input of any analysis shows before one is scored
    conda:
        ENVIRONMENT
    threads: data_threads
    resources:
        **job_resources(data_memory(8), data_seconds(10e6), least=60),
    params:
        work=work_of(Step("prepare")),
        settings=settings_for("prepare"),
        seed=preparation_seed,
        version=VERSION,
    message:
        "{wildcards.analysis}: read and clean the input"
    script:
        "../../scripts/step.py"


# What an analysis reads for its network and tables alone (which residues touch). A rule of its own,
# since a change of it must neither prepare nor score again, and before the plan, so that a fault of
# its files is found before anything is scored.
rule network_data:
    input:
        unpack(input_files("prepare")),
        items_table=f"{ANALYSIS}/items.parquet",
    output:
        network_data=f"{ANALYSIS}/network_data.npz",
        record=f"{STEPS}/network_data.json",
    log:
        f"{LOGS}/network_data.log",
    priority: 100
    conda:
        ENVIRONMENT
    threads: all_cores
    resources:
        **job_resources(data_memory(8), data_seconds(10e6), least=60),
    params:
        work=work_of(Step("network_data")),
        settings=settings_for("network_data"),
        version=VERSION,
    message:
        "{wildcards.analysis}: read what the network needs"
    script:
        "../../scripts/step.py"
