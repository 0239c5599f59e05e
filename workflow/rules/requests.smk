# What jobs ask a scheduler for: a GPU, memory and minutes (pairtile.runtime.requests).
from pairtile.runtime import requests
from pairtile.runtime.requests import read_requests


def job_resources(memory, seconds, least=15, gpu=None):
    """The resources of a rule, by name; a request that is None is not made.

    ``memory`` and ``seconds`` are functions of the wildcards and the input; both requests grow with
    each attempt. Some executors have names of their own for the same.
    """

    def mem_mb(wildcards, input, attempt, threads):
        asked = requests.memory_mb(memory(wildcards, input), attempt)
        return (
            requests.aws_memory_mb(asked, threads)
            if submits_through("aws-batch")
            else asked
        )

    def runtime(wildcards, input, attempt):
        return requests.minutes(seconds(wildcards, input), attempt, least)

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
    return internals.executor_name(workflow) == executor


def tiles_memory(wildcards, input):
    return requests.tiles_bytes(read_requests(input.plan), wildcards.get("chunk"))


def tiles_seconds(wildcards, input):
    """Of the rules ``chunk`` and ``null``; the second has no chunk."""
    return requests.tiles_seconds(read_requests(input.plan), wildcards.get("chunk"))


def bootstrap_seconds(wildcards, input):
    first, last = int(wildcards.first), int(wildcards.last)
    return requests.bootstrap_seconds(read_requests(input.plan), first, last)


def merge_memory(wildcards, input):
    return requests.merge_bytes(read_requests(input.plan), input.chunks)


def network_memory(wildcards, input):
    """Of the network, or of what follows it, which reads the values and the network."""
    named = input.pairs, input.bootstraps, input.state, input.network_data
    times = CONFIG.analyses[wildcards.analysis].network_memory_factor
    network = requests.network_bytes(read_requests(input.plan), *named, times)
    return max(network, data_memory(10)(wildcards, input))


def data_memory(times):
    """So many times the unpacked input, and the state."""
    return lambda wildcards, input: requests.input_bytes(
        times, without(input, "state"), input.get("state") or []
    )


def report_memory(wildcards, input):
    whole = without(input, "state", "tables")
    return requests.report_bytes(whole, input.state, input.tables)


def export_memory(wildcards, input):
    return requests.export_bytes(wildcards.suffix, input.network, input.items_table)


def data_seconds(bytes_a_second):
    """The time to work through the input at such a rate."""
    return lambda wildcards, input: requests.file_bytes(input) / bytes_a_second


def without(input, *names):
    """The paths of an input but those of some names; Snakemake gives a single one as a string."""
    named = [input.get(name) or [] for name in names]
    left_out = {
        path
        for paths in named
        for path in ([paths] if isinstance(paths, str) else paths)
    }
    return [path for path in input if path not in left_out]
