# Input files of a web server, fetched once and kept by their checksum.
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
