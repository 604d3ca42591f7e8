# A ledger as text, one line per call:
#   dpheavy privacy ledger, format 1 | id=.. epsilon=.. delta=.. made=.. | digest <d0>
#   call 1 | when=.. what=.. epsilon=.. delta=.. | <event> | .. | digest <d1>
#   end | calls=1 | digest <of all lines above>
# with events as
#   <mechanism> what=.. count=.. cost=.. sensitivity=.. scale=.. slack=..
# The digest of a line is taken over the digest before it and the line itself. A number is
# written twice, 0.1(0x1.999999999999ap-4), for the eye and exactly; text has all but
# letters, digits, "_", "-" and "." as %XX. Times are UTC.

LEDGER_TITLE <- "dpheavy privacy ledger, format 1"

# MD5, for base R has no other: it finds accidents, and edits by someone who does not
# compute it anew.
text_digest <- function(text) {
  file <- tempfile("digest")
  on.exit(unlink(file))
  writeBin(charToRaw(text), file)
  unname(tools::md5sum(file))
}

number_text <- function(x) {
  hex <- sub("(\\.[0-9a-f]*[1-9a-f])0+p", "\\1p", sub("\\.0+p", "p", sprintf("%a", x)))
  sprintf("%.6g(%s)", x, hex)
}

plain_text <- function(x) {
  bytes <- charToRaw(enc2utf8(x))
  keep <- grepl("^[A-Za-z0-9_.-]$", rawToChar(bytes, multiple = TRUE), useBytes = TRUE)
  paste(ifelse(keep, rawToChar(bytes, multiple = TRUE), sprintf("%%%02X", as.integer(bytes))),
        collapse = "")
}

time_text <- function(x) format(x, "%Y-%m-%dT%H:%M:%SZ", tz = "UTC")

fields_text <- function(fields) paste0(names(fields), "=", fields, collapse = " ")

event_text <- function(event) {
  numbers <- c("count", "cost", "sensitivity", "scale", "slack")
  fields <- c(what = plain_text(event$what),
              vapply(numbers, function(name) number_text(event[[name]]), ""))
  paste(event$mechanism, fields_text(fields))
}

with_digest <- function(line, before) {
  paste0(line, " | digest ", text_digest(paste0(before, "\n", line)))
}

line_digest <- function(line) sub("^.* [|] digest ", "", line)

header_line <- function(id, epsilon, delta, made) {
  fields <- c(id = id, epsilon = number_text(epsilon), delta = number_text(delta),
              made = time_text(made))
  with_digest(paste(LEDGER_TITLE, fields_text(fields), sep = " | "), "")
}

call_line <- function(call, index, before) {
  fields <- c(when = time_text(call$when), what = plain_text(call$what),
              epsilon = number_text(call$epsilon), delta = number_text(call$delta))
  parts <- c(sprintf("call %d", index), fields_text(fields),
             vapply(call$events, event_text, ""))
  with_digest(paste(parts, collapse = " | "), before)
}

ledger_text <- function(lines) {
  body <- paste0(lines, "\n", collapse = "")
  sprintf("%send | calls=%d | digest %s\n", body, length(lines) - 1L, text_digest(body))
}

# ---- from text: anything unexpected is an error whose message says what -------

unreadable <- function(what) stop(what, call. = FALSE)

number_of <- function(text) {
  hex <- regmatches(text, regexec("^[^()]+[(](-?0x[0-9a-f.]+p[+-][0-9]+|NA|NaN|-?Inf)[)]$", text))
  if (length(hex[[1L]]) != 2L) unreadable("not a number")
  if (hex[[1L]][[2L]] == "NA") NA_real_ else as.numeric(hex[[1L]][[2L]])
}

plain_of <- function(text) {
  if (!nzchar(text)) {
    return("")
  }
  part <- regmatches(text, gregexpr("%[0-9A-F]{2}|[^%]", text))[[1L]]
  if (paste(part, collapse = "") != text) unreadable("not a text")
  code <- vapply(part, function(p) {
    if (nchar(p) == 3L) strtoi(substring(p, 2L), 16L) else utf8ToInt(p)
  }, 0L)
  value <- rawToChar(as.raw(code))
  if (any(code > 127L)) Encoding(value) <- "UTF-8"
  value
}

time_of <- function(text) {
  time <- as.POSIXct(strptime(text, "%Y-%m-%dT%H:%M:%SZ", tz = "UTC"))
  if (is.na(time) || time_text(time) != text) unreadable("not a time")
  .POSIXct(as.numeric(time), tz = "UTC")
}

fields_of <- function(text, names) {
  part <- strsplit(text, " ", fixed = TRUE)[[1L]]
  if (!identical(sub("=.*", "", part), names)) unreadable("unexpected fields")
  as.list(stats::setNames(sub("^[^=]*=", "", part), names))
}

event_of <- function(text) {
  mechanism <- sub(" .*", "", text)
  numbers <- c("count", "cost", "sensitivity", "scale", "slack")
  field <- fields_of(substring(text, nchar(mechanism) + 2L), c("what", numbers))
  value <- lapply(field[numbers], number_of)
  new_event(mechanism, value$cost, value$count, value$sensitivity, value$scale,
            plain_of(field$what), value$slack)
}

# The parts of a line whose digest is right.
parts_of <- function(line, before) {
  digest <- line_digest(line)
  bare <- substring(line, 1L, nchar(line) - nchar(" | digest ") - nchar(digest))
  if (with_digest(bare, before) != line) unreadable("a digest does not agree")
  strsplit(bare, " | ", fixed = TRUE)[[1L]]
}

header_of <- function(line) {
  part <- parts_of(line, "")
  if (length(part) != 2L || part[[1L]] != LEDGER_TITLE) unreadable("the first line")
  field <- fields_of(part[[2L]], c("id", "epsilon", "delta", "made"))
  if (!grepl("^[0-9a-f]{32}$", field$id)) unreadable("the id")
  list(
    id = field$id, made = time_of(field$made),
    epsilon = check_epsilon(number_of(field$epsilon), allow_inf = FALSE),
    delta = check_delta(number_of(field$delta))
  )
}

call_of <- function(line, index, before) {
  part <- parts_of(line, before)
  if (length(part) < 2L || part[[1L]] != sprintf("call %d", index)) unreadable("order of calls")
  field <- fields_of(part[[2L]], c("when", "what", "epsilon", "delta"))
  events <- lapply(part[-(1:2)], event_of)
  list(
    what = plain_of(field$what), epsilon = number_of(field$epsilon),
    delta = number_of(field$delta), when = time_of(field$when), events = events,
    total = compose_events(events, ordered = TRUE)
  )
}

# The lines of a whole ledger without the last; the text must end as ledger_text() ends it.
lines_of <- function(bytes) {
  code <- as.integer(bytes)
  if (length(code) == 0L) unreadable("it is empty")
  if (any(code > 126L | (code < 32L & code != 10L))) unreadable("not plain text")
  text <- rawToChar(bytes)
  lines <- strsplit(text, "\n", fixed = TRUE)[[1L]]
  lines <- lines[-length(lines)]
  if (length(lines) == 0L || ledger_text(lines) != text) {
    unreadable("its last line does not agree with the lines above")
  }
  lines
}

# list(lines, id, epsilon, delta, made, calls); `known` is an earlier result, whose lines
# need not be read again.
ledger_of <- function(bytes, known = NULL) {
  lines <- lines_of(bytes)
  skip <- length(known$lines)
  if (skip == 0L || length(lines) < skip || !identical(lines[seq_len(skip)], known$lines)) {
    known <- c(header_of(lines[[1L]]), list(calls = list()))
    skip <- 1L
  }
  for (i in seq_along(lines)[-seq_len(skip)]) {
    known$calls[[i - 1L]] <- call_of(lines[[i]], i - 1L, line_digest(lines[[i - 1L]]))
  }
  known$lines <- lines
  known
}
