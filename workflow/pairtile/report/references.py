"""Papers that methods paragraphs cite."""

from __future__ import annotations

from pairtile.report.method_text import Reference

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
LANGE_GRUBMUELLER_2006 = Reference(
    "Lange and Grubmüller 2006",
    "Lange OF, Grubmüller H. Generalized correlation for biomolecular dynamics. Proteins 62(4):"
    "1053–1061 (2006).",
    "10.1002/prot.20784",
)
KRASKOV_2004 = Reference(
    "Kraskov et al. 2004",
    "Kraskov A, Stögbauer H, Grassberger P. Estimating mutual information. Physical Review E "
    "69:066138 (2004).",
    "10.1103/PhysRevE.69.066138",
)
ICHIYE_KARPLUS_1991 = Reference(
    "Ichiye and Karplus 1991",
    "Ichiye T, Karplus M. Collective motions in proteins: a covariance analysis of atomic "
    "fluctuations in molecular dynamics and normal mode simulations. Proteins "
    "11(3):205–217 (1991).",
    "10.1002/prot.340110305",
)
KABSCH_1976 = Reference(
    "Kabsch 1976",
    "Kabsch W. A solution for the best rotation to relate two sets of vectors. Acta "
    "Crystallographica A 32:922–923 (1976).",
    "10.1107/S0567739476001873",
)
THEILER_1986 = Reference(
    "Theiler 1986",
    "Theiler J. Spurious dimension from correlation algorithms applied to limited time-series "
    "data. Physical Review A 34:2427–2432 (1986).",
    "10.1103/PhysRevA.34.2427",
)
SOKAL_1997 = Reference(
    "Sokal 1997",
    "Sokal A. Monte Carlo methods in statistical mechanics: foundations and new algorithms. In "
    "Functional Integration, 131–192. Springer (1997).",
    "10.1007/978-1-4899-0319-8_6",
)
MICHAUD_AGRAWAL_2011 = Reference(
    "Michaud-Agrawal et al. 2011",
    "Michaud-Agrawal N, Denning EJ, Woolf TB, Beckstein O. MDAnalysis: a toolkit for the "
    "analysis of molecular dynamics simulations. Journal of Computational Chemistry "
    "32(10):2319–2327 (2011).",
    "10.1002/jcc.21787",
)
TRAAG_2019 = Reference(
    "Traag et al. 2019",
    "Traag VA, Waltman L, van Eck NJ. From Louvain to Leiden: guaranteeing well-connected "
    "communities. Scientific Reports 9:5233 (2019).",
    "10.1038/s41598-019-41695-z",
)
GIRVAN_NEWMAN_2002 = Reference(
    "Girvan and Newman 2002",
    "Girvan M, Newman MEJ. Community structure in social and biological networks. Proceedings of "
    "the National Academy of Sciences 99(12):7821–7826 (2002).",
    "10.1073/pnas.122653799",
)
SETHI_2009 = Reference(
    "Sethi et al. 2009",
    "Sethi A, Eargle J, Black AA, Luthey-Schulten Z. Dynamical networks in tRNA:protein complexes. "
    "Proceedings of the National Academy of Sciences 106(16):6620–6625 (2009).",
    "10.1073/pnas.0810961106",
)
FREEMAN_1977 = Reference(
    "Freeman 1977",
    "Freeman LC. A set of measures of centrality based on betweenness. Sociometry 40(1):35–41 "
    "(1977).",
    "10.2307/3033543",
)
YEN_1971 = Reference(
    "Yen 1971",
    "Yen JY. Finding the K shortest loopless paths in a network. Management Science 17(11):712–716 "
    "(1971).",
    "10.1287/mnsc.17.11.712",
)
MELO_2020 = Reference(
    "Melo et al. 2020",
    "Melo MCR, Bernardi RC, de la Fuente-Nunez C, Luthey-Schulten Z. Generalized correlation-based "
    "dynamical network analysis: a new high-performance approach for identifying allosteric "
    "communications in molecular dynamics trajectories. Journal of Chemical Physics 153:134104 "
    "(2020).",
    "10.1063/5.0018980",
)
MASCHIETTO_2023 = Reference(
    "Maschietto et al. 2023",
    "Maschietto F, Allen B, Kyro GW, Batista VS. MDiGest: a Python package for describing "
    "allostery from molecular dynamics simulations. Journal of Chemical Physics 158:215103 (2023).",
    "10.1063/5.0140453",
)
NORMI = Reference(
    "Nagel et al.",
    "Nagel D, Diez G, Stock G. NorMI: nonparametric normalized mutual information estimator.",
    page="https://pypi.org/project/normi",
)
NETSCI = Reference(
    "NetSci",
    "NetSci: a toolkit for high performance scientific network analysis computation.",
    page="https://netscianalysis.github.io",
)
SHEALY_2019 = Reference(
    "Shealy et al. 2019",
    "Shealy BT, Burns JJR, Smith MC, Feltus FA, Ficklin SP. GPU implementation of pairwise "
    "Gaussian mixture models for multi-modal gene co-expression networks. "
    "IEEE Access 7:160845–160857 (2019).",
    page="https://github.com/SystemsGenetics/KINC",
)
LUO_2007 = Reference(
    "Luo et al. 2007",
    "Luo F, Yang Y, Zhong J, Gao H, Khan L, Thompson DK, Zhou J. Constructing gene co-expression "
    "networks and predicting functions of unknown genes by random matrix theory. "
    "BMC Bioinformatics 8:299 (2007).",
    "10.1186/1471-2105-8-299",
)
ZHANG_HORVATH_2005 = Reference(
    "Zhang and Horvath 2005",
    "Zhang B, Horvath S. A general framework for weighted gene co-expression network analysis. "
    "Statistical Applications in Genetics and Molecular Biology 4:17 (2005).",
    "10.2202/1544-6115.1128",
)
BIERNACKI_2000 = Reference(
    "Biernacki et al. 2000",
    "Biernacki C, Celeux G, Govaert G. Assessing a mixture model for clustering with the "
    "integrated completed likelihood. IEEE Transactions on Pattern Analysis and Machine "
    "Intelligence 22(7):719–725 (2000).",
    "10.1109/34.865189",
)
SCHWARZ_1978 = Reference(
    "Schwarz 1978",
    "Schwarz G. Estimating the dimension of a model. Annals of Statistics 6(2):461–464 (1978).",
    "10.1214/aos/1176344136",
)
AKAIKE_1974 = Reference(
    "Akaike 1974",
    "Akaike H. A new look at the statistical model identification. IEEE Transactions on Automatic "
    "Control 19(6):716–723 (1974).",
    "10.1109/TAC.1974.1100705",
)
COHEN_1988 = Reference(
    "Cohen 1988",
    "Cohen J. Statistical power analysis for the behavioral sciences, 2nd edition. "
    "Lawrence Erlbaum Associates (1988).",
    "10.4324/9780203771587",
)
VIRTANEN_2020 = Reference(
    "Virtanen et al. 2020",
    "Virtanen P, Gommers R, Oliphant TE, et al. SciPy 1.0: fundamental algorithms for scientific "
    "computing in Python. Nature Methods 17:261–272 (2020).",
    "10.1038/s41592-019-0686-2",
)
EVANS_LAMBIOTTE_2010 = Reference(
    "Evans and Lambiotte 2010",
    "Evans TS, Lambiotte R. Line graphs of weighted networks for overlapping communities. European "
    "Physical Journal B 77:265–272 (2010).",
    "10.1140/epjb/e2010-00261-8",
)
