# Puts the tables of bench/results into README.md and bench/README.md, between their markers, and
# copies those that a vignette shows to vignettes/tables.

results <- "bench/results"

table_of <- function(name) {
  readLines(file.path(results, paste0(name, ".md")))
}

fill <- function(file) {
  lines <- readLines(file)
  for (name in sub("[.]md$", "", list.files(results, "[.]md$"))) {
    start <- match(sprintf("<!-- bench: %s -->", name), lines)
    if (is.na(start)) next
    end <- start + match("<!-- end -->", lines[-seq_len(start)])
    lines <- c(lines[seq_len(start)], "", table_of(name), lines[end:length(lines)])
  }
  writeLines(lines, file)
}

shown <- function(vignette) {
  found <- regmatches(vignette, gregexpr("tables/[a-z0-9-]+[.]md", vignette))
  sub("tables/", "", unlist(found))
}

for (file in Filter(file.exists, c("README.md", "bench/README.md"))) fill(file)
vignettes <- list.files("vignettes", "[.]Rmd$", full.names = TRUE)
wanted <- unique(unlist(lapply(vignettes, function(file) shown(readLines(file)))))
unlink("vignettes/tables", recursive = TRUE)
if (length(wanted) > 0L) {
  dir.create("vignettes/tables")
  invisible(file.copy(file.path(results, wanted), "vignettes/tables"))
}
