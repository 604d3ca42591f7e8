#' Danish fire insurance losses
#'
#' Large fire insurance claims met by Copenhagen Reinsurance in 1980 to 1990, adjusted for
#' inflation to 1985 prices. The total loss is a standard example of a tail so heavy that
#' no bound on it can be named beforehand: its mean exists, but its variance is in doubt.
#'
#' The data have been public for decades, so nothing here needs protecting. They stand in
#' for a confidential file: see [dp_mean()].
#'
#' @format A data frame with 2167 rows, one per claim in the order of time, and 5 columns.
#' \describe{
#'   \item{Date}{day of the claim, of class `Date`.}
#'   \item{Building}{loss of buildings, in millions of Danish kroner.}
#'   \item{Contents}{loss of contents, in millions of Danish kroner.}
#'   \item{Profits}{loss of profits, in millions of Danish kroner.}
#'   \item{Total}{the three together, in millions of Danish kroner; at least 1.}
#' }
#' @source The data set `danishmulti` of the R package 'fitdistrplus' (licence GPL (>= 2)),
#'   whose terms allow it to be passed on under GPL (>= 3), the licence of this package.
#'   Made by `data-raw/danish.R` in the package's sources.
#' @references McNeil (1997) Estimating the tails of loss severity distributions using
#'   extreme value theory. *ASTIN Bulletin* 27(1), 117-137. \doi{10.2143/AST.27.1.563210}
#'
#'   Embrechts, Klueppelberg and Mikosch (1997) *Modelling Extremal Events for Insurance and
#'   Finance*. Springer, Berlin.
#' @examples
#' summary(danish$Total)
#' # The ten largest of 2167 claims carry this share of all losses:
#' sum(sort(danish$Total, decreasing = TRUE)[1:10]) / sum(danish$Total)
"danish"

#' Wages in the Current Population Survey of March 1988
#'
#' A cross-section of men aged 18 to 70 in the United States with a positive annual income
#' above 50 dollars, neither self-employed nor working without pay. The rows are sorted by
#' region.
#'
#' Experience is not observed but computed as age less education less 6, so that a few
#' values are negative.
#'
#' The data are public, so nothing here needs protecting. They stand in for a confidential
#' file: see [dp_lm()].
#'
#' @format A data frame with 28155 rows, one per man, and 7 columns.
#' \describe{
#'   \item{wage}{wage in dollars a week, in prices of 1992.}
#'   \item{education}{years of education.}
#'   \item{experience}{years of potential work experience.}
#'   \item{ethnicity}{factor with levels `cauc` (Caucasian) and `afam` (African-American).}
#'   \item{smsa}{factor with levels `no` and `yes`: lives in a Standard Metropolitan
#'     Statistical Area.}
#'   \item{region}{factor with levels `northeast`, `midwest`, `south` and `west`.}
#'   \item{parttime}{factor with levels `no` and `yes`: works part-time.}
#' }
#' @source The data set `CPS1988` of the R package 'AER' (licence GPL-2 | GPL-3), taken under
#'   GPL-3, which agrees with GPL (>= 3), the licence of this package. Made by
#'   `data-raw/cps1988.R` in the package's sources.
#' @references Bierens and Ginther (2001) Integrated conditional moment testing of quantile
#'   regression models. *Empirical Economics* 26, 307-324.
#'
#'   Kleiber and Zeileis (2008) *Applied Econometrics with R*. Springer, New York.
#'   \doi{10.1007/978-0-387-77318-6}
#' @examples
#' summary(cps1988)
#' coef(lm(log(wage) ~ education + experience + I(experience^2), data = cps1988))
"cps1988"
