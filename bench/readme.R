# Puts the tables of bench/results into README.md, between their markers.
lines <- readLines("README.md")
for (name in sub("[.]md$", "", list.files("bench/results", "[.]md$"))) {
  start <- match(sprintf("<!-- bench: %s -->", name), lines)
  if (is.na(start)) next
  end <- start + match("<!-- end -->", lines[-seq_len(start)])
  table <- readLines(file.path("bench/results", paste0(name, ".md")))
  lines <- c(lines[seq_len(start)], "", table, lines[end:length(lines)])
}
writeLines(lines, "README.md")
