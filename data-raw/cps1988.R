# Makes data/cps1988.rda from the R package AER (GPL-2 | GPL-3).
# Run from the project's folder: Rscript data-raw/cps1988.R

source <- new.env()
utils::data("CPS1988", package = "AER", envir = source)

cps1988 <- source$CPS1988
rownames(cps1988) <- NULL

stopifnot(
  nrow(cps1988) == 28155L,
  identical(
    names(cps1988),
    c("wage", "education", "experience", "ethnicity", "smsa", "region", "parttime")
  ),
  identical(levels(cps1988$region), c("northeast", "midwest", "south", "west")),
  !anyNA(cps1988),
  all(cps1988$wage > 0)
)

save(cps1988, file = file.path("data", "cps1988.rda"), compress = "xz", version = 2)
