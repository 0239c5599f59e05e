"""``make bench``: every benchmark on the backend at hand, written to benchmarks/results/."""

from __future__ import annotations

import argparse
import json

from pairtile.gpu.device import choose

from benchmarks import (
    bench_calls,
    bench_downstream,
    bench_dpi,
    bench_eigenvalues,
    bench_mirna_targets,
    bench_mutual_information,
    bench_pair_mixtures,
    bench_plain_correlation,
    bench_predictor_pairs,
    bench_scaling,
    bench_small_runs,
    bench_trajectory_correlation,
    bench_workflow,
)
from benchmarks.machine import write

# Table sizes of the workflow benchmark: genes, samples, null draws.
WORKFLOWS = {
    "cpu": [(4218, 266, 1e6)],
    "cuda": [(20_000, 1000, 1e7), (15_575, 3137, 1e7)],
}


def main() -> None:
    """Run all, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="such as dpi (default: all)")
    parser.add_argument("--backend", choices=["auto", "cpu", "cuda"], default="auto")
    args = parser.parse_args()
    backend = choose(args.backend).backend
    benchmarks = {
        "mutual_information": lambda: bench_mutual_information.run(backend),
        "calls": lambda: bench_calls.run(backend),
        "dpi": lambda: bench_dpi.run(backend),
        "pair_mixtures": lambda: bench_pair_mixtures.run(backend),
        "predictor_pairs": lambda: bench_predictor_pairs.run(backend),
        "mirna_targets": lambda: bench_mirna_targets.run(backend),
        "workflow_predictor_pairs": lambda: bench_workflow.run_predictor_pairs(backend),
        "workflow_mirna_targets": lambda: bench_workflow.run_mirna_targets(backend),
        "trajectory_correlation": lambda: bench_trajectory_correlation.run(backend),
        "workflow_mirna_genome": lambda: bench_workflow.run_mirna_genome(backend),
        "workflow_trajectory_correlation": lambda: bench_workflow.run_trajectory_correlation(
            backend
        ),
        "plain_correlation": lambda: bench_plain_correlation.run(backend),
        "scaling": bench_scaling.run,
        "small_runs": bench_small_runs.run,
        "downstream": lambda: bench_downstream.run(backend),
        "eigenvalues": lambda: bench_eigenvalues.run(backend),
        "workflow": lambda: {
            f"{genes} genes x {samples} samples": bench_workflow.run(genes, samples, backend, draws)
            for genes, samples, draws in WORKFLOWS[backend]
        },
    }
    for name in args.names or benchmarks:
        results = benchmarks[name]()
        print(name, json.dumps(results, indent=1), flush=True)
        print(write(name, backend, results), flush=True)


if __name__ == "__main__":
    main()
