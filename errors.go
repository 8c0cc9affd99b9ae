package retryafter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The faults of a field value, as found in [FieldError].Err. Test for one with
// [errors.Is].
var (
	// ErrEmpty is a value of nothing but blanks. An immediate retry would have
	// been written as 0.
	ErrEmpty = errors.New("the value is empty: have the server send one")

	// ErrMultipleValues is more than one value, in one field line or in several.
	// RFC 9110 §5.3 allows that only for fields defined as lists. Two equal values
	// are refused as well: something between the server and this client adds its
	// own.
	ErrMultipleValues = errors.New("several values, or a comma, in a field that holds one value: " +
		"have the server, and every proxy that adds its own, send a single one")

	// ErrDelaySyntax is a delay that is not delay-seconds = 1*DIGIT, RFC 9110
	// §10.2.3: one with a sign, a fraction or a unit, or an ISO 8601 date without
	// a time.
	ErrDelaySyntax = errors.New("not a whole number of seconds, which is digits only: " +
		"have the server send no sign, fraction or unit")

	// ErrTooFarAhead is a wait of more than 50 years (438,300 hours), the horizon
	// that RFC 9110 §5.6.7 sets for a two-digit year. A Unix time in place of
	// seconds ends up here, and so does every number that would overflow.
	ErrTooFarAhead = errors.New("more than 50 years ahead: " +
		"have the server send the seconds to wait, not a Unix time, or a nearer date")

	// ErrDateSyntax is a value that is neither delay-seconds nor of the shape of
	// one of the three forms of HTTP-date, RFC 9110 §5.6.7.
	ErrDateSyntax = errors.New("not in a form of HTTP-date: " +
		`have the server send a date like "Sun, 06 Nov 1994 08:49:37 GMT"`)

	// ErrDateName is a day or month name that is not spelled exactly as in the
	// grammar, which is case-sensitive.
	ErrDateName = errors.New("unknown day or month name: " +
		"have the server send English names, as in Sun, Sunday and Nov, whatever its locale")

	// ErrNoSuchDay is a day that its month does not have.
	ErrNoSuchDay = errors.New("no such day in that month: have the server fix its date")

	// ErrTimeOfDay is a time outside 00:00:00 to 23:59:59, except for the leap
	// second 23:59:60.
	ErrTimeOfDay = errors.New("no such time of day: " +
		"have the server send 00:00:00 to 23:59:59, or 23:59:60 for a leap second")

	// ErrNonGMTZone is a date with a zone other than GMT, or with none.
	ErrNonGMTZone = errors.New("the zone is missing or not GMT: " +
		"have the server convert the time to UTC and end it with GMT")

	// ErrDayNameMismatch is a day name that is not that of the date, so that
	// either may be wrong.
	ErrDayNameMismatch = errors.New("the day name does not match the date: have the server fix its date")

	// ErrMissingDate is an HTTP-date in Retry-After without a Date field to count
	// it from. [TrustClientClock] accepts it.
	ErrMissingDate = errors.New("no Date field to count this date from, " +
		"and by its own clock a client forty seconds fast would compute no wait: " +
		"have the origin send Date, which RFC 9110 section 6.6.1 requires with a 429, " +
		"or set Options.OnMissingDate to TrustClientClock")

	// ErrBeforeDate is an HTTP-date in Retry-After that is more than a second
	// before the Date of the same response.
	ErrBeforeDate = errors.New("the date is before the response was made: " +
		"have the server take both from one clock, and proxies leave Date as it is")
)

// The errors of [Plan] and [WaitFor] other than a [FieldError].
var (
	// ErrNoRetryAfter is a response without a Retry-After field: the server gave
	// no instruction, and the caller's own backoff applies. If Options.MinWait is
	// set, the plan returned with this error is of that.
	ErrNoRetryAfter = errors.New("retryafter: the response has no Retry-After: use your own backoff")

	// ErrExceedsMaxWait is a wait that does not fit Options.MaxWait. The whole
	// plan is returned with it, so that the work can be queued until then.
	ErrExceedsMaxWait = errors.New("retryafter: the wait does not fit MaxWait: " +
		"do not retry now, but queue the work or tell the caller")

	// ErrExceedsDeadline is a wait that would outlast the context. It is also
	// [context.DeadlineExceeded], reported before the time is spent.
	ErrExceedsDeadline error = exceedsDeadline{}

	// ErrInvalidOptions is a bug in the calling code. The message names the
	// option.
	ErrInvalidOptions = errors.New("retryafter: invalid options")

	// ErrZeroPlan is a bug in the calling code: the plan given to [WaitFor] was
	// not made by [Plan], usually because the error of Plan was ignored.
	ErrZeroPlan = errors.New("retryafter: the plan is zero: check the error of Plan before you wait")
)

// exceedsDeadline does not repeat the text of the error that it also is: the
// deadline of the context has not been exceeded yet.
type exceedsDeadline struct{}

func (exceedsDeadline) Error() string {
	return "retryafter: the wait would outlast the context: " +
		"do not retry now, but queue the work or tell the caller"
}

func (exceedsDeadline) Unwrap() error { return context.DeadlineExceeded }

// A FieldError is a field value that cannot be used. Its message names the
// field, quotes the value, cut to 64 bytes, and says what is wrong and what to
// do about it.
type FieldError struct {
	Field string // "Retry-After" or "Date"
	Value string // as it was received; several field lines are joined with ", "
	Err   error  // one of the sentinels from ErrEmpty to ErrBeforeDate

	from string // for the message: the Date that a date was counted from, or clientClock
}

// clientClock is in FieldError.from where a date was counted from the client's clock,
// under TrustClientClock. It cannot be taken for a Date, which was parsed.
const clientClock = "the client's clock"

// Error returns the message, which is built at each call and not before.
func (e *FieldError) Error() string {
	from := ""
	switch e.from {
	case "":
	case clientClock:
		from = ", counted from this client's clock"
	default:
		from = " beside Date " + quote(e.from)
	}
	return fmt.Sprintf("retryafter: %s %s%s: %v", e.Field, quote(e.Value), from, e.Err)
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

// invalid is ErrInvalidOptions with the option and what is wrong with it.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidOptions, fmt.Sprintf(format, args...))
}

// limitError is a wait that does not fit a limit of the caller's.
type limitError struct {
	err          error // ErrExceedsMaxWait or ErrExceedsDeadline
	least, limit time.Duration
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%v (at least %v, and the limit is %v)", e.err, e.least, e.limit)
}

func (e *limitError) Unwrap() error { return e.err }
