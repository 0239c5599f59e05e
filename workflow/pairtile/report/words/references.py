"""Papers that methods paragraphs cite."""

from __future__ import annotations

from pairtile.report.words.base import Reference

DAUB_2004 = Reference(
    "Daub et al. 2004",
    "Daub CO, Steuer R, Selbig J, Kloska S. Estimating mutual information using B-spline "
    "functions – an improved similarity measure for analysing gene expression data. "
    "BMC Bioinformatics 5:118 (2004).",
    "10.1186/1471-2105-5-118",
)
MARGOLIN_2006 = Reference(
    "Margolin et al. 2006",
    "Margolin AA, Nemenman I, Basso K, Wiggins C, Stolovitzky G, Dalla Favera R, Califano A. "
    "ARACNE: an algorithm for the reconstruction of gene regulatory networks in a mammalian "
    "cellular context. BMC Bioinformatics 7(Suppl 1):S7 (2006).",
    "10.1186/1471-2105-7-S1-S7",
)
FAITH_2007 = Reference(
    "Faith et al. 2007",
    "Faith JJ, Hayete B, Thaden JT, Mogno I, Wierzbowski J, Cottarel G, Kasif S, Collins JJ, "
    "Gardner TS. Large-scale mapping and validation of Escherichia coli transcriptional "
    "regulation from a compendium of expression profiles. PLoS Biology 5(1):e8 (2007).",
    "10.1371/journal.pbio.0050008",
)
BENJAMINI_HOCHBERG_1995 = Reference(
    "Benjamini and Hochberg 1995",
    "Benjamini Y, Hochberg Y. Controlling the false discovery rate: a practical and powerful "
    "approach to multiple testing. Journal of the Royal Statistical Society B 57(1):289–300 "
    "(1995).",
    "10.1111/j.2517-6161.1995.tb02031.x",
)
PHIPSON_SMYTH_2010 = Reference(
    "Phipson and Smyth 2010",
    "Phipson B, Smyth GK. Permutation P-values should never be zero: calculating exact P-values "
    "when permutations are randomly drawn. Statistical Applications in Genetics and Molecular "
    "Biology 9:39 (2010).",
    "10.2202/1544-6115.1585",
)
LACHMANN_2016 = Reference(
    "Lachmann et al. 2016",
    "Lachmann A, Giorgi FM, Lopez G, Califano A. ARACNe-AP: gene network reverse engineering "
    "through adaptive partitioning inference of mutual information. Bioinformatics "
    "32(14):2233–2235 (2016).",
    "10.1093/bioinformatics/btw216",
)
MARBACH_2012 = Reference(
    "Marbach et al. 2012",
    "Marbach D, Costello JC, Küffner R, Vega NM, Prill RJ, Camacho DM, Allison KR, the DREAM5 "
    "Consortium, Kellis M, Collins JJ, Stolovitzky G. Wisdom of crowds for robust gene network "
    "inference. Nature Methods 9:796–804 (2012).",
    "10.1038/nmeth.2016",
)
BOLSTAD_2003 = Reference(
    "Bolstad et al. 2003",
    "Bolstad BM, Irizarry RA, Åstrand M, Speed TP. A comparison of normalization methods for "
    "high density oligonucleotide array data based on variance and bias. Bioinformatics "
    "19(2):185–193 (2003).",
    "10.1093/bioinformatics/19.2.185",
)
ANDERS_HUBER_2010 = Reference(
    "Anders and Huber 2010",
    "Anders S, Huber W. Differential expression analysis for sequence count data. "
    "Genome Biology 11:R106 (2010).",
    "10.1186/gb-2010-11-10-r106",
)
