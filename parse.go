package retryafter

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// horizon is the longest wait accepted: 50 years of 365.25 days, the limit RFC 9110
// §5.6.7 sets for a two-digit year. Every sum in this package has at most a few
// such terms, so none overflows a time.Duration (292 years).
const horizon = 438_300 * time.Hour

// ParseRetryAfter parses one Retry-After field value, RFC 9110 §10.2.3:
//
//	Retry-After = HTTP-date / delay-seconds
//
// Leading and trailing spaces and tabs are ignored, RFC 9110 §5.5. Digits are
// always a delay: "2000" is 33 minutes, not a year. All three forms of HTTP-date
// are accepted, case-sensitively, and checked against the calendar. A two-digit year
// is 19yy or 20yy, whichever the day name fits (RFC 9110 §5.6.7 decides by the
// recipient's clock). The function reads no clock; [Plan] turns a date into a wait.
//
// The error is a *[FieldError] whose Field is "Retry-After" and whose Value is the
// argument. Its Err is one of ErrEmpty, ErrMultipleValues, ErrDelaySyntax,
// ErrTooFarAhead (a delay of more than 50 years), ErrDateSyntax, ErrDateName,
// ErrNoSuchDay, ErrTimeOfDay, ErrNonGMTZone and ErrDayNameMismatch. If several of
// them apply, any one may be reported. With an error, the Instruction is zero.
//
// ParseRetryAfter is safe for concurrent use. It allocates only its error.
func ParseRetryAfter(value string) (Instruction, error) {
	s := trimOWS(value)
	if isDelay(s) { // 120
		delay, err := parseDelaySeconds(s)
		if err != nil {
			return Instruction{}, fieldError("Retry-After", value, diagnose(s, err))
		}
		return Instruction{Source: DelaySeconds, Delay: delay}, nil
	}
	date, err := parseHTTPDate(s) // Sun, 06 Nov 1994 08:49:37 GMT
	if err != nil {
		return Instruction{}, fieldError("Retry-After", value, diagnose(s, err))
	}
	return Instruction{Source: HTTPDate, Date: date}, nil
}

// trimOWS removes optional white space, RFC 9110 §5.6.3, from both ends of a field
// value: SP and HTAB, and no other byte.
func trimOWS(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// isDelay reports whether s is meant as a delay, by its first byte. A sign or a dot
// is not in the grammar, but a server that sends one means a delay.
func isDelay(s string) bool {
	return s != "" && ('0' <= s[0] && s[0] <= '9' || s[0] == '+' || s[0] == '-' || s[0] == '.')
}

// parseDelaySeconds parses delay-seconds = 1*DIGIT. The Age field, RFC 9111 §5.1,
// has the same grammar.
func parseDelaySeconds(s string) (time.Duration, error) {
	const most = int64(horizon / time.Second)
	if s == "" {
		return 0, ErrEmpty
	}
	n := int64(0)
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 { // a byte below '0' wraps to more than 9 as well
			return 0, ErrDelaySyntax
		}
		n = min(10*n+int64(d), most+1) // saturates, so that no number of digits overflows
	}
	if n > most {
		return 0, ErrTooFarAhead
	}
	return time.Duration(n) * time.Second, nil
}

// diagnose returns a more exact error for a rejected value that is empty, a list or a
// date.
func diagnose(s string, err error) error {
	switch {
	case s == "":
		return ErrEmpty
	case isList(s):
		return ErrMultipleValues
	case err == ErrDelaySyntax && strings.Contains(s, ":"): // 2026-08-04T12:00:30Z
		return ErrDateSyntax
	case err == ErrDateSyntax && hasUnknownName(s): // mié, 04 ago 2026 12:00:30 GMT
		return ErrDateName
	}
	return err
}

// isList reports whether s is a list, RFC 9110 §5.6.1. A single comma is
// taken as the one after a day name, in whatever language, unless it is the first or
// last byte, or a digit stands somewhere before it.
func isList(s string) bool {
	before, after, found := strings.Cut(s, ",")
	return found && (before == "" || after == "" || hasDigit(before) || strings.Contains(after, ","))
}

func hasDigit(s string) bool {
	for i := range len(s) {
		if digit(s[i]) >= 0 {
			return true
		}
	}
	return false
}

// An Instruction is a parsed Retry-After value, in either of the two forms of RFC
// 9110 §10.2.3. It is comparable. The zero Instruction is not a valid instruction.
type Instruction struct {
	Source Source        // the form: DelaySeconds or HTTPDate
	Delay  time.Duration // delay-seconds: a whole number of seconds, 0 to 50 years
	Date   time.Time     // HTTP-date: UTC, whole seconds, by the server's clock
}

// String returns the canonical field value: the delay in seconds, or the date as
// IMF-fixdate. [ParseRetryAfter] parses it back to the same Instruction. The zero
// Instruction gives the empty string.
//
// For an Instruction not made by ParseRetryAfter, String rounds up to whole seconds,
// so that no client is told to return early. It converts Date to UTC and prints a
// negative Delay as 0. A Date outside the years 0 to 9999 has no field value, and
// gives the empty string too.
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
			date = date.Add(time.Second) // Format drops the fraction
		}
		if year := date.Year(); year < 0 || year > 9999 {
			return ""
		}
		return date.Format(http.TimeFormat)
	}
	return ""
}

// A Source is the form of a Retry-After value, RFC 9110 §10.2.3. The zero Source
// means that there is no instruction.
type Source uint8

const (
	// DelaySeconds is a number of seconds, such as "120".
	DelaySeconds Source = iota + 1

	// HTTPDate is an instant on the server's clock, such as "Fri, 31 Dec 1999
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

// MarshalText implements [encoding.TextMarshaler]. It returns the same text as
// String, and never an error. There is no UnmarshalText.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A response holds the header fields that Plan needs.
type response struct {
	retryAfter []string // the field lines, not parsed

	dateLines []string  // the field lines of Date, for error messages
	date      time.Time // RFC 9110 §6.6.1
	dateErr   error     // why date is unusable; ErrMissingDate if there is none

	age time.Duration // RFC 9111 §5.1; 0 if there is no usable one
}

// readResponse reads the three fields from a header. net/http canonicalizes every
// name; a map that was built by hand may have other spellings. They are read only if
// Retry-After or Date is missing, because a missing Age only makes the wait longer.
func readResponse(header http.Header) response {
	retryAfter, date, age := header["Retry-After"], header["Date"], parseAge(header["Age"])
	if len(retryAfter) == 0 || len(date) == 0 {
		retryAfter, date = linesOf(header, "Retry-After"), linesOf(header, "Date")
		age = leastAge(header)
	}
	r := response{retryAfter: retryAfter, dateLines: date, age: max(0, age)}
	r.date, r.dateErr = parseDate(date)
	return r
}

// linesOf returns the field lines under name, ignoring case. Lines from several
// spellings are sorted, because the order of a map is random, and the text of an
// error must not be.
func linesOf(header http.Header, name string) []string {
	var lines []string
	spellings := 0
	for key, more := range header {
		switch {
		case len(more) == 0 || !strings.EqualFold(key, name):
			continue
		case spellings == 0:
			lines = slices.Clip(more) // so that append never writes to the caller's slice
		default:
			lines = append(lines, more...)
		}
		spellings++
	}
	if spellings > 1 {
		slices.Sort(lines)
	}
	return lines
}

// leastAge returns the lowest valid Age among all spellings of the name, or noAge if
// there is none. The lowest makes the wait the longest.
func leastAge(header http.Header) time.Duration {
	least := noAge
	for key, lines := range header {
		if !strings.EqualFold(key, "Age") {
			continue
		}
		if age := parseAge(lines); least == noAge || (age != noAge && age < least) {
			least = age
		}
	}
	return least
}

// noAge stands for an Age that is missing, invalid or more than 50 years.
const noAge time.Duration = -1

// parseAge returns the age in the first member of the first line, RFC 9111 §5.1, or
// noAge if that is invalid or more than 50 years. The latter is valid,
// since a cache sends 2^31 seconds on overflow (§1.2.2), but is ignored all the same:
// that makes the wait longer, which is safe.
func parseAge(lines []string) time.Duration {
	if len(lines) == 0 {
		return noAge
	}
	first, _, _ := strings.Cut(lines[0], ",")
	age, err := parseDelaySeconds(trimOWS(first))
	if err != nil {
		return noAge
	}
	return age
}

// parseDate parses Date as strictly as Retry-After. Its errors are not yet in
// a FieldError, because Plan ignores them if Retry-After is delay-seconds.
func parseDate(lines []string) (time.Time, error) {
	switch len(lines) {
	case 0:
		return time.Time{}, ErrMissingDate
	case 1:
		s := trimOWS(lines[0])
		date, err := parseHTTPDate(s)
		if err != nil {
			return time.Time{}, diagnose(s, err)
		}
		return date, nil
	}
	return time.Time{}, ErrMultipleValues
}
