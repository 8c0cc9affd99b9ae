package retryafter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// These are the errors that [FieldError].Err can hold. Test for one of them with
// [errors.Is].
var (
	// ErrEmpty means that the value is empty or blank. It is not taken as 0, which
	// would allow an immediate retry.
	ErrEmpty = errors.New("empty value: have the server send seconds or a date")

	// ErrMultipleValues means that there is more than one value, in one field line
	// or in several. Only a field that is defined as a list may have several values,
	// RFC 9110 §5.3. A comma that cannot be the one after a day name counts as between
	// two values. Equal values are rejected too: if a proxy adds its own value,
	// the two values may differ in the next response.
	ErrMultipleValues = errors.New("more than one value: have the server and its proxies send exactly one")

	// ErrDelaySyntax means that a delay is not 1*DIGIT, RFC 9110 §10.2.3: it has a
	// sign, a fraction or a unit, or is a date without a colon, such as 2026-08-04.
	ErrDelaySyntax = errors.New("not a whole number of seconds: have the server send digits only")

	// ErrTooFarAhead means that the wait is more than 50 years (438,300 hours), the
	// limit that RFC 9110 §5.6.7 sets for a two-digit year. It catches Unix times
	// sent as seconds, and every number that would overflow.
	ErrTooFarAhead = errors.New("more than 50 years ahead: " +
		"have the server send the seconds to wait (not a Unix time) or a nearer date")

	// ErrDateSyntax means that the value should be an HTTP-date and does not have the
	// shape of any of its three forms, RFC 9110 §5.6.7.
	ErrDateSyntax = errors.New("not an HTTP-date: " +
		`have the server send a date like "Sun, 06 Nov 1994 08:49:37 GMT"`)

	// ErrDateName means that a day or month name is not spelled as in the grammar
	// of RFC 9110 §5.6.7, which is English and case-sensitive.
	ErrDateName = errors.New("unknown day or month name: " +
		"have the server send English names, such as Sun, Sunday and Nov")

	// ErrNoSuchDay means that the month has no such day.
	ErrNoSuchDay = errors.New("no such day in that month: have the server correct its date")

	// ErrTimeOfDay means that the time of day is neither from 00:00:00 to 23:59:59
	// nor the leap second 23:59:60.
	ErrTimeOfDay = errors.New("no such time of day: " +
		"have the server send 00:00:00 to 23:59:59, or 23:59:60 for a leap second")

	// ErrNonGMTZone means that the time zone is missing or is not GMT.
	ErrNonGMTZone = errors.New("the time zone is missing or not GMT: " +
		"have the server convert the time to UTC and write GMT")

	// ErrDayNameMismatch means that the day name and the date disagree. Either may
	// be wrong.
	ErrDayNameMismatch = errors.New("the day name does not match the date: have the server correct its date")

	// ErrMissingDate means that Retry-After is a date and that there is no Date
	// field to subtract from it. RFC 9110 §6.6.1 requires Date with a 429, from a
	// server that has a clock, and leaves it optional with a 503. In a browser, Date is
	// hidden from a cross-origin request unless the server names it in
	// Access-Control-Expose-Headers. [TrustClientClock] accepts a missing Date.
	ErrMissingDate = errors.New("no Date field to count from: have the server send or expose Date, " +
		"or set OnMissingDate to TrustClientClock")

	// ErrBeforeDate means that the date in Retry-After is more than a second before
	// the Date of the same response.
	ErrBeforeDate = errors.New("earlier than the response: " +
		"have the server use one clock for both, and keep proxies from changing Date")
)

// These are the errors of [Plan] and [WaitFor] that are not in a [FieldError].
var (
	// ErrNoRetryAfter means that the response has no Retry-After field and that
	// Options.MinWait is zero, so that there is nothing to plan.
	ErrNoRetryAfter = errors.New("retryafter: no Retry-After field: set MinWait to your own backoff")

	// ErrExceedsMaxWait means that the wait does not fit in Options.MaxWait. It is
	// returned in a [LimitError].
	ErrExceedsMaxWait = errors.New("retryafter: the wait does not fit in MaxWait: " +
		"queue the work or tell the caller")

	// ErrExceedsDeadline means that the plan's deadline is the same as the deadline of
	// the context, or later. It is returned in a [LimitError], without waiting.
	//
	// It is also a [context.DeadlineExceeded], although the context is not done yet.
	// Some code treats context.DeadlineExceeded as the timeout of a single request, and
	// retries. Such code has to test for ErrExceedsDeadline or LimitError first.
	ErrExceedsDeadline error = exceedsDeadline{}

	// ErrInvalidOptions means that the calling code is wrong. The error that wraps
	// it names the option.
	ErrInvalidOptions = errors.New("retryafter: invalid options")

	// ErrZeroPlan means that the calling code is wrong: the plan given to [WaitFor]
	// was not made by [Plan], usually because the error of Plan was ignored.
	ErrZeroPlan = errors.New("retryafter: zero plan: check the error from Plan before waiting")
)

// exceedsDeadline wraps context.DeadlineExceeded without its text, because the
// deadline has not passed yet.
type exceedsDeadline struct{}

func (exceedsDeadline) Error() string {
	return "retryafter: the wait does not fit in the context's deadline: " +
		"queue the work or tell the caller"
}

func (exceedsDeadline) Unwrap() error { return context.DeadlineExceeded }

// A FieldError reports a header field whose value cannot be used. Its message
// names the field, quotes at most 64 bytes of the value, says what is wrong, and
// then what to do about it.
type FieldError struct {
	Field string // "Retry-After" or "Date"
	Value string // as received; several field lines are joined with ", "
	Err   error  // one of the errors from ErrEmpty to ErrBeforeDate

	origin string // for the message: what a date was counted from
}

// Error returns the message.
func (e *FieldError) Error() string {
	return fmt.Sprintf("retryafter: %s %s%s: %v", e.Field, quote(e.Value), e.origin, e.Err)
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

func fieldError(field, value string, err error) error {
	return &FieldError{Field: field, Value: value, Err: err}
}

// quote makes a value from the network safe and short enough for a log.
func quote(value string) string {
	const most = 64
	if len(value) <= most {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%q... (%d bytes)", value[:most], len(value))
}

// A LimitError reports a wait that exceeds a limit set by the caller:
// Options.MaxWait, or the deadline of a context.
//
// Do not retry now. Queue the work until Plan.Deadline, or tell your own caller
// when to come back. The example shows work that another process resumes.
type LimitError struct {
	Plan  RetryPlan     // the complete plan, as it would be without the limit
	Limit time.Duration // MaxWait, or the time left until the context's deadline; at least 0
	Err   error         // ErrExceedsMaxWait or ErrExceedsDeadline

	needed time.Duration // for the message: the time that the wait needs
}

// Error returns the message. It contains the limit and the time that was needed.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%v (needed %v, limit %v)", e.Err, e.needed, e.Limit)
}

// Unwrap returns Err.
func (e *LimitError) Unwrap() error { return e.Err }

// invalid returns an ErrInvalidOptions that says what is wrong.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidOptions, fmt.Sprintf(format, args...))
}
