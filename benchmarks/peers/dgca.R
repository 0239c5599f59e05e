# What R's DGCA calls on tables of float64, genes after genes of each sample: NAME.bin in a folder,
# half of whose samples are of each group.
#
#   Rscript dgca.R FOLDER GENES NAME,NAME,...
#
# Writes NAME.CORRELATION.tsv: pairs with an adjusted p of at most 0.05 (ddcorAll, 10 permutations as
# is its default, q-values of these), and version.txt.
suppressMessages(library(DGCA))
given <- commandArgs(TRUE)
folder <- given[1]
genes <- as.integer(given[2])
set.seed(1)
for (name in strsplit(given[3], ",")[[1]]) {
  path <- file.path(folder, paste0(name, ".bin"))
  samples <- file.size(path) / 8 / genes
  values <- matrix(readBin(path, "double", genes * samples), nrow = genes)
  rownames(values) <- seq_len(genes) - 1
  colnames(values) <- paste0("s", seq_len(samples))
  group <- rep(c("a", "b"), each = samples / 2)
  design <- model.matrix(~ group + 0)
  colnames(design) <- c("a", "b")
  for (kind in c("spearman", "pearson")) {
    capture.output(found <- ddcorAll(inputMat = values, design = design, compare = c("a", "b"),
                                     corrType = kind, adjust = "perm", nPerms = 10,
                                     nPairs = "all", verbose = FALSE))
    called <- found[!is.na(found$pValDiff_adj) & found$pValDiff_adj <= 0.05, c("Gene1", "Gene2")]
    write.table(called, file.path(folder, paste(name, kind, "tsv", sep = ".")), sep = "\t",
                quote = FALSE, row.names = FALSE)
  }
}
writeLines(as.character(packageVersion("DGCA")), file.path(folder, "version.txt"))
