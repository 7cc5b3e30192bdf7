# Fits the three pairs of a dense table of three attributes by R's loglin; iterative_fitting.py runs this.
# The arguments are a file of doubles, the number of values of each attribute, which is the same, the largest misfit of a count
# at which fitting stops, and the file for the fit. Each line of standard input is a run; a JSON line answers it with its
# seconds and, of more runs after it where it is short, the processor's.

arguments <- commandArgs(trailingOnly = TRUE)
values <- as.integer(arguments[2])
dense <- array(readBin(arguments[1], "double", values^3), rep(values, 3))
asked <- file("stdin", "r")
cat("ready\n")
flush(stdout())
fit <- function() loglin(dense, list(c(1, 2), c(1, 3), c(2, 3)), fit = TRUE, print = FALSE, eps = as.double(arguments[3]),
                         iter = 10000)$fit
while (length(readLines(asked, 1)) > 0) {
  begin <- Sys.time()
  fitted <- fit()
  took <- as.double(difftime(Sys.time(), begin, units = "secs"))
  runs <- if (took < 0.01) 10 else 1  # the clock of the processor tells milliseconds
  worked <- system.time(for (run in 1:runs) fit())
  writeBin(as.double(fitted), arguments[4])
  cat(sprintf("{\"seconds\": %.6f, \"processor\": %.6f}\n", took, (worked[["user.self"]] + worked[["sys.self"]]) / runs))
  flush(stdout())
}
