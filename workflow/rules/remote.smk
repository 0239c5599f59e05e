# Inputs that lie elsewhere: files of a web server, and addresses that storage plugins know.
import re

from pairtile.config.addresses import download_path, is_download, scheme

ADDRESSES = {
    path: f"analyses.{name}.{key}"
    for name, section in CONFIG.analyses.items()
    for key, path in section.input_files().items()
    if scheme(path)
}
DOWNLOADS = {
    download_path(address, CONFIG.checksums[address]): address
    for address in sorted(ADDRESSES)
    if is_download(address)
}


def downloaded_from(wildcards):
    """The address of a downloaded file."""
    return DOWNLOADS[f".downloads/{wildcards.checksum}/{wildcards.file}"]


def located(path):
    """What a rule asks for in place of a configured path or address."""
    if is_download(path):
        return f"{CONFIG.results}/{download_path(path, CONFIG.checksums[path])}"
    if scheme(path):
        return storage(path)
    # With a default storage provider, relative paths lie there; absolute ones are of this machine.
    if DEFAULT_STORAGE and os.path.isabs(path):
        return local(path)
    return path


if MAIN_PROCESS:
    for address, key in ADDRESSES.items():
        try:
            located(address)
        except WorkflowError as error:
            plugin = f"snakemake-storage-plugin-{scheme(address)}"
            raise WorkflowError(
                f"config: {key}: found {address!r}; expected an address for which a storage "
                f"plugin is installed (pip install {plugin}?). {error}"
            )
