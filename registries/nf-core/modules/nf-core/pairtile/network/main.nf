process PAIRTILE_NETWORK {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/pairtile:0.2.0--pyhdfd78af_0':
        'quay.io/biocontainers/pairtile:0.2.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(expression)
    path regulators

    output:
    tuple val(meta), path("${prefix}/network/network.tsv"), emit: network
    tuple val(meta), path("${prefix}/network/network.*"), emit: exports
    tuple val(meta), path("${prefix}/network/report.html"), emit: report
    tuple val(meta), path("${prefix}/network/summary.json"), emit: summary
    tuple val("${task.process}"), val('pairtile'), eval("pairtile --version | sed 's/pairtile //'"), topic: versions, emit: versions_pairtile

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def regulators_option = regulators ? "--regulators ${regulators}" : ''
    """
    pairtile \\
        network \\
        ${expression} \\
        --out ${prefix} \\
        ${regulators_option} \\
        ${args} \\
        -- \\
        --cores ${task.cpus}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir -p ${prefix}/network
    touch ${prefix}/network/network.tsv ${prefix}/network/report.html ${prefix}/network/summary.json
    """
}
