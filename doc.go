// Package retryafter turns the Retry-After field of a 429 or 503 response into a
// wait that is right on a client whose clock is wrong, does not end before its
// floor, and does not end together with everybody else's.
//
// The field comes as whole seconds or as an HTTP-date. For the date, the usual
// code subtracts [time.Now] from it: the server's time minus the client's. On a
// client 40 s fast a wait of 30 s becomes none, on a client 40 s slow it becomes
// 70 s, and a test in which both share one clock never shows it. This package
// counts the date from the Date of the same response, which is by the same clock.
//
// Three calls do the work, and each can be used without the next:
// [ParseRetryAfter] reads one field value, [Plan] computes a wait from the header
// of a response, and [WaitFor] waits. The package sends no request and has no
// retry loop. The examples show both; Example_retryLoop is a complete loop.
//
// # Parsing
//
// [ParseRetryAfter] reads the grammar of RFC 9110 §10.2.3 and nothing else:
// delay-seconds, or any of the three forms of HTTP-date in §5.6.7, with the
// calendar, the day name and the zone checked. What is not in the grammar is
// refused with a [FieldError] that says what is wrong. Nothing is guessed, and no
// number wraps: more than 50 years ahead is [ErrTooFarAhead]. The century of a
// two-digit year is determined from the day name, so no clock is read.
//
// # Planning
//
// [Plan] computes the floor, which is the server's minimum, and the wait:
//
//	Instructed = delay-seconds, or HTTP-date - Date
//	Age        = the Age field + the round trip, if its two times are given
//	Floor      = max(0, Instructed - Age)
//	Wait       = max(Floor, MinWait) + Jitter
//
// Wait is never below Floor. Jitter is a place in a window above it, random or from
// the hash of a stable key: see [Jitter]. A wait that does not fit Options.MaxWait
// is refused and not shortened, because a shortened wait is an early retry. Whether
// a header and options make a plan does not depend on the draw.
//
// [ErrNoRetryAfter] alone lets a caller go on by a backoff of its own, and if that
// is in Options.MinWait, comes with the plan of it. After any other error of Plan,
// stop: there is a wait that is too long, or an instruction that cannot be read,
// and to go on may be too early.
//
// # Waiting
//
// [WaitFor] returns nil at the deadline of the plan or after it, never before. A
// context ends the wait early, with the context's error. A context that would end
// before the plan or with it is refused at once with [ErrExceedsDeadline], before
// its time is spent.
//
// # Clocks
//
// The wall clock of the client has a part in [RetryPlan].Skew, which reports its
// error and is used by nothing; in [TrustClientClock], which the caller has to ask
// for; in [Deadline.EstimatedWall]; and in WaitFor if the deadline of the context
// has no monotonic reading. A [Deadline] is an instant of the monotonic clock, and
// steps of the wall clock do not move it. On systems whose monotonic clock stops
// while they sleep, a wait is longer by that time, and never shorter.
//
// Delay-seconds is counted from when the response was made, as the date is: the
// age of a response that a cache has kept comes off both. RFC 9110 words it as
// counted from receipt; point Options.Age to zero to follow that wording.
//
// # Testing
//
// In a [testing/synctest] bubble Plan and WaitFor go by the clock of the bubble, so
// a test of a caller's own retry loop waits an hour in no time and can be exact to
// the nanosecond. Make the context, the times and the plan inside the bubble, and
// answer requests from a [net/http.RoundTripper] there and not over the network. With
// a Jitter.Key, or a Jitter.Rand of the test's own, the waits are repeatable.
package retryafter
