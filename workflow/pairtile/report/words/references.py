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
BORELLI_2013 = Reference(
    "Borelli et al. 2013",
    "Borelli FF, de Camargo RY, Martins-Jr DC, Rozante LCS. Gene regulatory networks inference "
    "using a multi-GPU exhaustive search algorithm. BMC Bioinformatics 14(Suppl 18):S5 (2013).",
    "10.1186/1471-2105-14-S18-S5",
)
MARTINS_2006 = Reference(
    "Martins-Jr et al. 2006",
    "Martins-Jr DC, Cesar-Jr RM, Barrera J. W-operator window design by minimization of mean "
    "conditional entropy. Pattern Analysis and Applications 9(2–3):139–153 (2006).",
    "10.1007/s10044-006-0031-0",
)
LOPES_2008 = Reference(
    "Lopes et al. 2008",
    "Lopes FM, Martins-Jr DC, Cesar-Jr RM. Feature selection environment for genomic applications. "
    "BMC Bioinformatics 9:451 (2008).",
    "10.1186/1471-2105-9-451",
)
MARTINS_2008 = Reference(
    "Martins-Jr et al. 2008",
    "Martins-Jr DC, Braga-Neto UM, Hashimoto RF, Bittner ML, Dougherty ER. Intrinsically "
    "multivariate predictive genes. IEEE Journal of Selected Topics in Signal Processing 2(3) "
    "(2008).",
    page="https://ieeexplore.ieee.org/document/4550558",
)
PUDIL_1994 = Reference(
    "Pudil et al. 1994",
    "Pudil P, Novovičová J, Kittler J. Floating search methods in feature selection. Pattern "
    "Recognition Letters 15(11):1119–1125 (1994).",
    "10.1016/0167-8655(94)90127-9",
)
ENRIGHT_2003 = Reference(
    "Enright et al. 2003",
    "Enright AJ, John B, Gaul U, Tuschl T, Sander C, Marks DS. MicroRNA targets in Drosophila. "
    "Genome Biology 5:R1 (2003).",
    "10.1186/gb-2003-5-1-r1",
)
WANG_2014 = Reference(
    "Wang et al. 2014",
    "Wang S, Kim J, Jiang X, Brunner SF, Ohno-Machado L. GAMUT: GPU accelerated microRNA analysis "
    "to uncover target genes through CUDA-miRanda. BMC Medical Genomics 7(Suppl 1):S9 (2014).",
    "10.1186/1755-8794-7-S1-S9",
)
MATHEWS_1999 = Reference(
    "Mathews et al. 1999",
    "Mathews DH, Sabina J, Zuker M, Turner DH. Expanded sequence dependence of thermodynamic "
    "parameters improves prediction of RNA secondary structure. Journal of Molecular Biology "
    "288(5):911–940 (1999).",
    "10.1006/jmbi.1999.2700",
)
MATHEWS_2004 = Reference(
    "Mathews et al. 2004",
    "Mathews DH, Disney MD, Childs JL, Schroeder SJ, Zuker M, Turner DH. Incorporating chemical "
    "modification constraints into a dynamic programming algorithm for prediction of RNA secondary "
    "structure. Proceedings of the National Academy of Sciences 101(19):7287–7292 (2004).",
    "10.1073/pnas.0401799101",
)
LORENZ_2011 = Reference(
    "Lorenz et al. 2011",
    "Lorenz R, Bernhart SH, Höner zu Siederdissen C, Tafer H, Flamm C, Stadler PF, Hofacker IL. "
    "ViennaRNA Package 2.0. Algorithms for Molecular Biology 6:26 (2011).",
    "10.1186/1748-7188-6-26",
)
BERNHART_2006 = Reference(
    "Bernhart et al. 2006",
    "Bernhart SH, Hofacker IL, Stadler PF. Local RNA base pairing probabilities in large "
    "sequences. Bioinformatics 22(5):614–615 (2006).",
    "10.1093/bioinformatics/btk014",
)
GRIMSON_2007 = Reference(
    "Grimson et al. 2007",
    "Grimson A, Farh KK-H, Johnston WK, Garrett-Engele P, Lim LP, Bartel DP. MicroRNA targeting "
    "specificity in mammals: determinants beyond seed pairing. Molecular Cell 27(1):91–105 (2007).",
    "10.1016/j.molcel.2007.06.017",
)
BARTEL_2009 = Reference(
    "Bartel 2009",
    "Bartel DP. MicroRNAs: target recognition and regulatory functions. Cell 136(2):215–233 "
    "(2009).",
    "10.1016/j.cell.2009.01.002",
)
FRIEDMAN_2009 = Reference(
    "Friedman et al. 2009",
    "Friedman RC, Farh KK-H, Burge CB, Bartel DP. Most mammalian mRNAs are conserved targets of "
    "microRNAs. Genome Research 19(1):92–105 (2009).",
    "10.1101/gr.082701.108",
)
