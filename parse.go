package retryafter

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// horizon is the longest wait that is believed: 50 years of 365.25 days, where
// RFC 9110 §5.6.7 draws the line for a two-digit year. All sums of this package
// are of a few terms below it, so none of them comes near the 292 years at which
// a time.Duration wraps.
const horizon = 438_300 * time.Hour

// ParseRetryAfter reads one Retry-After field value, RFC 9110 §10.2.3:
//
//	Retry-After = HTTP-date / delay-seconds
//
// Blanks (SP and HTAB) around the value are not part of it, RFC 9110 §5.5. Digits
// are looked at first, so "2000" is 33 minutes and not a year. All three forms of
// HTTP-date are read, case-sensitively, and checked against the calendar. No clock
// is read: what a date means for a wait is for [Plan] to say.
//
// The error is a *[FieldError] of field Retry-After that holds the value as it
// was given. Its Err is one of ErrEmpty, ErrMultipleValues, ErrDelaySyntax,
// ErrTooFarAhead (a delay of more than 50 years), ErrDateSyntax, ErrDateName,
// ErrNoSuchDay, ErrTimeOfDay, ErrNonGMTZone or ErrDayNameMismatch. If a value has
// several faults, any of them may be reported. Nothing is guessed or clamped, and
// the Instruction beside an error is zero.
//
// It is safe for concurrent use, and allocates nothing but its error.
func ParseRetryAfter(value string) (Instruction, error) {
	s := trimBlanks(value)
	var err error
	if beginsDelay(s) { // 120
		var delay time.Duration
		if delay, err = parseDelaySeconds(s); err == nil {
			return Instruction{Source: DelaySeconds, Delay: delay}, nil
		}
	} else { // Sun, 06 Nov 1994 08:49:37 GMT
		var date time.Time
		if date, err = parseHTTPDate(s); err == nil {
			return Instruction{Source: HTTPDate, Date: date}, nil
		}
	}
	return Instruction{}, fieldError("Retry-After", value, fault(s, err))
}

// beginsDelay tells by the first byte which of the two forms a value is meant
// to be. No delay-seconds has a sign or a dot, but who sends one means a delay.
func beginsDelay(s string) bool {
	return s != "" && ('0' <= s[0] && s[0] <= '9' || s[0] == '+' || s[0] == '-' || s[0] == '.')
}

// parseDelaySeconds reads delay-seconds = 1*DIGIT. The Age field, RFC 9111 §5.1,
// has the same grammar and the same bound; an empty one is as good as 0.
func parseDelaySeconds(s string) (time.Duration, error) {
	const most = int64(horizon / time.Second)
	n := int64(0)
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 { // below '0' it wraps to more than 9 as well
			return 0, ErrDelaySyntax
		}
		if n <= most { // past it n only has to stay there, and not to wrap
			n = 10*n + int64(d)
		}
	}
	if n > most {
		return 0, ErrTooFarAhead
	}
	return time.Duration(n) * time.Second, nil
}

// fault names what is wrong with a refused value better than the grammar that
// refused it could: it may be no value at all, or a list, or a date after all.
func fault(s string, err error) error {
	switch {
	case s == "":
		return ErrEmpty
	case isList(s):
		return ErrMultipleValues
	case err == ErrDelaySyntax && strings.Contains(s, ":"): // 2026-08-04T12:00:30Z
		return ErrDateSyntax
	}
	return err
}

// isList reports whether a value has a comma, RFC 9110 §5.6.1, other than the
// one straight after a day name.
func isList(s string) bool {
	comma := strings.IndexByte(s, ',')
	if comma > 0 && comma == leadingLetters(s) {
		return strings.Contains(s[comma+1:], ",")
	}
	return comma >= 0
}

// trimBlanks removes the optional white space around a field value, RFC 9110
// §5.5: SP and HTAB, and no other byte.
func trimBlanks(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// An Instruction is what one Retry-After field value says, in either of the two
// forms of RFC 9110 §10.2.3. It is comparable. The zero Instruction is none.
type Instruction struct {
	Source Source        // the form: DelaySeconds or HTTPDate
	Delay  time.Duration // delay-seconds: a whole number of seconds, 0 to 50 years
	Date   time.Time     // HTTP-date: UTC, whole seconds, by the server's clock
}

// String returns the canonical field value: the delay in seconds, or the date as
// IMF-fixdate. [ParseRetryAfter] reads it back to the same Instruction. In an
// Instruction made by hand, part of a second is rounded up, because no client may
// be told to come early; the Date may have any location, and a Delay below zero
// is 0. The zero Instruction gives the empty string.
func (in Instruction) String() string {
	switch in.Source {
	case DelaySeconds:
		seconds := in.Delay / time.Second
		if in.Delay%time.Second > 0 {
			seconds++
		}
		return strconv.FormatInt(int64(max(seconds, 0)), 10)
	case HTTPDate:
		date := in.Date.UTC()
		if date.Nanosecond() > 0 {
			date = date.Truncate(time.Second).Add(time.Second)
		}
		return date.Format(http.TimeFormat)
	}
	return ""
}

// A Source is the form in which a server gave its instruction, RFC 9110 §10.2.3.
// The zero Source is no instruction.
type Source uint8

const (
	// DelaySeconds is a number of seconds, as in "120".
	DelaySeconds Source = iota + 1

	// HTTPDate is an instant by the server's clock, as in "Fri, 31 Dec 1999
	// 23:59:59 GMT".
	HTTPDate
)

// String returns "delay-seconds" or "http-date", and "none" for the zero Source.
func (s Source) String() string {
	switch s {
	case 0:
		return "none"
	case DelaySeconds:
		return "delay-seconds"
	case HTTPDate:
		return "http-date"
	}
	return "Source(" + strconv.Itoa(int(s)) + ")"
}
