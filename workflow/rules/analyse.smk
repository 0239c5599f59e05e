# Small analyses: all their steps in one job, which leaves out what is done already. Plans, chunks
# and all other files are those of large ones.
from pairtile.runtime.requests import MAX_SMALL_JOBS, shares


def inputs_of(names):
    """An input function: the files of the configuration that some small analyses read. Whether
    their content is what results were made of was found out before (``start_run``)."""

    def files(wildcards):
        for name in names:
            internals.make_again(workflow, OTHER_SETTINGS.get(name, ()))
        paths = [path for n in names for path in SMALL[n].input_files().values()]
        return [ancient(path) if compared_by_content(path) else path for path in paths]

    return files


# Small ones are not cut: the CPU has no part of them.
ON_GPU_ALONE = CONFIG.backend in ("cuda", "both")

SHARES = shares(SMALL)
CORES = internals.cores_given(workflow)
CORES_OF_EACH = max(1, CORES // max(1, len(SHARES))) if CORES else MAX_SMALL_JOBS

for NUMBER, NAMES in enumerate(SHARES):
    AT_ONCE = 1 if ON_GPU_ALONE else min(len(NAMES), CORES_OF_EACH, MAX_SMALL_JOBS)

    rule:
        name:
            f"analyse_{NUMBER + 1}"
        input:
            inputs_of(NAMES),
        output:
            [
                internals.kept(file)
                for name in NAMES
                for file in files_of(name).outputs(name in OF_GROUPS)[0]
            ],
            [
                directory(folder)
                for name in NAMES
                for folder in files_of(name).outputs(name in OF_GROUPS)[1]
            ],
        log:
            f"{CONFIG.results}/{NAMES[0]}/logs/analyse.log",
        priority: 100
        conda:
            ENVIRONMENT
        threads: CORES_OF_EACH if CORES else AT_ONCE
        resources:
            **job_resources(
                partial(lambda n, _, input: requests.small_memory(input, n), AT_ONCE),
                partial(lambda n, *_: n * requests.SMALL_ANALYSIS_SECONDS, len(NAMES)),
                least=30,
                gpu=lambda wildcards, input: int(ON_GPU_ALONE) or None,
            ),
        params:
            work=partial(runs_of_share, NAMES),
            processes=Deferred(AT_ONCE),
        message:
            f"{NAMES[0]}{f' and {len(NAMES) - 1} more' * (len(NAMES) > 1)}: all steps"
        script:
            "../../scripts/analyse.py"
