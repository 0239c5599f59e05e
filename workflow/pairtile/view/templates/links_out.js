// Where databases know an item, by what its names look like: [database, address] each.
"use strict";
function linksOut(names, symbols, structure) {
  const found = new Map();
  const add = (database, address, name) => {
    if (!found.has(database)) found.set(database, address + encodeURIComponent(name));
  };
  for (const name of names) {
    const plain = name.replace(/\.\d+$/, ""); // without a version
    if (/^(ENS[A-Z]*[GTPE]\d{11}|FBgn\d{7}|WBGene\d{8})$/.test(plain)) add("Ensembl", "https://www.ensembl.org/id/", plain);
    if (/^[NX][MR]_\d+$/.test(plain)) add("NCBI", "https://www.ncbi.nlm.nih.gov/nuccore/", name);
    if (/^([OPQ]\d[A-Z\d]{3}\d|[A-NR-Z]\d([A-Z][A-Z\d]{2}\d){1,2})(-\d+)?$/.test(name)) add("UniProt", "https://www.uniprot.org/uniprotkb?query=", name);
    if (/^(MI(MAT)?\d{7}|[a-z]{3,5}-(mir|let|lin|bantam|iab)-?.*)$/i.test(name)) add("miRBase", "https://www.mirbase.org/results/?query=", name);
  }
  if (structure) add("RCSB", "https://www.rcsb.org/structure/", structure);
  if (symbols && !found.has("miRBase")) {
    // A symbol or a locus tag, which these look up by themselves.
    const name = names[0];
    add("NCBI", "https://www.ncbi.nlm.nih.gov/gene/?term=", name);
    add("UniProt", "https://www.uniprot.org/uniprotkb?query=", name);
    add("STRING", "https://string-db.org/cgi/network?identifiers=", name);
  }
  return [...found];
}
