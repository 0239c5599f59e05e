# Input files of a web server, fetched once and kept by their checksum: one rule for each, as the
# path has no part that a wildcard could stand for.
for NUMBER, (DOWNLOAD, ADDRESS) in enumerate(DOWNLOADS.items(), start=1):

    rule:
        name:
            f"download_{NUMBER}"
        output:
            file=f"{CONFIG.results}/{DOWNLOAD}",
        log:
            f"{CONFIG.results}/{DOWNLOAD}.log",
        localrule: True
        conda:
            ENVIRONMENT
        params:
            address=ADDRESS,
            checksum=CONFIG.checksums[ADDRESS],
        message:
            "download {params.address}"
        script:
            "../../scripts/download.py"
