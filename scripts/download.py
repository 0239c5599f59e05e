"""Rule download: an input file from a web server (pairtile.steps.download)."""

from pairtile.runtime.job import job

with job(snakemake):
    from pathlib import Path

    from pairtile.steps.download import download

    download(
        address=snakemake.params.address,
        checksum=snakemake.params.checksum,
        out=Path(snakemake.output.file),
    )
