# What R's WGCNA gives on tables of float64, genes after genes of each sample: NAME.bin in a folder.
#
#   Rscript wgcna.R FOLDER TABLES TYPES [second]
#
# TABLES: NAME=GENES,... TYPES: unsigned,signed,signed_hybrid. With "second", NAME.second.bin and the
# modules in NAME.modules.txt: preservation and consensus. Writes NAME.TYPE.*.tsv beside them.
suppressMessages(library(WGCNA))
given <- commandArgs(TRUE)
folder <- given[1]

read_table <- function(name, genes) {
  path <- file.path(folder, paste0(name, ".bin"))
  samples <- file.size(path) / 8 / genes
  found <- t(matrix(readBin(path, "double", genes * samples), nrow = genes))
  colnames(found) <- paste0("g", seq_len(genes))
  found
}
save <- function(table, name) {
  write.table(format(table, digits = 17), file.path(folder, name), sep = "\t", quote = FALSE,
              row.names = FALSE)
}
seconds <- function() proc.time()[[3]]

for (each in strsplit(strsplit(given[2], ",")[[1]], "=")) {
  name <- each[1]
  genes <- as.integer(each[2])
  values <- read_table(name, genes)
  for (type in strsplit(given[3], ",")[[1]]) {
    kind <- sub("_", " ", type)
    out <- paste(name, type, sep = ".")
    start <- seconds()
    invisible(capture.output(soft <- pickSoftThreshold(values, networkType = kind, verbose = 0)))
    picked <- seconds()
    power <- soft$powerEstimate
    found <- blockwiseModules(values, power = power, networkType = kind, maxBlockSize = 50000,
                              numericLabels = TRUE, verbose = 0)
    ended <- seconds()
    save(soft$fitIndices, paste0(out, ".fit.tsv"))
    save(data.frame(module = found$colors), paste0(out, ".modules.tsv"))
    save(found$MEs, paste0(out, ".eigengenes.tsv"))
    save(data.frame(power = power, pick = picked - start, modules = ended - picked,
                    version = as.character(packageVersion("WGCNA"))), paste0(out, ".run.tsv"))
    if ("second" %in% given) {
      second <- read_table(paste0(name, ".second"), genes)
      both <- list(a = list(data = values), b = list(data = second))
      labels <- scan(file.path(folder, paste0(name, ".modules.txt")), quiet = TRUE)
      start <- seconds()
      kept <- modulePreservation(both, list(a = labels), networkType = kind, nPermutations = 20,
                                 quickCor = 0, verbose = 0, savePermutedStatistics = FALSE)
      tested <- seconds()
      shared <- blockwiseConsensusModules(both, power = 6, networkType = kind, verbose = 0,
                                          numericLabels = TRUE, saveConsensusTOMs = FALSE,
                                          saveIndividualTOMs = FALSE, sampleForCalibration = FALSE,
                                          networkCalibration = "single quantile")
      ended <- seconds()
      observed <- kept$preservation$observed[[1]][[2]]
      z <- kept$preservation$Z[[1]][[2]]
      save(cbind(module = rownames(observed), observed, Zsummary = z$Zsummary.pres),
           paste0(out, ".preservation.tsv"))
      save(data.frame(module = shared$colors), paste0(out, ".consensus.tsv"))
      save(data.frame(preservation = tested - start, consensus = ended - tested),
           paste0(out, ".second.tsv"))
    }
  }
}
