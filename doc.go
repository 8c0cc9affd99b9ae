// Package retryafter turns the Retry-After field of a 429 or 503 response into a
// wait that is right on a client whose clock is wrong, does not end early, and
// does not end together with everybody else's.
//
// The field comes as whole seconds or as an HTTP-date. For the date, the usual
// code subtracts [time.Now] from it: a server instant less a client instant. On a
// client 40 s fast a wait of 30 s becomes none, on a client 40 s slow it becomes
// 70 s, and no test finds out where both clocks are one. This package counts the
// date from the Date of the same response, which is by the same clock.
//
// Three calls do the work, and each can be used without the next:
// [ParseRetryAfter] reads one field value, [Plan] makes a wait of a response's
// header, and [WaitFor] sits it out. The package sends no request and has no retry
// loop: the examples have those around it, Example_retryLoop a whole one.
//
// # Parsing
//
// [ParseRetryAfter] reads the grammar of RFC 9110 §10.2.3 and nothing else:
// delay-seconds, or any of the three forms of HTTP-date in §5.6.7, with the
// calendar, the day name and the zone checked. What is not in the grammar is
// refused with a [FieldError] that says what is wrong. Nothing is guessed, and no
// number wraps: more than 50 years ahead is [ErrTooFarAhead]. The century of a
// two-digit year is told by the day name, so no clock is read.
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
// Wait is never below Floor. Jitter is a place in a window above it, at random or
// by the hash of a stable key: see [Jitter]. A wait that [Options].MaxWait has no
// room for is refused and not cut, for a cut wait is an early retry. Whether a
// header and options make a plan does not depend on the draw.
//
// Of the errors of Plan, [ErrNoRetryAfter] alone says that there was no
// instruction, and lets a caller go on by its own backoff: the plan that comes
// with it is of Options.MinWait. After any other there was one, which is too long
// or cannot be read, and to go on may be too early.
//
// # Waiting
//
// [WaitFor] returns nil at the deadline of the plan or after it, never before. A
// context ends it early, with the context's error; a context that would end before
// the plan is refused at once, with [ErrExceedsDeadline], before its time is spent.
//
// # Clocks
//
// The wall clock of the client is read for [RetryPlan].Skew, which tells how far
// it is off and which nothing reads, for [TrustClientClock], where the caller asks
// for it by name, and for [Deadline.EstimatedWall]. A [Deadline] is an instant of
// the monotonic clock: it stands still when the wall clock is stepped or slewed. On
// systems whose monotonic clock stops while they sleep, a wait is longer by that
// time, and never shorter.
//
// Delay-seconds is counted from when the response was made, as the date is: the
// age of a response that a cache has kept comes off both. RFC 9110 words it as
// counted from receipt; an Options.Age that points to zero is to that letter.
//
// # Testing
//
// In a [testing/synctest] bubble Plan and WaitFor go by the clock of the bubble, so
// that a test of a caller's own retry loop waits an hour in no time and can check
// it to the nanosecond. A Jitter with a Key or a Rand makes its waits repeat.
package retryafter
