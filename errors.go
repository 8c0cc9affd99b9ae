package retryafter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What may be wrong with a field value. These are the values of
// [FieldError.Err]; test for one with [errors.Is].
var (
	// ErrEmpty is a value of nothing but blanks.
	ErrEmpty = errors.New("the value is empty; an immediate retry would be written 0: " +
		"have the server send a delay or leave the field out")

	// ErrMultipleValues is more than one value, in one field line or in several.
	// RFC 9110 §5.3 allows that of list fields alone, and even two equal values
	// are two: something between the server and this client adds its own.
	ErrMultipleValues = errors.New("more than one value in a field that holds one: " +
		"have the server, and each proxy that adds its own, send a single one")

	// ErrDelaySyntax is a delay that is not delay-seconds = 1*DIGIT, RFC 9110
	// §10.2.3: a sign, a fraction, a unit, or an ISO 8601 date without a time.
	ErrDelaySyntax = errors.New("not delay-seconds, which is digits only: " +
		"have the server send whole seconds without sign, fraction or unit")

	// ErrTooFarAhead is a wait of more than 50 years (438,300 hours), the horizon
	// that RFC 9110 §5.6.7 sets for a two-digit year. A Unix timestamp in place
	// of seconds lands here, and so does every number that would overflow.
	ErrTooFarAhead = errors.New("more than 50 years ahead: " +
		"have the server send the seconds to wait, not a Unix time, or a nearer date")

	// ErrDateSyntax is a value of none of the three shapes of HTTP-date, RFC 9110
	// §5.6.7.
	ErrDateSyntax = errors.New("not an HTTP-date: " +
		`have the server send the form "Sun, 06 Nov 1994 08:49:37 GMT"`)

	// ErrDateName is a day or month name that is not written exactly as in the
	// grammar, which is case-sensitive.
	ErrDateName = errors.New("unknown day or month name: " +
		"have the server send the English names, as in Sun, Sunday and Nov, whatever its locale")

	// ErrNoSuchDay is a day that its month does not have.
	ErrNoSuchDay = errors.New("the month has no such day: " +
		"have the server take the date from a calendar")

	// ErrTimeOfDay is a time outside 00:00:00 to 23:59:59, save the leap second
	// 23:59:60.
	ErrTimeOfDay = errors.New("no such time of day: " +
		"have the server send 00:00:00 to 23:59:59, or 23:59:60 for a leap second")

	// ErrNonGMTZone is a date with another zone than GMT, or with none.
	ErrNonGMTZone = errors.New("the zone is not GMT: " +
		"have the server convert the time to UTC and end it with GMT")

	// ErrDayNameMismatch is the day name of another day than the date's.
	ErrDayNameMismatch = errors.New("the day name is of another day than the date, so either may be wrong: " +
		"have the server take both from one calendar")

	// ErrMissingDate is an HTTP-date in Retry-After with no Date field beside it
	// to count it from. [TrustClientClock] accepts it.
	ErrMissingDate = errors.New("there is no Date field to count this date from, " +
		"and by its own clock a client forty seconds fast would compute no wait: " +
		"have the origin send Date, which RFC 9110 section 6.6.1 requires with a 429, " +
		"or set Options.OnMissingDate to TrustClientClock")

	// ErrBeforeDate is an HTTP-date in Retry-After that is more than a second
	// before the response's own Date.
	ErrBeforeDate = errors.New("the date is before the response was made: " +
		"have the server take both from one clock, and each proxy leave Date as it is")
)

// What may come of [Plan] and [WaitFor] beside a [FieldError].
var (
	// ErrNoRetryAfter is a response without a Retry-After field: the server gave
	// no instruction, and the caller's own backoff applies. Where Options.MinWait
	// carries it, the plan of it comes with this error.
	ErrNoRetryAfter = errors.New("retryafter: the response has no Retry-After: wait by your own backoff")

	// ErrExceedsMaxWait is a plan that Options.MaxWait has no room for. The plan
	// comes with it, so that the work can be queued until then.
	ErrExceedsMaxWait = errors.New("retryafter: the wait does not fit MaxWait: stop, and queue the work or tell the caller")

	// ErrExceedsDeadline is a plan that ends after the context. It is also a
	// [context.DeadlineExceeded], told before the time is spent rather than after.
	ErrExceedsDeadline = fmt.Errorf("retryafter: the wait does not fit the context: "+
		"stop, and queue the work or tell the caller: %w", context.DeadlineExceeded)

	// ErrInvalidOptions is a bug in the calling code: the message says which
	// option, and why.
	ErrInvalidOptions = errors.New("retryafter: invalid options")

	// ErrZeroPlan is a bug in the calling code: [WaitFor] was given a plan that
	// [Plan] did not make, most often since its error was ignored.
	ErrZeroPlan = errors.New("retryafter: the plan is the zero RetryPlan: look at the error of Plan before the wait")
)

// A FieldError is a field value that cannot be used. Its message names the
// field, quotes the value, cut to 64 bytes, and says what is wrong and what to
// do about it.
type FieldError struct {
	Field string // "Retry-After" or "Date"
	Value string // as it was received; several field lines are joined with ", "
	Err   error  // one of the sentinels above, from ErrEmpty to ErrBeforeDate

	date string // the Date that the value was counted from, if it was
}

// Error builds the message; a FieldError that nobody prints costs none.
func (e *FieldError) Error() string {
	beside := ""
	if e.date != "" {
		beside = " beside Date " + quote(e.date)
	}
	return "retryafter: " + e.Field + " " + quote(e.Value) + beside + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// quote makes a value from the network safe and short enough for a log.
func quote(value string) string {
	const most = 64
	if len(value) <= most {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%q... (%d bytes)", value[:most], len(value))
}

// limitError is a wait that does not fit what the caller allows for it.
type limitError struct {
	err          error // ErrExceedsMaxWait or ErrExceedsDeadline
	needs, limit time.Duration
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%v (it needs %v and has %v)", e.err, e.needs, e.limit)
}

func (e *limitError) Unwrap() error { return e.err }
