process PAIRTILE_DEMO {
    tag "demo"
    label 'process_single'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/pairtile:0.2.0--pyhdfd78af_0':
        'quay.io/biocontainers/pairtile:0.2.0--pyhdfd78af_0' }"

    output:
    path "config/demo/expression.tsv.gz", emit: expression
    path "config/demo/regulators.txt", emit: regulators
    path "config/demo/gold_standard.tsv", emit: gold_standard
    tuple val("${task.process}"), val('pairtile'), eval("pairtile --version | sed 's/pairtile //'"), topic: versions, emit: versions_pairtile

    when:
    task.ext.when == null || task.ext.when

    script:
    """
    pairtile demo --files
    """

    stub:
    """
    mkdir -p config/demo
    echo "" | gzip > config/demo/expression.tsv.gz
    touch config/demo/regulators.txt config/demo/gold_standard.tsv
    """
}
