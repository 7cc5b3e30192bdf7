# Selects a decomposable model by BIC with the package ess, forward; selection_peers.py runs this.
# The arguments are the library that holds ess and a CSV file of codes, whose first line is no column's name. Each line of
# standard input is a run; a JSON line answers it with its seconds, the processor's, and the edges.

arguments <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages(library(ess, lib.loc = c(arguments[1], .libPaths())))
rows <- read.csv(arguments[2], header = FALSE, skip = 1, colClasses = "character")
names(rows) <- seq_along(rows) - 1
asked <- file("stdin", "r")
cat("ready\n")
flush(stdout())
while (length(readLines(asked, 1)) > 0) {
  took <- system.time(graph <- fit_graph(rows, type = "fwd", q = 1))
  edges <- which(upper.tri(adj_mat(graph)) & adj_mat(graph) == 1, arr.ind = TRUE)
  columns <- colnames(adj_mat(graph))
  pairs <- sprintf("[%s, %s]", columns[edges[, 1]], columns[edges[, 2]])
  cat(sprintf("{\"seconds\": %.6f, \"processor\": %.6f, \"edges\": [%s]}\n",
              took[["elapsed"]], took[["user.self"]] + took[["sys.self"]], paste(pairs, collapse = ", ")))
  flush(stdout())
}
