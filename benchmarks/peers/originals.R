# Mutual information and pruning by R's minet (with infotheo), of expression.tsv.
#
#   Rscript originals.R FOLDER minet NUMBER
#
# NUMBER: of bins. Writes mi.bin, clr.bin and kept.bin (float64, genes x genes) and
# r.json: version, seconds of the processor for each.
given <- commandArgs(TRUE)
folder <- given[1]
number <- as.integer(given[3])
suppressMessages(library(given[2], character.only = TRUE))
table <- read.table(file.path(folder, "expression.tsv"), sep = "\t", row.names = 1)
seconds <- c()
timed <- function(name, work) {
  used <- system.time(found <- work())
  seconds[name] <<- used[["user.self"]] + used[["sys.self"]]
  writeBin(as.vector(as.matrix(found)), file.path(folder, paste0(name, ".bin")))
  as.matrix(found)
}
mi <- timed("mi", function() build.mim(t(table), "mi.empirical", "equalfreq", number))
invisible(timed("clr", function() clr(mi)))
invisible(timed("kept", function() aracne(mi)))
cat(sprintf('{"version": "%s", "seconds": {%s}}', packageVersion(given[2]),
            paste(sprintf('"%s": %f', names(seconds), seconds), collapse = ", ")),
    file = file.path(folder, "r.json"))
