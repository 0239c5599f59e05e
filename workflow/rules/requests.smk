# What jobs ask a scheduler for: a GPU, memory and minutes (pairtile.runtime.requests).
from pairtile.runtime.requests import (
    START_BYTES,
    aws_memory_mb,
    data_bytes,
    file_bytes,
    mask_bytes,
    memory_mb,
    minutes,
    read_requests,
)


def asks(memory, seconds, least=15, gpu=None):
    """The resources of a rule, by name; a request that is None is not made.

    ``memory`` and ``seconds`` are functions of the wildcards and the input; both requests grow with
    each attempt. Some executors have names of their own for the same.
    """

    def mem_mb(wildcards, input, attempt, threads):
        asked = memory_mb(memory(wildcards, input), attempt)
        return aws_memory_mb(asked, threads) if submits_through("aws-batch") else asked

    def runtime(wildcards, input, attempt):
        return minutes(seconds(wildcards, input), attempt, least)

    def googlebatch_memory(wildcards, input, attempt, threads):
        if submits_through("googlebatch"):
            return mem_mb(wildcards, input, attempt, threads)

    def googlebatch_cpu_milli(wildcards, threads):
        if submits_through("googlebatch"):
            return 1000 * threads

    def googlebatch_max_run_duration(wildcards, input, attempt):
        if submits_through("googlebatch"):
            return f"{60 * runtime(wildcards, input, attempt)}s"

    def nvidia_gpu(wildcards, input):
        return gpu(wildcards, input) if submits_through("googlebatch") else None

    def _gpus(wildcards, input):
        return gpu(wildcards, input) if submits_through("aws-batch") else None

    def ngpus(wildcards, input):
        if submits_through("cluster-generic"):
            return (gpu(wildcards, input) if gpu else None) or 0

    def walltime_seconds(wildcards, input, attempt):
        if submits_through("cluster-generic"):
            return 60 * runtime(wildcards, input, attempt)

    asked = [mem_mb, runtime, ngpus, walltime_seconds]
    asked += [googlebatch_memory, googlebatch_cpu_milli, googlebatch_max_run_duration]
    if gpu is not None:
        asked += [nvidia_gpu, _gpus]
    named = {function.__name__: function for function in asked}
    return named if gpu is None else named | {"gpu": gpu}


def submits_through(executor):
    """Whether this run hands its jobs to an executor of that name."""
    plugin = workflow.executor_plugin
    return plugin is not None and plugin.name == executor


def tiles_memory(wildcards, input):
    """Of a job that computes tiles."""
    plan = read_requests(input.plan)
    return plan.memory_bytes if plan else START_BYTES


def tiles_seconds(wildcards, input):
    """Of one chunk; of the longest job of its kind for the null, which is as long at most."""
    plan = read_requests(input.plan)
    if plan is None:
        return 0
    chunk = wildcards.get("chunk")
    return plan.chunk_seconds(chunk) if chunk else plan.longest_chunk_seconds


def bootstrap_seconds(wildcards, input):
    plan = read_requests(input.plan)
    first, last = int(wildcards.first), int(wildcards.last)
    return plan.bootstrap_seconds(first, last) if plan else 0


def merge_memory(wildcards, input):
    """One band of tiles, while it is sorted, with what the table's writer holds."""
    plan = read_requests(input.plan)
    share = plan.band_share if plan else 1
    rows = data_bytes(input.chunks) + mask_bytes(input.chunks, whole=True)
    return 1.5 * START_BYTES + 4 * share * rows


def network_memory(wildcards, input):
    """All stored pairs, or what a tile takes: the null of a network is computed like tiles."""
    stored = data_bytes(input.pairs) + data_bytes(input.bootstraps)
    masks = mask_bytes(input.pairs)
    read = file_bytes(input.state) + file_bytes(paths_named(input, "network_data"))
    whole = START_BYTES + 3 * read + 20 * stored + 2 * masks
    return max(tiles_memory(wildcards, input), whole)


def data_memory(times):
    """So many times the unpacked input; a state is mapped, not read into objects."""

    def memory(wildcards, input):
        state = paths_named(input, "state")
        read = [path for path in input if path not in state]
        masks = 2 * mask_bytes(read)
        return START_BYTES + times * data_bytes(read) + masks + 3 * file_bytes(state)

    return memory


def report_memory(wildcards, input):
    """What is read whole, the network first; of tables, however large, the page shows parts."""
    state, tables = paths_named(input, "state"), paths_named(input, "tables")
    whole = [path for path in input if path not in [*state, *tables]]
    read = 10 * data_bytes(whole) + 2 * mask_bytes(whole) + 3 * file_bytes(state)
    return START_BYTES + read + min(START_BYTES, 10 * data_bytes(tables))


# Of the network in memory: GEXF and CX2 are made of an object for each edge, others in parts.
EXPORT_TIMES = {"gexf": 110, "cx2": 40}


def export_memory(wildcards, input):
    times = EXPORT_TIMES.get(wildcards.suffix, 15)
    return (
        START_BYTES
        + times * data_bytes(input.network)
        + 10 * data_bytes(input.items_table)
    )


def paths_named(input, name):
    """The paths of an input; Snakemake gives a single one as a string."""
    paths = input.get(name) or []
    return [paths] if isinstance(paths, str) else list(paths)


def data_seconds(bytes_a_second):
    """The time to work through the input at such a rate."""
    return lambda wildcards, input: file_bytes(input) / bytes_a_second
