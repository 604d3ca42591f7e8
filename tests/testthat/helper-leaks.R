# Does an object hold a canary, a planted double or string, anywhere: in an
# attribute, an environment, a closure, a call? Looks for its bytes in the
# serialised object.
leaks <- function(object, canary) {
  bytes <- serialize(object, NULL, xdr = TRUE)
  needle <- if (is.character(canary)) {
    charToRaw(canary)
  } else {
    writeBin(as.double(canary), raw(), endian = "big")
  }
  has_bytes(bytes, needle)
}

has_bytes <- function(bytes, needle) {
  at <- which(bytes == needle[[1L]])
  at <- at[at <= length(bytes) - length(needle) + 1L]
  for (k in seq_along(needle)[-1L]) at <- at[bytes[at + k - 1L] == needle[[k]]]
  length(at) > 0L
}
